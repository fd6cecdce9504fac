"""The exceptions that qlab raises for a caller's mistakes: one line, what, where, and the way out."""

import difflib
from collections.abc import Iterable


class QlabError(ValueError):
    """Base of all: the message is one line that can be shown to a person as it is."""

    def __init__(self, message: str) -> None:
        # A message quotes names and values of strangers: what would break the line is shown as it is written.
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in message))


class CaseError(QlabError):
    """A case, file, link or folder that cannot be read, or is not consistent in itself."""


class TraceError(QlabError):
    """A graph that a scheme cannot compute: an operator without arithmetic, shapes that do not fit."""


class ExportError(QlabError):
    """Something that cannot be taken away in the form asked for."""


def closest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, upper and lower case aside; "" where none is close."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower()[:100], list(by_lower), 1)
    return by_lower[found[0]] if found else ""
