"""A sweep as sentences, rows and CSV."""

import csv
import io
import itertools

from qlab.notation import integer, show, steps
from qlab.sweep import Point, Sweep

LISTED = 20  # points in a list


def headline(found: Sweep) -> str:
    """How many differ, in one sentence: "1 of 65,536 pairs differs, by 1 step"."""
    if found.failure or found.comparison is None:
        return found.failure or "there is no output to compare"
    c = found.comparison
    if c.size < 0:
        return c.why
    if not c.mismatches:
        sides = f"{found.actual.side.label} and {found.expected.side.label}"
        return f"All {c.size:,} {found.noun} agree: {sides}"
    one = c.mismatches == 1
    count = f"{c.mismatches:,} of {c.size:,} {found.noun} " + ("differs" if one else "differ")
    by = (
        f"by {steps(c.max_difference, c.unit)}"
        if one
        else f"by up to {steps(c.max_difference, c.unit)}"
    )
    first = next(found.points())
    where = ("at " if one else "first at ") + place(found, first)
    direction = {"both": "above and below"}.get(c.direction, c.direction)
    return f"{count}, {by}, {where}: {found.actual.side.label} is {direction} {found.expected.side.label}"


def place(found: Sweep, point: Point) -> str:
    """``A = −8, B = −64``."""
    named = zip(found.axes, point.codes, strict=True)
    return ", ".join(f"{axis.name} = {integer(code)}" for axis, code in named)


def facts(found: Sweep) -> list[str]:
    """What else there is to say: the share, whether all was tried, and the ties."""
    c = found.comparison
    if c is None or c.size < 0:
        return []
    share = f"{100 * c.mismatches / c.size:.4g} % of the {found.noun}. " if c.mismatches else ""
    said = [f"{share}Every one of the {c.size:,} was computed by both: nothing is sampled."]
    if found.ties is not None:
        said.append(_ties(int(found.ties.sum()), sum(p.tie for p in found.points()), found.noun))
    return said


def _ties(count: int, differing: int, noun: str) -> str:
    if not count:
        return "None is a tie: exact arithmetic lies nowhere exactly between two codes."
    one = count == 1
    words = f"{count:,} {noun.removesuffix('s') if one else noun} " + (
        "is a tie" if one else "are ties"
    )
    return f"{words}, exactly between two codes in exact arithmetic; {differing:,} of them differ."


def columns(found: Sweep) -> list[str]:
    """The headings of `row`."""
    names = [axis.name for axis in found.axes]
    sides = [found.expected.side.label, found.actual.side.label]
    return [*names, *sides, "difference", "tie"]


def row(point: Point) -> list[str]:
    """One place: its codes, both results, the difference with its sign, whether it is a tie."""
    codes = [integer(code) for code in point.codes]
    sign = "▲ +" if point.difference > 0 else "▼ "
    difference = sign + integer(point.difference)
    tie = "tie" if point.tie else ""
    return [*codes, show(point.expected), show(point.actual), difference, tie]


def rows(found: Sweep, most: int = LISTED) -> list[list[str]]:
    """The first places that differ."""
    return [row(point) for point in itertools.islice(found.points(), most)]


def sweep_text(found: Sweep) -> str:
    """What the command line prints."""
    from qlab.views.terminal import table

    lines = [headline(found), *facts(found)]
    listed = rows(found)
    if listed:
        right = range(len(listed[0]) - 1)
        lines += ["", *table(columns(found), listed, right)]
        left = (found.comparison.mismatches if found.comparison else 0) - len(listed)
        if left > 0:
            lines.append(f"… and {left:,} more (--csv FILE writes all)")
    return "\n".join(lines)


def to_csv(found: Sweep) -> str:
    """Every place that differs: names of the inputs, expected, actual, difference, tie."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [*(axis.name for axis in found.axes), "expected", "actual", "difference", "tie"]
    )
    for p in found.points():
        writer.writerow([*p.codes, p.expected, p.actual, p.difference, int(p.tie)])
    return text.getvalue()
