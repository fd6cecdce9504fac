"""The runtimes that are here: found, made whole or not at all, removed. One folder each in the user's cache."""

import dataclasses
import functools
import importlib.metadata
import json
import os
import platform
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import filelock
import platformdirs

from qlab.errors import QlabError
from qlab.runtimes import arm64, installer
from qlab.runtimes.installer import InstallError
from qlab.runtimes.versions import checked, key, pythons, requirements

MACHINES = ("native", "arm64")  # this machine's own, and 64-bit ARM under qemu-user
_DESCRIPTION = "runtime.json"  # written last: a folder without it is not whole
_MAKING = ".making"
_NEEDED = 400_000_000  # bytes free before an install begins; one takes 100 to 250 MB

Progress = Callable[[str], None]


class MissingRuntimeError(QlabError):
    """A runtime that is not here; the message says how to get it."""


@dataclasses.dataclass(frozen=True)
class Runtime:
    """A Python with one release of onnxruntime.

    Attributes:
        version: of onnxruntime.
        machine: one of ``MACHINES``.
        python: the interpreter's path. launcher: what stands before it (qemu). environment: what it needs besides.
        folder: where it lies; None for the one that qlab itself was installed with.
        size: bytes on the disk; 0 for that one.
    """

    version: str
    machine: str
    python: str
    launcher: tuple[str, ...] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    folder: Path | None = None
    size: int = 0

    @property
    def name(self) -> str:
        """``1.25.1``, ``1.25.1 arm64``."""
        return self.version if self.machine == "native" else f"{self.version} {self.machine}"


def cache_folder() -> Path:
    """Where runtimes lie: ``$QLAB_CACHE``, or the user's cache folder."""
    given = os.environ.get("QLAB_CACHE")
    return Path(given) if given else Path(platformdirs.user_cache_dir("qlab", appauthor=False))


def may_install() -> bool:
    """False where ``QLAB_INSTALL=off``, as on a public server."""
    return os.environ.get("QLAB_INSTALL", "on").strip().lower() not in ("off", "0", "no", "false")


@functools.cache
def installed_version() -> str:
    """The release that qlab itself was installed with; "" where there is none."""
    try:
        return importlib.metadata.version("onnxruntime")
    except importlib.metadata.PackageNotFoundError:
        return ""


def find(version: str = "", machine: str = "native") -> Runtime:
    """The runtime of a release; "" is the installed one.

    Raises:
        MissingRuntimeError: it is not here.
        QlabError: the version has no release's form.
    """
    version = checked(version) if version else installed_version()
    own = platform.machine().lower() in ("aarch64", "arm64")
    if machine == "native" or own:
        if version == installed_version():
            return Runtime(version, machine, sys.executable)
        machine = "native"
    found = _read(_folder(version, machine))
    if found is None:
        option = "" if machine == "native" else f" --cpu {machine}"
        raise MissingRuntimeError(
            f"onnxruntime {version}{option.replace(' --cpu', ' for')} is not on this machine: "
            f"python -m qlab runtimes add {version}{option}"
        )
    return found


def here() -> tuple[Runtime, ...]:
    """All runtimes on this machine, the installed one among them: by version, then by machine."""
    found = [r for path in _root().glob("*/") if (r := _read(path)) is not None]
    if installed_version():
        found = [r for r in found if (r.version, r.machine) != (installed_version(), "native")]
        found.append(Runtime(installed_version(), "native", sys.executable))
    return tuple(sorted(found, key=lambda r: (key(r.version), r.machine == "arm64")))


def versions_here(machine: str = "native") -> tuple[str, ...]:
    """The releases that can be run now, oldest first."""
    return tuple(r.version for r in here() if r.machine == machine)


def add(
    version: str,
    machine: str = "native",
    *,
    progress: Progress = lambda _: None,
    stop: threading.Event | None = None,
) -> Runtime:
    """Make a runtime, unless it is here. Two that ask at once wait for each other, and one makes it.

    Args:
        progress: called with what is being done, in words.
        stop: once it is set, the making ends and leaves nothing.

    Raises:
        InstallError: no network, no such release, no wheel, no space, or installing is turned off.
        QlabError: the version has no release's form.
    """
    version = checked(version)
    try:
        return find(version, machine)
    except MissingRuntimeError:
        pass
    if not may_install():
        raise InstallError(
            f"onnxruntime {version}: installing is turned off here (QLAB_INSTALL=off)"
        )
    if machine == "arm64":
        arm64.set_up(cache_folder(), progress=progress, stop=stop)
    folder = _folder(version, machine)
    with _locked(folder.name, progress, stop):
        made = _read(folder)  # another process may have made it while this one waited
        if made is not None:
            return made
        making = folder.with_name(folder.name + _MAKING)
        _discard(making)
        try:
            _refuse_full_disk(folder.parent)
            interpreter = _make(version, machine, making, progress, stop)
            description = {
                "version": version,
                "machine": machine,
                "python": interpreter,
                "size": _size(making),
            }
            (making / _DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")
            _discard(folder)  # a folder of this name that is not whole
            making.rename(folder)
        except OSError as error:
            raise InstallError(
                f"onnxruntime {version}: {folder.parent}: {error.strerror or error}"
            ) from None
        finally:
            _discard(making)
    found = _read(folder)
    if found is None:
        raise InstallError(f"onnxruntime {version}: {folder} has gone again")
    return found


def remove(version: str, machine: str = "native") -> int:
    """Remove a runtime; returns the bytes freed.

    Raises:
        MissingRuntimeError: it is not here. QlabError: it is the installed one, or cannot be removed.
    """
    runtime = find(version, machine)
    if runtime.folder is None:
        raise QlabError(f"onnxruntime {version} is the one qlab was installed with; it stays")
    with _locked(runtime.folder.name):
        # Renamed first: a folder that is half removed must not be taken for whole.
        away = runtime.folder.with_name(runtime.folder.name + _MAKING)
        _discard(away)
        try:
            runtime.folder.rename(away)
        except OSError as error:
            raise QlabError(f"{runtime.folder}: cannot be removed: {error.strerror}") from None
        _discard(away)
    return runtime.size


def prune(*, everything: bool = False) -> int:
    """Remove what killed installs left, and runtimes that are broken; returns the bytes freed.

    Args:
        everything: all runtimes as well, and the arm64 system.
    """
    freed = 0
    for path in [p for p in _root().glob("*") if p.is_dir()]:
        name = path.name.removesuffix(_MAKING)
        try:
            with _locked(name, wait=0):
                if everything or path.name.endswith(_MAKING) or _read(path) is None:
                    freed += _size(path)
                    _discard(path)
        except InstallError:
            continue  # another process is making it
    if everything:
        freed += _size(arm64.folder(cache_folder()))
        _discard(arm64.folder(cache_folder()))
    return freed


def _root() -> Path:
    return cache_folder() / "runtimes"


def _folder(version: str, machine: str) -> Path:
    return _root() / (version if machine == "native" else f"{version}-{machine}")


def _read(folder: Path) -> Runtime | None:
    """The runtime in a folder; None where it is not whole or its interpreter has gone."""
    try:
        text = (folder / _DESCRIPTION).read_text(encoding="utf-8")
        described = json.loads(text)
        version, machine, python = (
            str(described[name]) for name in ("version", "machine", "python")
        )
        size = int(described["size"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    if folder.name.endswith(_MAKING) or folder != _folder(version, machine):
        return None
    if machine == "arm64":
        system = arm64.system(cache_folder())
        if system is None:
            return None
        environment = {"PYTHONPATH": str(folder / "site")}
        return Runtime(version, machine, system.python, system.launcher, environment, folder, size)
    path = folder / python
    return Runtime(version, machine, str(path), folder=folder, size=size) if path.exists() else None


def _make(
    version: str, machine: str, making: Path, progress: Progress, stop: threading.Event | None
) -> str:
    """Install into a folder and import it there; returns the interpreter's path within."""
    what = f"onnxruntime {version}"
    if machine == "arm64":
        progress(f"{what} for ARM64: downloading")
        arm64.install(version, making / "site", stop=stop)
        progress(f"{what} for ARM64: importing it")
        arm64.check(cache_folder(), making / "site", version, stop=stop)
        return ""
    last: InstallError | None = None
    for wanted in pythons(version):
        for interpreter in installer.interpreters(wanted):
            _discard(making)
            progress(f"{what}: making an environment with Python {wanted}")
            try:
                where = ["--relocatable", "--no-project", "--python", interpreter]
                installer.call(["venv", *where, str(making)], what, stop=stop)
                python = Path("Scripts/python.exe" if os.name == "nt" else "bin/python")
                progress(f"{what}: downloading")
                target = ["--python", str(making / python), "--only-binary", ":all:"]
                installer.call(["pip", "install", *target, *requirements(version)], what, stop=stop)
                progress(f"{what}: importing it")
                program = "import onnxruntime; print(onnxruntime.__version__)"
                said = installer.run([str(making / python), "-c", program], what, stop=stop)
            except InstallError as error:
                last = last or error
                if stop is not None and stop.is_set():
                    raise
                if not _another_python_may_help(error):
                    raise
                continue
            if said.split()[-1:] != [version]:
                raise InstallError(f"{what}: the release that came says it is {said.strip()[:40]}")
            return str(python)
    raise last or InstallError(f"{what}: no Python is known for it")


def _another_python_may_help(error: InstallError) -> bool:
    return installer.NO_WHEEL in str(error) or "such Python" in str(error)


def _refuse_full_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _NEEDED:
        raise InstallError(
            f"{folder}: {free / 1e6:,.0f} MB are free, {_NEEDED / 1e6:,.0f} are needed; "
            "python -m qlab runtimes prune --all removes all that was installed"
        )


@contextmanager
def _locked(
    name: str,
    progress: Progress = lambda _: None,
    stop: threading.Event | None = None,
    wait: float | None = None,
) -> Iterator[None]:
    """One process at a time. The lock ends with the process that holds it, however that ends.

    Raises:
        InstallError: the folder cannot be written, or the wait was stopped, or longer than ``wait`` seconds.
    """
    path = _root() / f"{name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(str(path), timeout=0)
        waited = 0.0
        while True:
            try:
                lock.acquire(timeout=0 if wait == 0 else 0.5)
                break
            except filelock.Timeout:
                waited += 0.5
                if (stop is not None and stop.is_set()) or (wait is not None and waited > wait):
                    raise InstallError(f"{name}: another process is making it") from None
                progress(f"{name}: another process is making it; waiting")
    except OSError as error:
        raise InstallError(f"{path.parent}: cannot be written: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()


def _discard(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _size(path: Path) -> int:
    """Bytes of all files below; links are not followed."""
    total = 0
    for root, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total
