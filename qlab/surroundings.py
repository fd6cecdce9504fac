"""What is around a case that differs: parameters that do not matter, and the nearest case that agrees."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from qlab.case import Case
from qlab.notation import show
from qlab.qtypes import Array, bounds, is_float, is_integer
from qlab.reductions.search import repeatable
from qlab.reductions.tensors import (
    DATA,
    SCALE,
    ZERO_POINT,
    held,
    kind,
    moving,
    of_kind,
    rest,
    with_entries,
)
from qlab.rules import find_broken_rules
from qlab.signature import Difference

FACTORS = (0.5, 2.0, 0.1, 10.0)  # by which scales are changed
MOST_CODES = 32  # entries that are changed one at a time


@dataclasses.dataclass(frozen=True)
class Variation:
    """A parameter with other values in its place, all else as it is.

    Attributes:
        tried: the values, in words. holding: those with which the same difference is seen.
    """

    tensor: str
    kind: str
    tried: tuple[str, ...]
    holding: tuple[str, ...]

    @property
    def matters(self) -> bool:
        """False where every value that was tried does it."""
        return self.holding != self.tried

    @property
    def sentence(self) -> str:
        """``any x_zero_point does it: 0, 1, 128, 254 and 255 were tried``."""
        if not self.matters:
            return f"any {self.tensor} does it: {_listed(self.tried)} were tried"
        if not self.holding:
            return f"{self.tensor} matters: none of {_listed(self.tried)} does it"
        others = tuple(value for value in self.tried if value not in self.holding)
        verb = "does" if len(self.holding) == 1 else "do"
        not_verb = "does" if len(others) == 1 else "do"
        return f"{self.tensor} matters: {_listed(self.holding)} {verb} it, {_listed(others)} {not_verb} not"


@dataclasses.dataclass(frozen=True)
class Agreement:
    """The nearest case that was found on which both sides agree, and what was changed for it, in words."""

    case: Case
    words: str


def variations(case: Case, holds: Callable[[Case], bool]) -> tuple[Variation, ...]:
    """Each scale and zero point with other values. ``holds``: the same difference is seen on a case."""
    found = []
    for name in of_kind(case, SCALE, ZERO_POINT):
        value = held(case, name)
        if not value.size:
            continue
        tried, holding = [], []
        for other in _others(value, kind(case, name)):
            words = show(other.reshape(-1)[0])
            tried.append(words)
            if holds(case.with_tensor(name, other)):
                holding.append(words)
        if tried:
            found.append(Variation(name, kind(case, name), tuple(tried), tuple(holding)))
    return tuple(found)


def _others(value: Array, of: str) -> Iterator[Array]:
    """The ends, the middle and what is beside them; a scale times some factors."""
    if of == SCALE and is_float(value.dtype):
        for factor in FACTORS:
            with np.errstate(all="ignore"):
                yield (value.astype(np.float64) * factor).astype(value.dtype)
    elif is_integer(value.dtype):
        low, high = bounds(value.dtype)
        middle = (low + high + 1) // 2
        if value.dtype.itemsize > 2:
            low, high = -1000, 1000  # a sum with more does not fit int32
        for code in sorted({low, low + 1, 0, middle, high - 1, high}):
            if (value.astype(np.int64) != code).any():
                yield np.full(value.shape, code, np.int64).astype(value.dtype)


def nearest_agreement(
    case: Case, compute: Callable[[Case], Difference], *, refused: bool = False
) -> Agreement | None:
    """The first of the nearest cases on which both sides agree; None where all of them differ.

    One code by one, to its zero point first, then away from it; a parameter by one; one code at its zero point; a
    scale halved, doubled …
    Where one refuses the case, the nearest form of each rule that it breaks.
    """
    for words, candidate in (*_allowed(case), *_near(case)) if refused else _near(case):
        found = compute(candidate)
        agrees = found.comparisons and not found.mismatches and repeatable(found)
        if agrees and found.signature is None:
            return Agreement(candidate, words)
    return None


def _allowed(case: Case) -> Iterator[tuple[str, Case]]:
    for found in find_broken_rules(case):
        if found.fixed is not None:
            yield f"with {found.nearest}", found.fixed


def _near(case: Case) -> Iterator[tuple[str, Case]]:
    data = [(name, int(p)) for name in of_kind(case, DATA) for p in moving(case, name)]
    data = data[:MOST_CODES]
    for outward in (False, True):
        for name, position in data:
            yield from _changed(case, name, position, _beside(case, name, position, outward))
    for name in of_kind(case, ZERO_POINT, SCALE):
        value = held(case, name)
        for position in range(min(value.size, MOST_CODES)):
            for by in (1, -1):
                yield from _changed(case, name, position, _next(value.reshape(-1)[position], by))
    for name, position in data:
        yield from _changed(case, name, position, rest(case, name))
    for name in of_kind(case, SCALE):
        for other in _others(held(case, name), SCALE):
            words = f"with {name} {show(other.reshape(-1)[0])}"
            yield words, case.with_tensor(name, other)


def _beside(case: Case, name: str, position: int, outward: bool) -> Array | None:
    value, still = held(case, name).reshape(-1)[position], rest(case, name)
    away = float(value) > float(still)
    return _next(value, 1 if away == outward else -1)


def _next(value: np.generic, by: int) -> Array | None:
    """The number beside it; None at the end of its type."""
    if is_float(value.dtype):
        to = np.asarray(np.inf if by > 0 else -np.inf, np.float32)
        beside = np.nextafter(np.asarray(value).astype(np.float32), to)
        return np.asarray(beside).astype(value.dtype)
    low, high = bounds(value.dtype)
    code = int(value) + by
    return np.asarray(code).astype(value.dtype) if low <= code <= high else None


def _changed(case: Case, name: str, position: int, to: Array | None) -> Iterator[tuple[str, Case]]:
    if to is None:
        return
    value = held(case, name)
    index = ",".join(str(i) for i in np.unravel_index(position, value.shape))
    place = f"{name}[{index}]" if value.ndim else name
    words = f"with {place} = {show(to[()])} instead of {show(value.reshape(-1)[position])}"
    yield words, with_entries(case, name, np.asarray([position]), to)


def _listed(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else f"{', '.join(values[:-1])} and {values[-1]}"
