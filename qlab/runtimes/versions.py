"""Which releases of onnxruntime there are, in order, and what each needs: facts of the package index."""

import re
from collections.abc import Iterable, Sequence

from qlab.errors import QlabError, closest

# With wheels for x86-64 and ARM64 Linux; a newer one can be asked for all the same.
_PATCHES = {  # minor release: its patches
    "1.11": (
        0,
        1,
    ),
    "1.12": (
        0,
        1,
    ),
    "1.13": (1,),
    "1.14": (
        0,
        1,
    ),
    "1.15": (
        0,
        1,
    ),
    "1.16": (
        0,
        1,
        2,
        3,
    ),
    "1.17": (
        0,
        1,
        3,
    ),
    "1.18": (
        0,
        1,
    ),
    "1.19": (
        0,
        2,
    ),
    "1.20": (
        0,
        1,
    ),
    "1.21": (
        0,
        1,
    ),
    "1.22": (
        0,
        1,
    ),
    "1.23": (
        0,
        1,
        2,
    ),
    "1.24": (
        1,
        2,
        3,
        4,
    ),
    "1.25": (
        0,
        1,
    ),
    "1.26": (0,),
    "1.27": (0,),
    "1.28": (0,),
    "1.29": (0,),
    "1.30": (0,),
    "1.31": (
        0,
        1,
    ),
    "1.32": (0,),
}
RELEASES = tuple(f"{minor}.{patch}" for minor, patches in _PATCHES.items() for patch in patches)
OLDEST = "1.11.0"  # the oldest that the worker is known to run
OLDEST_SEARCHED = (
    "1.15.0"  # the oldest with a wheel for Python 3.11: no other Python is needed from here on
)
_FORM = re.compile(r"\d{1,3}\.\d{1,3}\.\d{1,3}")


def key(version: str) -> tuple[int, ...]:
    """What versions are sorted by: 1.9.0 is before 1.10.0."""
    return tuple(int(part) for part in version.split("."))


def checked(version: str) -> str:
    """The version, if it has a release's form.

    Raises:
        QlabError: it has not, or is older than what the worker can run.
    """
    text = version.strip()
    if not _FORM.fullmatch(text) or not text.isascii():
        close = closest(text, RELEASES)
        hint = f"; did you mean {close}?" if close else ""
        raise QlabError(
            f"{text[:40]!r} is no release of onnxruntime: write three numbers like 1.25.1{hint}"
        )
    if key(text) < key(OLDEST):
        raise QlabError(f"onnxruntime {text} is too old: {OLDEST} is the oldest that can be run")
    return text


def between(oldest: str, newest: str, also: Iterable[str] = ()) -> tuple[str, ...]:
    """The releases from one to another, in order; ``also`` has those that are not in the list."""
    known = {*RELEASES, *also}
    return tuple(v for v in sorted(known, key=key) if key(oldest) <= key(v) <= key(newest))


def newest_of_minors(count: int = 5, also: Iterable[str] = ()) -> tuple[str, ...]:
    """The newest release of each of the last minor releases, oldest first: 1.28.0, …, 1.31.1, 1.32.0."""
    newest: dict[tuple[int, ...], str] = {}
    for version in sorted({*RELEASES, *also}, key=key):
        newest[key(version)[:2]] = version
    return tuple(newest.values())[-count:]


def around(version: str, count: int = 2, also: Iterable[str] = ()) -> tuple[str, ...]:
    """A release and its neighbours, ``count`` on each side."""
    known = sorted({*RELEASES, *also, version}, key=key)
    position = known.index(version)
    return tuple(known[max(0, position - count) : position + count + 1])


def pythons(version: str) -> Sequence[str]:
    """The Pythons that a release has wheels for, the best known first."""
    if key(version) < (1, 15):
        return ("3.9", "3.8", "3.10")
    if key(version) < (1, 20):
        return ("3.11", "3.10", "3.9")
    return ("3.11", "3.12", "3.13", "3.14")


def requirements(version: str) -> tuple[str, ...]:
    """What is installed: the release, and a numpy that it was built for."""
    return (f"onnxruntime=={version}", "numpy<2" if key(version) < (1, 19) else "numpy")
