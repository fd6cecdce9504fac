"""uv, the installer: one command, and its failures in words that a person can act on."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from qlab.errors import QlabError

TIMEOUT = 900.0  # seconds for one command: a wheel on a slow line

NO_WHEEL = "has no wheel"


class InstallError(QlabError):
    """A runtime could not be made; the message says why, and what would help."""


# What uv says (0.13) → what it means. The first that is found counts.
_MEANINGS = (
    (r"no version of (\S+?)==(\S+)", r"there is no release \2 of \1"),
    (r"No space left on device|os error 28|Disk quota exceeded", "no space is left on the disk"),
    (r"no wheels? with a matching|no wheels? usable|doesn't have a (?:source distribution|wheel)", f"{NO_WHEEL} for this Python and platform"),
    (r"dns error|error sending request|Failed to fetch|tcp connect|operation timed out|Could not connect|network|offline", "the package index cannot be reached: a network is needed"),
    (r"No interpreter found|No (?:Python )?download", "no such Python is on this machine, and uv could not get one"),
    (r"Permission denied|Read-only file system", "the cache folder cannot be written"),
)  # fmt: skip


def command() -> str:
    """The path of uv. Raises InstallError where it is not installed."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
        if found:
            return found
        raise InstallError("uv is not installed here: pip install uv") from None


def call(arguments: Sequence[str], what: str, *, stop: threading.Event | None = None) -> str:
    """Run ``uv ARGUMENTS``; returns what it printed.

    Args:
        what: what is being made, for the message: ``onnxruntime 1.25.1``.
        stop: once it is set, the command is ended.

    Raises:
        InstallError: it failed, took too long, or was stopped.
    """
    return run([command(), *arguments], what, stop=stop)


def run(arguments: Sequence[str], what: str, *, stop: threading.Event | None = None) -> str:
    """Run any program in the same way. Raises InstallError."""
    environment = {**os.environ, "NO_COLOR": "1", "UV_NO_PROGRESS": "1"}
    # An environment that is active here is not the one that is to be made.
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME"):
        environment.pop(name, None)
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise InstallError(f"{what}: {arguments[0]} cannot be run: {error.strerror}") from None
    waited = 0.0
    try:
        while True:
            try:
                output, _ = process.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                waited += 0.2
                if stop is not None and stop.is_set():
                    raise InstallError(f"{what}: stopped") from None
                if waited > TIMEOUT:
                    raise InstallError(f"{what}: no end after {TIMEOUT:g} s") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if process.returncode:
        raise InstallError(f"{what}: {meaning(output)}")
    return output


def meaning(output: str) -> str:
    """What uv's words mean; its own last words where they are unknown."""
    text = " ".join(output.split())
    for pattern, words in _MEANINGS:
        found = re.search(pattern, text)
        if found:
            return found.expand(words) if "\\" in words else words
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if "error" in line.lower()), "")
    return (last or (lines[-1] if lines else "it ended without a word"))[:300]


def interpreters(wanted: str) -> list[str]:
    """Where a Python such as ``3.9`` may be: this one, on PATH, among pyenv's; at last its name, for uv."""
    found = []
    if f"{sys.version_info.major}.{sys.version_info.minor}" == wanted:
        found.append(sys.executable)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    name = "python.exe" if os.name == "nt" else "bin/python"
    found += [str(p) for p in sorted(root.glob(f"{wanted}.*/{name}"))]
    return [*found, wanted]
