"""A C file compiled and run before it is offered."""

import dataclasses
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from qlab.c.program import COMPILE, c_source
from qlab.case import Case
from qlab.errors import ExportError, TraceError
from qlab.schemes import Scheme

COMPILERS = ("cc", "gcc", "clang")
TAIL = 2000  # characters of output that are kept


@dataclasses.dataclass(frozen=True)
class Checked:
    """What came out of compiling and running a file.

    Attributes:
        status: exit status of the program; None where it did not run.
        output: what compiler or program printed. not_run: why it did not run; "" where it did.
    """

    status: int | None
    output: str
    not_run: str = ""

    @property
    def sentence(self) -> str:
        """``compiled and run: 0 of 4,121 codes differ from qlab's trace``."""
        if self.not_run:
            return f"not compiled and run: {self.not_run}"
        lines = self.output.strip().splitlines() or [f"exit status {self.status}"]
        return f"compiled and run: {lines[-1]} from qlab's trace"


def compiler() -> str:
    """The path of a C compiler; "" where there is none. The environment's CC goes first."""
    wanted = (os.environ.get("CC", ""), *COMPILERS)
    return next((found for name in wanted if name and (found := shutil.which(name))), "")


def check(source: str, flags: Sequence[str] = (), timeout: float = 60.0) -> Checked:
    """Compile a file as its first comment says, with ``flags`` more, and run it."""
    command = compiler()
    if not command:
        names = ", ".join(COMPILERS)
        return Checked(None, "", f"no C compiler ({names}) is on this machine")
    with tempfile.TemporaryDirectory(prefix="qlab-c-") as folder:
        path, program = Path(folder) / "case.c", Path(folder) / "case"
        path.write_text(source, encoding="ascii")
        made = [command, *COMPILE.split()[1:], *flags, str(path), "-o", str(program), "-lm"]
        try:
            compiled = _run(made, timeout)
            if compiled.returncode:
                words = compiled.stdout.replace(str(path), path.name)
                return Checked(None, words[:TAIL], "the compiler refused it")
            ran = _run([str(program)], timeout)
        except subprocess.TimeoutExpired:
            return Checked(None, "", f"it did not end within {timeout:g} seconds")
        except OSError as error:
            return Checked(None, "", f"it cannot be started: {error.strerror}")
    return Checked(ran.returncode, ran.stdout[-TAIL:])


def _run(command: Sequence[str], timeout: float) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )


@dataclasses.dataclass(frozen=True)
class Written:
    """A case in C, compiled and run; or why there is none.

    Attributes:
        name: of the file, ``qlinearadd.c``. source: "" where it is not written in C; ``why_not`` says why then.
    """

    name: str
    source: str = ""
    checked: Checked | None = None
    why_not: str = ""

    @property
    def sentence(self) -> str:
        """``compiled and run: 0 of 4,121 codes differ from qlab's trace``, or why there is no file."""
        return self.checked.sentence if self.checked else f"not written: {self.why_not}"


def written(case: Case, scheme: Scheme, note: str = "") -> Written:
    """The C file of a case as a scheme computes it, compiled and run where there is a compiler."""
    nodes = case.graph.nodes
    name = f"{nodes[0].op_type.lower() if len(nodes) == 1 else 'graph'}.c"
    try:
        source = c_source(case, scheme, note)
    except (ExportError, TraceError) as error:
        return Written(name, why_not=str(error))
    return Written(name, source, check(source))
