"""Shrink: the smallest case on which two sides differ in the same way. The same result each time."""

import dataclasses
from collections.abc import Callable

from qlab.case import Case
from qlab.errors import QlabError
from qlab.reductions import Search
from qlab.reductions.codes import fewer_codes, smaller_codes
from qlab.reductions.nodes import fewer_nodes
from qlab.reductions.parameters import rounder_scales, rounder_zero_points, usual_attributes
from qlab.reductions.search import Shrinking
from qlab.reductions.shapes import smaller_shapes
from qlab.reductions.tensors import DATA, moving, of_kind
from qlab.sides import Side
from qlab.signature import Difference, difference
from qlab.surroundings import Agreement, Variation, nearest_agreement, variations

MOST_TRIALS = 4000
SECONDS = 240.0
ROUNDS = 6  # of all reductions: what one makes smaller can free another

# The order is what "smallest" means. Zero points come before codes, which are counted from them.
REDUCTIONS: tuple[Callable[[Search], None], ...] = (
    fewer_nodes,
    smaller_shapes,
    fewer_codes,
    rounder_zero_points,
    smaller_codes,
    rounder_scales,
    usual_attributes,
)


@dataclasses.dataclass(frozen=True)
class Size:
    """How large a case is.

    Attributes:
        values: of inputs and constants. moving: entries of data that are not at their zero point, or not 0.
    """

    nodes: int
    values: int
    moving: int

    def __str__(self) -> str:
        """``1 node, 12 values, 2 away from the zero point``."""
        nodes = f"{self.nodes} node" + ("s" if self.nodes != 1 else "")
        values = f"{self.values:,} value" + ("s" if self.values != 1 else "")
        return f"{nodes}, {values}, {self.moving:,} away from the zero point"


def size_of(case: Case) -> Size:
    """The size of a case."""
    tensors = (*case.inputs.values(), *case.graph.constants.values())
    away = sum(len(moving(case, name)) for name in of_kind(case, DATA))
    return Size(len(case.graph.nodes), sum(v.size for v in tensors), away)


@dataclasses.dataclass(frozen=True)
class ShrinkStep:
    """What was made smaller, in words, and the case after it, on which both sides still differ in the same way."""

    words: str
    case: Case
    size: Size


@dataclasses.dataclass(frozen=True)
class Shrunk:
    """The way from a case to the smallest one.

    Attributes:
        given: the difference of the case that was given.
        difference: that of the smallest case found; the same one where nothing could be made smaller.
        steps: in their order. trials: cases that were computed by both sides.
        variations: what matters of the smallest case and what does not. agreement: the nearest case that agrees.
        ended: why the search ended early; "" where nothing was left to try.
    """

    given: Difference
    difference: Difference
    steps: tuple[ShrinkStep, ...]
    variations: tuple[Variation, ...]
    agreement: Agreement | None
    trials: int
    ended: str

    @property
    def case(self) -> Case:
        """The smallest case found."""
        return self.difference.case


def shrink(
    case: Case,
    expected: Side,
    actual: Side,
    *,
    progress: Callable[[str], None] | None = None,
    stop: Callable[[], bool] | None = None,
    most_trials: int = MOST_TRIALS,
    seconds: float = SECONDS,
) -> Shrunk:
    """The smallest case found with the same signature.

    Args:
        progress: called with what was done last, in words. stop: asked before each trial; True ends the search.
        most_trials, seconds: bounds; where one is met, the result says so.

    Raises:
        QlabError: the two sides do not differ, or a side cannot compute the case.
    """
    case = dataclasses.replace(case, expected={})
    first = difference(case, expected.run(case), actual.run(case))
    if first.signature is None:
        raise NothingToShrink(_nothing(first))
    search = Shrinking(
        first,
        first.signature,
        progress=progress,
        stop=stop,
        most_trials=most_trials,
        seconds=seconds,
    )
    _reduce(search)
    smallest = _titled(search.difference, "smallest case found by shrinking")
    steps = tuple(
        ShrinkStep(words, _named(made, first, f"step {number} of shrinking"), size_of(made))
        for number, (words, made) in enumerate(search.steps, 1)
    )
    around: tuple[Variation, ...] = ()
    agreement = None
    if stop is None or not stop():
        around = variations(smallest.case, lambda c: search.same(search.compute(c)))
        agreement = nearest_agreement(
            smallest.case, search.compute, refused=not smallest.comparisons
        )
    return Shrunk(first, smallest, steps, around, agreement, search.trials, search.ended)


def _reduce(search: Shrinking) -> None:
    """All reductions, again and again until nothing is left to take."""
    for _ in range(ROUNDS):
        before = len(search.steps)
        for reduction in REDUCTIONS:
            if search.goes_on():
                reduction(search)
        if len(search.steps) == before:
            return


def _titled(found: Difference, words: str) -> Difference:
    return dataclasses.replace(found, case=_named(found.case, found, words))


def _named(case: Case, found: Difference, words: str) -> Case:
    """A case with a title and a note of what differs."""
    sides = f"{found.actual.side.label} against {found.expected.side.label}"
    note = f"{sides}: {found.why or found.signature}"
    operators = ", ".join(dict.fromkeys(node.op_type for node in case.graph.nodes))
    return dataclasses.replace(case, title=f"{operators}: {words}", source="", note=note)


class NothingToShrink(QlabError):
    """Two sides that do not differ on a case."""


def _nothing(found: Difference) -> str:
    for result in (found.expected, found.actual):
        if result.message:
            return f"nothing to shrink: {result.side.label} has no result: {result.message}"
    between = f"{found.actual.side.label} and {found.expected.side.label}"
    on = f"all {found.size:,} codes" if found.size != 1 else "the one code"
    return f"nothing to shrink: {between} agree on {on}"
