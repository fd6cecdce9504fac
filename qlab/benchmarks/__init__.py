"""Benchmarks: how fast the parts are that were promised to be, one measurement a file, discovered.

Each runs in a fresh process, both sides warmed up, and gives the median of several with the least and the most.
"""

import dataclasses
import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterable

from qlab.registry import discover


@dataclasses.dataclass(frozen=True)
class Line:
    """One figure.

    Attributes:
        what: in words. value: in ``unit`` (ms, s, MB, ns …); None where it was not measured, and ``note`` says why.
        least, most: of the repetitions; None where there is one.
        goal: what was promised, in words; "" where nothing was. met: whether it was; None where that is not judged.
        note: what else has to be known.
    """

    what: str
    value: float | None
    unit: str
    least: float | None = None
    most: float | None = None
    goal: str = ""
    met: bool | None = None
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """One measurement.

    Attributes:
        name: for the command line. words: what is measured. run: quick or not → its lines; a quick one takes seconds
            and is no measurement: it shows that all of it still runs.
    """

    name: str
    words: str
    run: Callable[[bool], list[Line]]


@functools.cache
def benchmarks() -> dict[str, Benchmark]:
    """Name → benchmark."""
    return {found.name: found for found in discover(sys.modules[__name__], Benchmark)}


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of several repetitions."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of all repetitions."""
        return statistics.median(self.seconds)

    def line(self, what: str, *, goal: str = "", met: bool | None = None, note: str = "") -> Line:
        """The line in milliseconds."""
        return line_of(what, [1e3 * s for s in self.seconds], "ms", goal=goal, met=met, note=note)


def line_of(
    what: str,
    values: Iterable[float],
    unit: str,
    *,
    goal: str = "",
    met: bool | None = None,
    note: str = "",
) -> Line:
    """The median of several, with the least and the most."""
    several = list(values)
    middle = statistics.median(several)
    return Line(what, middle, unit, min(several), max(several), goal, met, note)


def timed(function: Callable[[], object], *, repeats: int) -> Timing:
    """Call a function once unmeasured, then as often as asked."""
    function()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return Timing(tuple(seconds))


def timed_in_turn(
    functions: dict[str, Callable[[], object]], *, repeats: int, rounds: int = 3
) -> dict[str, Timing]:
    """Several functions, each some times in a row, and all of that again: a slow moment of the machine meets all.

    The first call of each row is not measured: it finds the memory as another function left it.
    """
    found: dict[str, tuple[float, ...]] = dict.fromkeys(functions, ())
    for _ in range(rounds):
        for name, function in functions.items():
            found[name] += timed(function, repeats=repeats).seconds
    return {name: Timing(seconds) for name, seconds in found.items()}
