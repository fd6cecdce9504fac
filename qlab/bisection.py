"""Bisection: at which release a case changed, with as few releases run as can be."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from qlab.engines.results import RunStatus
from qlab.graph import same_outputs
from qlab.matrix import Cell
from qlab.runtimes.versions import key

PREDICATES = {
    "wrong": "is wrong",
    "differs": "differs from exact arithmetic",
    "fails": "is refused, fails or crashes",
    "changed": "gives other codes than a chosen run",
}


@dataclasses.dataclass(frozen=True)
class Change:
    """Two neighbouring releases, the first of which has what was asked for and the second not, or the reverse."""

    before: Cell
    after: Cell
    holds_after: bool


@dataclasses.dataclass(frozen=True)
class History:
    """What a bisection found.

    Attributes:
        predicate: one of ``PREDICATES``.
        than: what "changed" compares with, in words.
        holds: release → whether the predicate held there, for those that were run; oldest first.
        changes: between neighbouring releases, oldest first.
        skipped: releases that could not be run here or have nothing to judge by.
        searched: how many releases there are between the ends.
    """

    predicate: str
    than: str
    holds: Mapping[str, bool]
    changes: tuple[Change, ...]
    skipped: tuple[str, ...]
    searched: int

    def marks(self, change: Change) -> tuple[str, str]:
        """What the two releases of a change are called: ``last good`` and ``first bad``, or the reverse."""
        bad, good = ("other", "same") if self.predicate == "changed" else ("bad", "good")
        return (
            (f"last {good}", f"first {bad}")
            if change.holds_after
            else (f"last {bad}", f"first {good}")
        )

    @property
    def monotonic(self) -> bool:
        """False where it came and went: there is more than one change among the releases that were run."""
        return len(self.changes) <= 1

    @property
    def sentences(self) -> tuple[str, ...]:
        """Since when, with last good and first bad, or the reverse, for each change; then how much was run."""
        if not self.holds:
            return ("No release could be judged.",)
        found = []
        for change in self.changes:
            before, after = change.before.version, change.after.version
            what = "Changed in" if self.predicate == "changed" else "Mended in"
            what = "Regression since" if change.holds_after and what != "Changed in" else what
            last, first = self.marks(change)
            found.append(
                f"{what} {after}: {last} {before} ({change.before.words}), {first} {after} ({change.after.words})."
            )
        if not self.changes:
            always = "every" if next(iter(self.holds.values())) else "no"
            words = PREDICATES[self.predicate].replace("a chosen run", self.than or "the newest")
            found.append(f"In {always} release that was run it {words}.")
        if not self.monotonic:
            found.append(
                "The history is not monotonic: there may be more changes between those found."
            )
        ran = list(self.holds)
        found.append(
            f"Run: {len(ran)} of the {self.searched} releases from {ran[0]} to {ran[-1]}"
            + (f"; {', '.join(self.skipped)} could not be judged." if self.skipped else ".")
        )
        return tuple(found)


def bisect(
    versions: Sequence[str],
    run: Callable[[str], Cell],
    *,
    predicate: str = "wrong",
    than: Cell | None = None,
    first: Iterable[str] = (),
    progress: Callable[[Cell], None] = lambda _: None,
) -> History:
    """Find where the predicate changes between neighbouring releases.

    Args:
        versions: all releases to search, oldest first.
        run: the cell of a release; only those that are needed are asked for.
        predicate: one of ``PREDICATES``.
        than: the run that "changed" compares with; None is the newest release's.
        first: releases to run besides the two ends: with them a change that came and went is seen.
    """
    order = sorted(versions, key=key)
    cells: dict[str, Cell] = {}
    held: dict[str, bool | None] = {}
    compared = [than] if than is not None else []

    def holds(version: str) -> bool | None:
        if version not in held:
            cell = run(version)
            progress(cell)
            if not compared and cell.run is not None:
                compared.append(cell)
            cells[version] = cell
            held[version] = _judge(predicate, cell, compared[0] if compared else cell)
        return held[version]

    # The newest first: it is the one that "changed" compares with, and the one that is here.
    wanted = [order[-1], *(v for v in order if v in set(first)), order[0]] if order else []
    for version in wanted:
        holds(version)
    for end in (
        iter(order),
        reversed(order),
    ):  # an end that cannot be judged gives way to its neighbour
        for version in end:
            if holds(version) is not None:
                break
    while True:
        judged = [v for v in order if held.get(v) is not None]
        gaps = [
            (a, b)
            for a, b in itertools.pairwise(judged)
            if held[a] != held[b] and _middle(order, held, a, b)
        ]
        if not gaps:
            break
        holds(_middle(order, held, *gaps[0]))
    judged = [v for v in order if held.get(v) is not None]
    changes = tuple(
        Change(cells[a], cells[b], bool(held[b]))
        for a, b in itertools.pairwise(judged)
        if held[a] != held[b]
    )
    skipped = tuple(v for v in order if v in held and held[v] is None)
    named = f"{than.version} {than.column.label}" if than is not None else ""
    return History(
        predicate, named, {v: bool(held[v]) for v in judged}, changes, skipped, len(order)
    )


def _middle(order: Sequence[str], held: Mapping[str, bool | None], a: str, b: str) -> str:
    """The release in the middle between two that has not been tried; "" where all have."""
    between = [v for v in order[order.index(a) + 1 : order.index(b)] if v not in held]
    return between[len(between) // 2] if between else ""


def _judge(predicate: str, cell: Cell, than: Cell) -> bool | None:
    if cell.run is None:
        return None
    failed = cell.run.status is not RunStatus.OK
    if predicate == "fails":
        return failed
    if predicate == "changed":
        other = than.run
        if other is None:
            return None
        same_status = failed == (other.status is not RunStatus.OK)
        return not (same_status and same_outputs(cell.run.outputs, other.outputs))
    if predicate == "differs":
        return None if failed else cell.wrong
    return cell.wrong
