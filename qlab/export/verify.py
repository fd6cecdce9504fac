"""A script run in fresh processes before it is offered."""

import dataclasses
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from qlab.engines.pool import launched
from qlab.runtimes import installer
from qlab.runtimes.installer import InstallError
from qlab.runtimes.store import installed_version, may_install
from qlab.runtimes.versions import pythons, requirements

TAIL = 4000  # characters of output that are kept

# The last of these lines that a script prints is its answer; an uncaught exception also ends with status 1.
ANSWERS = {
    "DIFFERENCE REPRODUCED": "difference reproduced",
    "REFUSAL REPRODUCED": "refusal reproduced",
    "CRASH REPRODUCED": "crash reproduced",
    "no difference": "no difference",
    "it runs, no right result is known": "it runs, no right result is known",
}


@dataclasses.dataclass(frozen=True)
class Ending:
    """How one run ended: exit status (negative: a signal; None: no end in time), its answer, what it printed."""

    status: int | None
    output: str

    @property
    def answer(self) -> str:
        """One of the values of ANSWERS; "" where the script came to none."""
        lines = (line.strip() for line in reversed(self.output.splitlines()))
        said = next((line for line in lines if line in ANSWERS), "")
        agree = self.status == (1 if said.endswith("REPRODUCED") else 0)
        return ANSWERS[said] if said and agree else ""


@dataclasses.dataclass(frozen=True)
class Verification:
    """What came out of running a script.

    Attributes:
        endings: one for each run.
        where: "" for this machine, or `` on an emulated avx2 CPU``, `` on onnxruntime 1.25.1``.
        not_run: why there are no endings; "" where there are.
        by_uv: it was run by `run_command`, on a release that is not the installed one.
    """

    endings: tuple[Ending, ...]
    where: str = ""
    not_run: str = ""
    by_uv: bool = False

    @property
    def reproduced(self) -> bool:
        """True where every run says that the difference, refusal or crash is there."""
        return self.ok and self.endings[0].status == 1

    @property
    def ok(self) -> bool:
        """True where every run came to the same answer, whichever."""
        answers = {ending.answer for ending in self.endings}
        return len(answers) == 1 and "" not in answers

    @property
    def output(self) -> str:
        """What the last run printed, errors included."""
        return self.endings[-1].output if self.endings else ""

    @property
    def sentence(self) -> str:
        """``ran 3 of 3 times, difference reproduced``."""
        if self.not_run:
            return f"was not run: {self.not_run}"
        answers = [ending.answer for ending in self.endings if ending.answer]
        counted = f"ran {len(answers)} of {len(self.endings)} times{self.where}"
        if len(answers) < len(self.endings):
            return f"{counted}, {self._failure()}"
        if not self.ok:
            seen = (f"{answers.count(a)} times {a}" for a in dict.fromkeys(answers))
            return f"{counted}, not the same each time: {', '.join(seen)}"
        here = " on this machine" if answers[0] == "no difference" and not self.where else ""
        return f"{counted}, {answers[0]}{here}"

    def _failure(self) -> str:
        failed = [ending for ending in self.endings if not ending.answer]
        status = failed[0].status
        if status is None:
            return "a run did not end in time"
        if status < 0:
            return f"{len(failed)} ended by signal {-status}"
        words = next(iter(reversed(failed[0].output.strip().splitlines())), "")
        return f"a run failed with exit status {status}" + (f": {words}" if words else "")


def run_command(version: str, python: str = "") -> tuple[str, ...]:
    """uv's command that runs a script on a release: in an environment of its own, which uv makes and keeps.

    Args:
        python: the interpreter's path; else the Python that the release is best known with, by its name.
    """
    wanted = [item for name in requirements(version) for item in ("--with", name)]
    interpreter = python or pythons(version)[0]
    return (
        "uv",
        "run",
        "--no-project",
        "--python",
        interpreter,
        *wanted,
        "--with",
        "onnx",
        "python",
    )


def verify_script(
    script: str,
    *,
    times: int = 3,
    cpu: str = "this",
    version: str = "",
    timeout: float = 60.0,
) -> Verification:
    """Run a script ``times`` times at once, each in a process and an empty folder of its own.

    Args:
        cpu: ``this`` machine's, or ``avx2`` or ``sse`` under qemu-user.
        version: the release to run it on, by `run_command`; "" is the installed one.
        timeout: seconds for all of them together.
    """
    other = version not in ("", installed_version())
    if cpu == "arm64" or (other and cpu != "this"):
        release = version or installed_version()
        reason = (
            f"onnxruntime {release} on an emulated {cpu} CPU has no onnx package beside it here"
        )
        return Verification((), not_run=reason)
    try:
        command = _command(version) if other else _interpreter(cpu)
    except InstallError as error:
        return Verification((), not_run=str(error))
    with tempfile.TemporaryDirectory(prefix="qlab-script-") as folder:
        path = Path(folder) / "reproduce.py"
        path.write_text(script, encoding="utf-8")
        processes = [_start(command, path, Path(folder) / str(i)) for i in range(times)]
        deadline = time.monotonic() + timeout
        endings = tuple(_end(process, deadline, path) for process in processes)
    where = (
        f" on onnxruntime {version}"
        if other
        else ""
        if cpu == "this"
        else f" on an emulated {cpu} CPU"
    )
    return Verification(endings, where, by_uv=other)


def _interpreter(cpu: str) -> list[str]:
    runtime = launched(cpu)
    return [*runtime.launcher, runtime.python]


def _command(version: str) -> list[str]:
    """`run_command` with its environment made, so that the runs themselves need no time for it."""
    if not may_install():
        raise InstallError("installing is turned off here (QLAB_INSTALL=off)")
    given = run_command(version, installer.interpreters(pythons(version)[0])[0])
    command = [installer.command(), *given[1:]]
    installer.run([*command, "-c", "import onnx, onnxruntime"], f"onnxruntime {version} with onnx")
    return command


def _start(command: Sequence[str], path: Path, folder: Path) -> "subprocess.Popen[bytes]":
    folder.mkdir()
    # -I: the script must need nothing of this project, of the user's site or of the environment.
    return subprocess.Popen(
        [*command, "-I", "-X", "utf8", str(path)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[bytes]", deadline: float, path: Path) -> Ending:
    """Wait for a run until the deadline; one that has not ended by then is ended, with what it started."""
    status: int | None
    try:
        output, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = None
    text = output.decode("utf-8", "replace").replace(str(path), path.name)
    return Ending(status, text[-TAIL:])
