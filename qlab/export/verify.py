"""A script run in fresh processes before it is offered."""

import dataclasses
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from qlab.engines.pool import launcher_of

TAIL = 4000  # characters of output that are kept


@dataclasses.dataclass(frozen=True)
class Verification:
    """What came out of running a script.

    Attributes:
        times: how often it was run. where: ``""``, or `` on an emulated avx2 CPU``. statuses: exit status of each run; negative is a signal, None a time-out.
        output: what the last run printed, errors included.
    """

    times: int
    statuses: tuple[int | None, ...]
    output: str
    where: str = ""

    @property
    def reproduced(self) -> bool:
        """True where every run says that the difference is there."""
        return all(status == 1 for status in self.statuses)

    @property
    def ok(self) -> bool:
        """True where every run came to the same answer, whichever."""
        return len(set(self.statuses)) == 1 and self.statuses[0] in (0, 1)

    @property
    def sentence(self) -> str:
        """``ran 3 of 3 times, difference reproduced``."""
        ran = sum(status in (0, 1) for status in self.statuses)
        counted = f"ran {ran} of {self.times} times{self.where}"
        if self.reproduced:
            return f"{counted}, difference reproduced"
        if all(status == 0 for status in self.statuses):
            return f"{counted}, no difference" + ("" if self.where else " on this machine")
        if ran == self.times:
            seen = sum(status == 1 for status in self.statuses)
            return f"{counted}, difference seen in {seen} of them"
        return f"{counted}, {self._failure()}"

    def _failure(self) -> str:
        status = next(s for s in self.statuses if s not in (0, 1))
        if status is None:
            return "a run did not end in time"
        if status < 0:
            ended = sum(s == status for s in self.statuses)
            return f"{ended} ended by signal {-status}"
        return f"a run ended with status {status}: {self.output.strip().splitlines()[-1] if self.output.strip() else ''}"


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
        statuses: list[int | None] = []
        output = b""
        for process in processes:
            try:
                output, _ = process.communicate(timeout=timeout)
                statuses.append(_status(process.returncode, output))
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
                statuses.append(None)
    text = output.decode("utf-8", "replace").replace(str(path), "reproduce.py")
    where = "" if cpu == "this" else f" on an emulated {cpu} CPU"
    return Verification(times, tuple(statuses), text[-TAIL:], where)


def _start(path: Path, folder: Path, cpu: str) -> "subprocess.Popen[bytes]":
    folder.mkdir()
    # -I: the script must need nothing of this project, of the user's site or of the environment.
    return subprocess.Popen(
        [*launcher_of(cpu), sys.executable, "-I", "-X", "utf8", str(path)],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _status(returned: int, output: bytes) -> int:
    """An uncaught exception also ends with status 1: only the script's own last line makes it a difference."""
    if returned == 1 and b"DIFFERENCE REPRODUCED" not in output:
        return 70
    return returned
