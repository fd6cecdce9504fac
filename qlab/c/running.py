"""A C file compiled and run before it is offered."""

import contextlib
import dataclasses
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from qlab.c.program import COMPILE, c_program
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


def compiler() -> list[str]:
    """The command of a C compiler; [] where there is none. The environment's CC goes first, with its options."""
    for name in (os.environ.get("CC", ""), *COMPILERS):
        words = shlex.split(name) if name.count('"') % 2 == 0 and name.count("'") % 2 == 0 else []
        if words and (found := shutil.which(words[0])) and Path(found).is_file():
            return [found, *words[1:]]
    return []


def check(source: str, flags: Sequence[str] = (), timeout: float = 60.0) -> Checked:
    """Compile a file as its first comment says, with ``flags`` more, and run it."""
    command = compiler()
    if not command:
        names = ", ".join(COMPILERS)
        return Checked(None, "", f"no C compiler ({names}) is on this machine")
    try:
        with tempfile.TemporaryDirectory(prefix="qlab-c-") as folder:
            return _check(source, command, flags, Path(folder), timeout)
    except OSError as error:
        return Checked(None, "", f"no file can be written for it: {error.strerror}")


def _check(
    source: str, command: Sequence[str], flags: Sequence[str], folder: Path, timeout: float
) -> Checked:
    path, program = folder / "case.c", folder / "case"
    path.write_text(source, encoding="ascii")
    made = [*command, *COMPILE.split()[1:], *flags, str(path), "-o", str(program), "-lm"]
    for words, called in (made, command[0]), ([str(program)], "the program"):
        try:
            status, printed = _run(words, timeout)
        except subprocess.TimeoutExpired:
            return Checked(None, "", f"{called} did not end within {timeout:g} seconds")
        except OSError as error:
            return Checked(None, "", f"{called} cannot be started: {error.strerror}")
        if words is made and status:
            refused = printed.replace(str(path), path.name)[:TAIL]
            return Checked(None, refused or f"exit status {status}", f"{called} refused it")
    return Checked(status, printed[-TAIL:])


def _run(command: Sequence[str], timeout: float) -> tuple[int, str]:
    """Exit status and output. Raises TimeoutExpired after it has ended the process and all that it started."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=timeout)
        except BaseException:
            with contextlib.suppress(ProcessLookupError, PermissionError, AttributeError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            raise
    return process.returncode, printed


@dataclasses.dataclass(frozen=True)
class Written:
    """A case in C, compiled and run; or why there is none.

    Attributes:
        name: of the file, ``qlinearadd.c``. source: "" where it is not written in C; ``why_not`` says why then.
        function_only: the source without ``main``.
    """

    name: str
    source: str = ""
    function_only: str = ""
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
        program = c_program(case, scheme, note)
    except (ExportError, TraceError) as error:
        return Written(name, why_not=str(error))
    return Written(name, program.source, program.function_only, check(program.source))
