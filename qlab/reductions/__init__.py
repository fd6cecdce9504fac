"""Reductions: what makes a case smaller, one kind a file. Each offers candidates to a `Search`, which keeps what holds."""

from typing import Protocol

from qlab.case import Case
from qlab.signature import Difference


class Search(Protocol):
    """What a reduction is given."""

    @property
    def difference(self) -> Difference:
        """The smallest case so far, with both results."""

    @property
    def case(self) -> Case:
        """The smallest case so far."""

    def offer(self, candidate: Case) -> bool:
        """Take a candidate where it has the same signature; True where it was taken."""

    def record(self, words: str) -> None:
        """End a step: what was taken since the last one, in words; nothing where nothing was."""
