"""The parent's end of the worker processes: one for each release and CPU, persistent, one request at a time."""

import atexit
import dataclasses
import functools
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from qlab.engines.results import RunStatus, SessionConfig
from qlab.engines.worker import describe, read_message, restore, write_message
from qlab.errors import QlabError
from qlab.qtypes import Array
from qlab.runtimes import store
from qlab.runtimes.store import MissingRuntimeError, Runtime

QEMU_MODELS = {"avx2": "Haswell", "sse": "Nehalem"}
CPUS = ("this", *QEMU_MODELS, "arm64")
MOST_ALIVE = (
    18  # processes, of 50 to 100 MB each; the one that has waited longest is ended for a new one
)
START_TIMEOUT = 60.0  # seconds; importing onnxruntime takes 0.1 s, under qemu 2 s; more when busy
ENDED = "at its start"


@dataclasses.dataclass(frozen=True)
class Answer:
    """What came of one request.

    Attributes:
        version: of onnxruntime; "" where it could not be imported.
        passes: the optimizer passes that changed the graph, by ONNX Runtime's log.
        model: the graph that ONNX Runtime wrote out, serialized; empty where it wrote none.
        cast: output → its type (``tensor(int4)``), where numpy has none: nothing was run then.
        each: the outputs of each feed, where several were asked for; ``outputs`` are the last's then.
    """

    version: str
    status: RunStatus
    message: str = ""
    outputs: Mapping[str, Array] = dataclasses.field(default_factory=dict)
    model: bytes = b""
    repeatable: bool = True
    passes: tuple[str, ...] = ()
    cast: Mapping[str, str] = dataclasses.field(default_factory=dict)
    each: tuple[Mapping[str, Array], ...] = ()


class _UnreadError(Exception):
    """The worker ended before it had read the request."""


class Worker:
    """A worker process that is started when it is needed and again after it has ended.

    Args:
        launcher: what stands before the interpreter: ``qemu-x86_64 -cpu Haswell``.
        environment: variables that the interpreter needs besides.
    """

    def __init__(
        self,
        launcher: Sequence[str] = (),
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._launcher = tuple(launcher)
        self._python = python
        self._environment = dict(environment or {})
        self._lock = threading.Lock()
        self._folder = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None
        self._version = ""

    @property
    def pid(self) -> int | None:
        """Of the running process."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def ask(
        self, model: bytes, inputs: Mapping[str, Array], config: SessionConfig, timeout: float
    ) -> Answer:
        """Send one request and wait for the answer. Waits for other threads' requests first.

        Args:
            timeout: seconds for this request; what starting the process takes is not counted.
        """
        return self._ask(model, [inputs], {}, config, timeout)

    def ask_each(
        self,
        model: bytes,
        feeds: Sequence[Mapping[str, Array]],
        config: SessionConfig,
        timeout: float,
    ) -> Answer:
        """Let one session run each of the feeds, of the same names, once; no graph is written out."""
        return self._ask(model, feeds, {"feeds": len(feeds)}, config, timeout)

    def _ask(
        self,
        model: bytes,
        feeds: Sequence[Mapping[str, Array]],
        further: Mapping[str, int],
        config: SessionConfig,
        timeout: float,
    ) -> Answer:
        given = [item for inputs in feeds for item in inputs.items()]
        header = {
            "level": config.level,
            "entries": dict(config.entries),
            "disabled_optimizers": list(config.disabled_optimizers),
            "inputs": [describe(name, value) for name, value in given],
            **further,
        }
        blobs = [model, *(value.tobytes() for _, value in given)]
        with self._lock:
            try:
                # A worker that died idle, or reading, has not seen the request: one more gets it.
                try:
                    return self._exchange(header, blobs, timeout)
                except _UnreadError:
                    return self._exchange(header, blobs, timeout, last_try=True)
            except BaseException:
                self._end()  # an answer left in the pipe would be taken for the next request's
                raise

    def version(self) -> str:
        """Of onnxruntime in the worker; starts it. "" where it cannot be imported."""
        with self._lock:
            self._start()
            return self._version

    def end(self) -> None:
        """End the process; the next request starts another."""
        with self._lock:
            self._end()

    def end_if_idle(self) -> bool:
        """End the process unless it has a request; True where it had one to end."""
        if self.pid is None or not self._lock.acquire(blocking=False):
            return False
        try:
            self._end()
        finally:
            self._lock.release()
        return True

    def _exchange(
        self, header: dict[str, Any], blobs: list[bytes], timeout: float, *, last_try: bool = False
    ) -> Answer:
        """Raises _UnreadError where the worker ended before it had read the request."""
        message = self._start()
        if message and ENDED in message:  # whoever ended it: nothing was asked yet, so once more
            message = self._start()
        if message:
            status = RunStatus.CRASHED if ENDED in message else RunStatus.REJECTED
            return Answer(self._version, status, message)
        process = self._process
        assert process and process.stdin and process.stdout
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        alarm = threading.Timer(timeout, expire)
        alarm.daemon = True
        started = time.perf_counter()
        alarm.start()
        accepted = False
        try:
            write_message(process.stdin, header, blobs)
            read_message(process.stdout)
            accepted = True
            reply, parts = read_message(process.stdout)
        except (OSError, EOFError):
            seconds = time.perf_counter() - started
            ended = process.wait()
            last_words = self._last_words()
            self._end()
            if expired.is_set():
                text = f"onnxruntime {self._version} gave no answer in {timeout:g} s and was ended"
                return Answer(self._version, RunStatus.TIMED_OUT, text)
            if not accepted and not last_try:
                raise _UnreadError from None
            text = (
                f"onnxruntime {self._version} ended {_how(ended)} after {seconds:.1f} s{last_words}"
            )
            return Answer(self._version, RunStatus.CRASHED, text)
        finally:
            alarm.cancel()
        return _read_answer(self._version, reply, parts, header.get("feeds", 1))

    def _start(self) -> str:
        """Start the process if none runs. Returns why it could not, or ""."""
        if self._process and self._process.poll() is None:
            return ""
        self._end()
        program = str(Path(__file__).with_name("worker.py"))
        limit = "unlimited" if self._launcher else "limited"  # qemu itself maps more than the cap
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._folder = tempfile.mkdtemp(prefix="qlab-")
        try:
            self._process = subprocess.Popen(
                [*self._launcher, self._python, program, self._folder, limit],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                # numpy's threads are not used here, and each maps memory.
                env={
                    **os.environ,
                    "OPENBLAS_NUM_THREADS": "1",
                    "OMP_NUM_THREADS": "1",
                    **self._environment,
                },
                start_new_session=True,  # the terminal's Ctrl-C is for the parent
            )
        except OSError as error:
            self._end()
            return f"the worker process cannot be started: {error}"
        assert self._process.stdout
        alarm = threading.Timer(START_TIMEOUT, self._process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            hello, _ = read_message(self._process.stdout)
        except (OSError, EOFError):
            how = _how(self._process.wait())
            text = f"the worker process ended {how} {ENDED}{self._last_words()}"
            self._end()
            return text
        finally:
            alarm.cancel()
        self._version = hello["version"]
        if not self._version:
            self._end()
        message: str = hello["message"]
        return f"onnxruntime cannot be imported: {message}" if message else ""

    def _end(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                try:
                    if stream:
                        stream.close()
                except OSError:
                    pass  # what was left in the buffer has no reader any more
        if self._stderr:
            self._stderr.close()
            self._stderr = None
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _last_words(self) -> str:
        """What the process wrote to stderr at its end: C++'s ``what(): …`` or the last line."""
        if not self._stderr:
            return ""
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - 4000))
        lines = self._stderr.read().decode("utf-8", "replace").split("\n")
        lines = [" ".join(line.split()) for line in lines if line.strip()]
        lines = [line for line in lines if line.startswith("what():")] or lines
        return f": {lines[-1]}" if lines else ""


def _read_answer(version: str, reply: dict[str, Any], parts: list[bytes], feeds: int) -> Answer:
    if reply["status"] != "ok":
        # "cast" is no way to end: the caller asks again with the casts in the model.
        status = RunStatus.REJECTED if reply["status"] == "cast" else RunStatus(reply["status"])
        return Answer(version, status, reply["message"], cast=reply.get("cast", {}))
    model = parts.pop(0) if reply["graph"] else b""
    named = [(e["name"], restore(e, b)) for e, b in zip(reply["outputs"], parts, strict=True)]
    count = len(named) // feeds
    each = tuple(dict(named[k * count : (k + 1) * count]) for k in range(feeds))
    passes = tuple(reply["passes"])
    return Answer(
        version, RunStatus.OK, "", each[-1], model, reply["repeatable"], passes, each=each
    )


def _how(exit_status: int) -> str:
    if exit_status >= 0:
        return f"with exit status {exit_status}"
    try:
        name = signal.Signals(-exit_status).name
    except ValueError:
        name = "unknown"
    return f"by signal {-exit_status} ({name})"


@functools.cache
def _emulates_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64") and bool(shutil.which("qemu-x86_64"))


def emulated_cpus() -> tuple[str, ...]:
    """The CPUs that qemu-user can stand in for here: ``avx2`` and ``sse``, ``arm64`` where it is set up; or ()."""
    arm64 = any(r.machine == "arm64" and r.launcher for r in store.here())
    return (*(QEMU_MODELS if _emulates_x86() else ()), *(("arm64",) if arm64 else ()))


_workers: dict[tuple[str, str], Worker] = {}
_workers_lock = threading.Lock()


def launched(cpu: str, version: str = "") -> Runtime:
    """The runtime of a release, with what stands before its interpreter to run on a CPU.

    Raises:
        MissingRuntimeError: the release, or the CPU, is not here.
        QlabError: the name of the CPU is unknown, or the version has no release's form.
    """
    if cpu not in CPUS:
        raise QlabError(f"unknown cpu {cpu!r}; there are {', '.join(CPUS)}")
    runtime = store.find(version, "arm64" if cpu == "arm64" else "native")
    if cpu not in QEMU_MODELS:
        return runtime
    if not _emulates_x86():
        raise MissingRuntimeError(
            f"{cpu} is emulated on x86-64 by qemu-user, which is not here (apt install qemu-user)"
        )
    return dataclasses.replace(runtime, launcher=("qemu-x86_64", "-cpu", QEMU_MODELS[cpu]))


def worker(cpu: str = "this", version: str = "") -> Worker:
    """The worker of a release ("" is the installed one) on this machine's CPU, or on an emulated one.

    Raises:
        QlabError: as `launched`.
    """
    runtime = launched(cpu, version)
    key = (cpu, runtime.version)
    with _workers_lock:
        found = _workers.pop(key, None)
        if found is None:
            found = Worker(runtime.launcher, runtime.python, runtime.environment)
            alive = [item for item in _workers.values() if item.pid is not None]
            for item in alive[: max(0, len(alive) + 1 - MOST_ALIVE)]:
                item.end_if_idle()
        _workers[key] = found  # the last used is the last
        return found


@atexit.register
def end_workers() -> None:
    """End all worker processes; the next request starts another."""
    with _workers_lock:
        for item in _workers.values():
            item.end()
