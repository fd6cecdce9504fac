"""A number line around the rounding point: where each scheme's value lies against the tie.

Drawn with percentages instead of a scaled picture, so that its words keep their size at every width.
"""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from qlab.notation import integer, short, show
from qlab.report import SchemeRun
from qlab.trace import Index
from qlab.views.markup import sign, text
from qlab.views.palette import SCHEMES

ZOOM_BELOW = Fraction(1, 50)  # of the line's width: values closer than this get a second line
WIDEST = 24  # codes on one line; a wider spread gets no ticks at every code


@dataclasses.dataclass(frozen=True)
class Point:
    """One scheme's value before rounding, and the code that it becomes."""

    scheme: str
    label: str
    value: Fraction
    shown: str
    code: str


@dataclasses.dataclass(frozen=True)
class Tick:
    """A mark on the axis: ``code``, ``tie`` or ``float32``."""

    at: Fraction
    label: str
    kind: str


@dataclasses.dataclass(frozen=True)
class Axis:
    """A stretch of the number line with ticks."""

    low: Fraction
    high: Fraction
    ticks: tuple[Tick, ...]
    caption: str

    def percent(self, at: Fraction) -> float:
        """Where a value lies, 0 to 100."""
        return float((at - self.low) / (self.high - self.low) * 100)


def points(runs: Sequence[SchemeRun], tensor: str, index: Index) -> tuple[Point, ...]:
    """The value that each scheme rounds to an integer code; schemes without one, NaN and infinity are left out."""
    found = []
    for run in runs:
        steps = run.trace.element(tensor, index) if run.trace else ()
        deciding = [step for step in steps if step.decides and not step.format]
        if not deciding or not steps:
            continue
        value = as_fraction(deciding[-1].value)
        if value is None:
            continue
        label = f"{run.scheme} ({run.cpu})" if run.cpu else run.scheme
        found.append(
            Point(run.scheme, label, value, show(deciding[-1].value), show(steps[-1].value))
        )
    return tuple(found)


def as_fraction(value: object) -> Fraction | None:
    """The number exactly; None for NaN and infinities."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (int, np.integer)):
        return Fraction(int(value))
    number = float(value)  # type: ignore[arg-type]
    return Fraction(number) if math.isfinite(number) else None


def axes(shown: Sequence[Point]) -> tuple[Axis, ...]:
    """One axis that shows codes and ties, and where values lie too close to be told apart, one that zooms in."""
    values = [point.value for point in shown]
    tie = Fraction(math.floor(values[0])) + Fraction(1, 2)
    low, high = min(*values, tie), max(*values, tie)
    margin = max(Fraction(3, 4), (high - low) / 8)
    wide = Axis(
        low - margin, high + margin, _code_ticks(low - margin, high + margin), "codes and ties"
    )
    distances = sorted(
        {abs(value - tie) for value in values} | {abs(a - b) for a in values for b in values}
    )
    smallest = next((d for d in distances if d > 0), None)
    apart = max(values) - min(values)
    # Values more than a code apart differ for another reason than the tie: a closer look at it tells nothing.
    if smallest is None or apart > 1 or smallest > (wide.high - wide.low) * ZOOM_BELOW:
        return (wide,)
    near = [value for value in values if abs(value - tie) <= smallest * 40]
    if not near:
        return (wide,)
    center = tie
    ulp = Fraction(float(np.spacing(np.float32(abs(float(tie))))))
    half = max(*(abs(value - center) for value in near), ulp) * Fraction(17, 10)
    return (
        wide,
        Axis(
            center - half,
            center + half,
            _float32_ticks(center, half, ulp),
            _zoom_caption(half, ulp),
        ),
    )


def number_line(shown: Sequence[Point]) -> str:
    """The axes as HTML, the closest look first: it shows why; empty where there is nothing to show."""
    if not shown:
        return ""
    return f'<div class="q-lines">{"".join(_axis(axis, shown) for axis in reversed(axes(shown)))}</div>'


def _code_ticks(low: Fraction, high: Fraction) -> tuple[Tick, ...]:
    first, last = math.ceil(low), math.floor(high)
    if last - first > WIDEST:
        stride = 10 ** max(1, len(str((last - first) // 6)) - 1)
        stride *= max(1, math.ceil((last - first) / stride / 8))
        start = first - first % stride + stride
        return tuple(
            Tick(Fraction(code), integer(code), "code") for code in range(start, last + 1, stride)
        )
    every = 1 if last - first <= 8 else 4
    codes = [
        Tick(Fraction(code), integer(code) if code % every == 0 else "", "code")
        for code in range(first, last + 1)
    ]
    few = last - first <= 4
    ties = [
        Tick(at, f"{short(at)} tie" if few else "", "tie")
        for at in (Fraction(2 * code + 1, 2) for code in range(first - 1, last + 1))
        if low < at < high
    ]
    return tuple(sorted(codes + ties, key=lambda tick: tick.at))


def _float32_ticks(center: Fraction, half: Fraction, ulp: Fraction) -> tuple[Tick, ...]:
    ticks = [Tick(center, f"{short(center)} tie", "tie")]
    count = int(half / ulp)
    if 0 < count <= 12:
        ticks += [Tick(center + k * ulp, "", "float32") for k in range(-count, count + 1) if k]
    return tuple(ticks)


def _zoom_caption(half: Fraction, ulp: Fraction) -> str:
    words = f"zoom: ±{short(float(f'{float(half):.2g}'))} around the tie"
    if 0 < int(half / ulp) <= 12:
        words += f"; small ticks are the float32 numbers, {short(float(f'{float(ulp):.2g}'))} apart"
    return words


def _axis(axis: Axis, shown: Sequence[Point]) -> str:
    ticks = "".join(
        f'<span class="tick {tick.kind}" style="left:{axis.percent(tick.at):.3f}%"></span>'
        for tick in axis.ticks
    )
    labels = "".join(
        f'<span class="at {tick.kind}" style="left:{axis.percent(tick.at):.3f}%">{text(tick.label)}</span>'
        for tick in axis.ticks
        if tick.label
    )
    rows = "".join(_point(axis, point, ticks) for point in shown)
    return (
        f'<div class="q-line"><div class="caption">{text(axis.caption)}</div>{rows}'
        f'<div class="row"><span class="who"></span><div class="scale">{ticks}{labels}</div></div></div>'
    )


def _point(axis: Axis, point: Point, ticks: str) -> str:
    percent = axis.percent(point.value)
    inside = 0 <= percent <= 100
    place = min(max(percent, 0), 100)
    marker = SCHEMES[point.scheme].sign if inside else ("→" if percent > 100 else "←")
    who = f"{sign(SCHEMES[point.scheme].sign, 'c-' + point.scheme)} {text(point.label)}"
    return (
        f'<div class="row"><span class="who">{who} <b>{text(point.shown)}</b> → {text(point.code)}</span>'
        f'<div class="track">{ticks}<span class="dot c-{point.scheme}" style="left:{place:.3f}%" aria-hidden="true">'
        f"{marker}</span></div></div>"
    )
