"""Sweep: two sides over every input that there is, not a sample: where they differ, by how much, and where a tie lies."""

import dataclasses
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from qlab.arithmetic import mul
from qlab.case import Case
from qlab.compare import Comparison
from qlab.errors import CaseError
from qlab.probes import all_codes
from qlab.qtypes import Array
from qlab.reference import exact_trace
from qlab.schemes.rounding import round_real
from qlab.sides import Result, Side, compare
from qlab.trace import Index, Number, Trace


@dataclasses.dataclass(frozen=True)
class SweptAxis:
    """One input that takes every value.

    Attributes:
        name: of the input. codes: its values, in order (int64).
    """

    name: str
    codes: Array


@dataclasses.dataclass(frozen=True)
class Point:
    """One place of a sweep at which the sides differ.

    Attributes:
        index: in the map. codes: of each axis there. expected, actual: what the sides gave.
        difference: actual - expected, in quantization steps. tie: exact arithmetic lies between two codes.
    """

    index: Index
    codes: tuple[int, ...]
    expected: Number
    actual: Number
    difference: int
    tie: bool


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Two sides over all inputs.

    Attributes:
        case: the one whose parameters were kept. whole: it over all inputs.
        axes: one an input. expected, actual: the results.
        comparison: actual against expected; None where a side has no result, whose message says why.
        ties: True where exact arithmetic lies exactly between two codes, of the map's shape; None where it is not known.
    """

    case: Case
    whole: Case
    axes: tuple[SweptAxis, ...]
    expected: Result
    actual: Result
    comparison: Comparison | None
    ties: Array | None

    @property
    def size(self) -> int:
        """Places of the map."""
        return int(np.prod([len(axis.codes) for axis in self.axes]))

    @property
    def noun(self) -> str:
        """``pairs`` or ``codes``."""
        return "pairs" if len(self.axes) == 2 else "codes"

    @property
    def failure(self) -> str:
        """Which side has no result, and why; "" where both have."""
        for result in (self.actual, self.expected):
            if result.message:
                return f"{result.side.label} has no result: {result.message}"
        return ""

    def points(self) -> Iterator[Point]:
        """The places at which the sides differ, in order."""
        c = self.comparison
        if c is None or c.size < 0:
            return
        for place in np.argwhere(c.differences):
            index = tuple(int(i) for i in place)
            codes = tuple(int(a.codes[i]) for a, i in zip(self.axes, index, strict=True))
            expected, actual = c.expected_codes[index], c.actual_codes[index]
            tie = self.ties is not None and bool(self.ties[index])
            yield Point(index, codes, expected, actual, int(c.differences[index]), tie)

    def at(self, index: Index) -> Case:
        """The case of one place: its inputs are one code each, the parameters are kept.

        Raises:
            CaseError: the place is not in the map.
        """
        shape = tuple(len(axis.codes) for axis in self.axes)
        if len(index) != len(shape) or any(
            not 0 <= i < n for i, n in zip(index, shape, strict=True)
        ):
            raise CaseError(f"{list(index)} is no place of a map of {list(shape)}")
        inputs = {}
        for axis, i in zip(self.axes, index, strict=True):
            given = self.case.inputs[axis.name]
            # An element alone may take another path through a kernel than one of many: twice the same is many.
            alone = (1,) * given.ndim if _single(self.case) else (2,)
            inputs[axis.name] = np.full(alone, axis.codes[i]).astype(given.dtype)
        codes = ", ".join(f"{n} = {int(v.reshape(-1)[0])}" for n, v in inputs.items())
        operators = ", ".join(dict.fromkeys(n.op_type for n in self.case.graph.nodes))
        title = f"{operators} at {codes.replace('-', '−')}"
        return dataclasses.replace(
            self.case, inputs=inputs, expected={}, title=title, source="", note=""
        )


def sweep(case: Case, expected: Side, actual: Side, *, timeout: float = 60.0) -> Sweep:
    """Two sides over all codes of the inputs of a case, with its scales and zero points.

    Raises:
        CaseError: the case is none whose elements stand alone, of one or two inputs of codes of up to 16 bits.
    """
    grid = all_codes(case)
    if grid is None:
        raise CaseError(
            "a sweep over all codes needs operators on single elements, with one or two inputs of codes "
            "(two: of 8 bits) and one scale for each tensor"
        )
    axes = tuple(
        SweptAxis(name, grid.inputs[name].reshape(-1).astype(np.int64))
        for name in case.graph.inputs
    )
    shape = tuple(len(axis.codes) for axis in axes)
    whole = grid if _single(case) else _spread(grid, shape)
    results = (
        expected.run(whole, once=True, timeout=timeout),
        actual.run(whole, once=True, timeout=timeout),
    )
    compared = None
    if not any(r.message for r in results):
        compared = next(iter(compare(whole, *results)), None)
    exact = exact_trace(whole)
    return Sweep(case, whole, axes, *results, compared, ties_of(exact, shape) if exact else None)


def _single(case: Case) -> bool:
    """One element: ONNX Runtime's broadcasting takes its first operand as a scalar, as it does in each row of a grid."""
    return all(value.size == 1 for value in case.inputs.values())


def _spread(grid: Case, shape: Index) -> Case:
    """All combinations with every input of the whole shape: no operand is broadcast."""
    inputs = {n: np.ascontiguousarray(np.broadcast_to(v, shape)) for n, v in grid.inputs.items()}
    return dataclasses.replace(grid, inputs=inputs)


def ties_of(exact: Trace, shape: Index) -> Array | None:
    """True where what decides the last code lies exactly between two; None where nothing is rounded to one."""
    for node in reversed(exact.nodes):
        for step in reversed(node.steps):
            if step.decides and not step.format and step.value.dtype == object:
                ties = _is_tie(step.value)
                return np.broadcast_to(ties, shape) if ties.ndim <= len(shape) else None
    return None


def _is_tie(values: Array) -> Array:
    """Half up and half down part on ties only."""
    up = round_real(values, "half_up")
    down = round_real(mul(values, np.asarray(Fraction(-1), dtype=object)), "half_up")
    return np.asarray(up != -down, dtype=bool)
