"""ARM64 on an x86-64 machine: qemu-user, a small Debian system with Python, and the aarch64 wheels.

The qemu-user of Debian 12 (7.2) crashes when onnxruntime is imported; that of Debian 13 (10) runs it. So both the
emulator and the system are unpacked from Debian's packages into the cache folder; nothing is installed.
"""

import dataclasses
import json
import os
import platform
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import filelock

from qlab.runtimes import installer
from qlab.runtimes.installer import InstallError
from qlab.runtimes.versions import key, requirements

PYTHON = "3.11"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SYSTEM = (
    *("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libgcc-s1"),
    *("libstdc++6", "zlib1g", "libexpat1", "libssl3", "libffi8", "libbz2-1.0", "liblzma5"),
    *("libsqlite3-0", "libcrypt1", "libuuid1"),
)
_DESCRIPTION = "system.json"  # written last
_WHAT = "the ARM64 system"


@dataclasses.dataclass(frozen=True)
class System:
    """The emulated system: what stands before the interpreter, and the interpreter."""

    launcher: tuple[str, ...]
    python: str


def folder(cache: Path) -> Path:
    """Where the system lies."""
    return cache / "arm64"


def system(cache: Path) -> System | None:
    """The system, if it has been set up."""
    root = folder(cache)
    if not (root / _DESCRIPTION).is_file():
        return None
    launcher = (str(root / "qemu-aarch64"), "-cpu", "max", "-L", str(root / "root"))
    return System(launcher, str(root / "root" / "usr" / "bin" / f"python{PYTHON}"))


def missing() -> str:
    """What this machine lacks for setting it up; "" where nothing."""
    if platform.system() != "Linux" or platform.machine().lower() not in ("x86_64", "amd64"):
        return "it is set up on x86-64 Linux only"
    lacking = [name for name in ("apt-get", "dpkg-deb") if not shutil.which(name)]
    if lacking:
        return f"it is unpacked from Debian's packages, and {' and '.join(lacking)} is not here"
    if not _KEYRING.is_file():
        return "Debian's keys are not here (apt install debian-archive-keyring)"
    if not _mirror():
        return "apt's sources name no mirror of Debian (after apt-get update they do, on Debian)"
    return ""


def _mirror() -> str:
    """The mirror of Debian that this machine's apt uses; "" where it uses none."""
    form = "$(ORIGIN) $(CODENAME) $(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    try:
        listed = installer.run(command, _WHAT).splitlines()
    except InstallError:
        return ""
    rows = (line.split() for line in listed)
    # bookworm, but not bookworm-security, which is another archive.
    found = (row[2] for row in rows if len(row) == 3 and row[0] == "Debian" and "-" not in row[1])
    return next(found, "").rstrip("/")


def set_up(
    cache: Path,
    *,
    progress: Callable[[str], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> None:
    """Unpack the emulator and the system, unless they are there. Takes 80 MB of downloads.

    Raises:
        InstallError: what is missing, or what failed.
    """
    if system(cache) is not None:
        return
    if lack := missing():
        raise InstallError(f"{_WHAT}: {lack}")
    root, making = folder(cache), cache / "arm64.making"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(str(cache / "arm64.lock")):
            if system(cache) is not None:
                return
            shutil.rmtree(making, ignore_errors=True)
            try:
                _unpack(making, progress, stop)
                (making / _DESCRIPTION).write_text(json.dumps({"python": PYTHON}), encoding="utf-8")
                shutil.rmtree(root, ignore_errors=True)
                making.rename(root)
            finally:
                shutil.rmtree(making, ignore_errors=True)
    except OSError as error:
        raise InstallError(f"{_WHAT}: {cache}: {error.strerror or error}") from None


def install(version: str, site: Path, *, stop: threading.Event | None = None) -> None:
    """Put the aarch64 wheels of a release into a folder. Raises InstallError."""
    # The newest tag that the system (glibc 2.36) can run; the oldest releases carry an older one only.
    platform_tag = "aarch64-manylinux_2_28" if key(version) >= (1, 17) else "aarch64-manylinux_2_17"
    target = ["--python-platform", platform_tag, "--python-version", PYTHON, "--target", str(site)]
    arguments = ["pip", "install", *target, "--only-binary", ":all:", *requirements(version)]
    installer.call(arguments, f"onnxruntime {version} for ARM64", stop=stop)


def check(cache: Path, site: Path, version: str, *, stop: threading.Event | None = None) -> None:
    """Import a release under the emulator. Raises InstallError where that is not what was asked for."""
    found = system(cache)
    assert found is not None
    what = f"onnxruntime {version} for ARM64"
    program = f"import sys; sys.path.insert(0, {str(site)!r}); import onnxruntime; print(onnxruntime.__version__)"
    said = installer.run([*found.launcher, found.python, "-c", program], what, stop=stop)
    if version not in said.split():
        raise InstallError(
            f"{what}: it cannot be imported under the emulator: {said.strip()[-200:]}"
        )


def _unpack(making: Path, progress: Callable[[str], None], stop: threading.Event | None) -> None:
    apt, packages = making / "apt", making / "packages"
    for path in (apt / "lists" / "partial", apt / "cache" / "archives" / "partial", packages):
        path.mkdir(parents=True)
    (apt / "status").touch()
    sources = apt / "sources.list"
    signed, mirror = f"signed-by={_KEYRING}", _mirror()
    sources.write_text(
        f"deb [arch=arm64 {signed}] {mirror} bookworm main\n"
        f"deb [arch=amd64 {signed}] {mirror} trixie main\n",
        encoding="utf-8",
    )
    options = [
        f"Dir::Etc::sourcelist={sources}",
        "Dir::Etc::sourceparts=-",
        f"Dir::State={apt}",
        f"Dir::State::lists={apt / 'lists'}",
        f"Dir::State::status={apt / 'status'}",
        f"Dir::Cache={apt / 'cache'}",
        "APT::Architecture=amd64",
        "APT::Architectures::=amd64",
        "APT::Architectures::=arm64",
        "Acquire::Languages=none",
        "APT::Sandbox::User=",  # an ordinary folder is written, so no other user is needed
    ]
    command = ["apt-get", *(word for option in options for word in ("-o", option))]
    progress(f"{_WHAT}: reading Debian's lists")
    installer.run([*command, "update"], _WHAT, stop=stop)
    progress(f"{_WHAT}: downloading 80 MB of packages")
    names = ["qemu-user:amd64/trixie", *(f"{name}:arm64/bookworm" for name in _SYSTEM)]
    # `apt-get download` writes to the current folder.
    shell = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(packages)]
    installer.run([*shell, *command, "download", *names], _WHAT, stop=stop)
    progress(f"{_WHAT}: unpacking")
    for package in sorted(packages.glob("*.deb")):
        into = making / ("qemu" if package.name.startswith("qemu-user") else "root")
        installer.run(["dpkg-deb", "-x", str(package), str(into)], _WHAT, stop=stop)
    # Of the forty emulators one is kept.
    os.replace(
        (making / "qemu" / "usr" / "bin" / "qemu-aarch64").resolve(), making / "qemu-aarch64"
    )
    for path in (making / "qemu", packages, apt):
        shutil.rmtree(path)
