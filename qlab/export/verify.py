"""A script run in fresh processes before it is offered."""

import dataclasses
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from qlab.engines.pool import launched

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
        where: "" for this machine, or `` on an emulated avx2 CPU``.
    """

    endings: tuple[Ending, ...]
    where: str = ""

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
        return self.endings[-1].output

    @property
    def sentence(self) -> str:
        """``ran 3 of 3 times, difference reproduced``."""
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


def verify_script(
    script: str, *, times: int = 3, cpu: str = "this", timeout: float = 60.0
) -> Verification:
    """Run a script ``times`` times at once, each in a process and an empty folder of its own.

    Args:
        cpu: ``this`` machine's, or ``avx2`` or ``sse`` under qemu-user.
        timeout: seconds for all of them together.
    """
    with tempfile.TemporaryDirectory(prefix="qlab-script-") as folder:
        path = Path(folder) / "reproduce.py"
        path.write_text(script, encoding="utf-8")
        processes = [_start(path, Path(folder) / str(i), cpu) for i in range(times)]
        deadline = time.monotonic() + timeout
        endings = tuple(_end(process, deadline, path) for process in processes)
    return Verification(endings, "" if cpu == "this" else f" on an emulated {cpu} CPU")


def _start(path: Path, folder: Path, cpu: str) -> "subprocess.Popen[bytes]":
    folder.mkdir()
    runtime = launched(cpu)
    # -I: the script must need nothing of this project, of the user's site or of the environment.
    return subprocess.Popen(
        [*runtime.launcher, runtime.python, "-I", "-X", "utf8", str(path)],
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
