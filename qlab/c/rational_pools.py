"""Pools of rational numbers, in exact: the largest of a window, or its mean over the least common multiple of the counts."""

import math
from collections.abc import Callable

from qlab.c.emission import Emission, line
from qlab.c.pools import stored, windows
from qlab.c.rational import constant, number, written
from qlab.c.wholes import Rational
from qlab.errors import ExportError

_LARGEST_MULTIPLE = 2**62  # that an integer holds


def max_pool(e: Emission) -> list[str]:
    """The largest of each window. Raises ExportError where one has no element."""
    p = e.primitive("max_pool")
    if not p["pool"].inside.any(-1).all():
        raise ExportError(
            f"a window of {e.node.qualified_name} has no element: its largest is -infinity, which no rational number "
            "is; take float64"
        )
    w, given = windows(e, p), number(e, e.operator.inputs[0])
    lowest = constant(e, "lowest", -given.bound)
    less = f"{e.file.use('is_less')}(maximum.limb, x_k.limb)"
    tap = [line("whole", "x_k", w.element), f"maximum = {less} ? x_k : maximum;"]
    lines = [
        f"whole maximum = {lowest}; /* nothing is lower */",
        *w.loop(w.axes, w.where_inside(tap)),
    ]
    return stored(e, w, lines, written(e, "maximum", given))


def average_pool(e: Emission) -> list[str]:
    """Σ X / count: where counts differ, each sum is multiplied by what its count lacks to their common multiple."""
    p = e.primitive("average_pool")
    w, given = windows(e, p), number(e, "X")
    counts = sorted({int(n) for n in p.step("count").value.reshape(-1)})
    if counts[0] == 0:
        raise ExportError(
            f"a window of {e.node.qualified_name} has no element: 0 / 0 is no rational number; take float64"
        )
    multiple = math.lcm(*counts)
    if multiple >= _LARGEST_MULTIPLE:
        raise ExportError(
            f"the windows of {e.node.qualified_name} have counts whose least common multiple is {multiple}: "
            "more than 62 bits; take float64"
        )
    taps = math.prod(w.pool.geometry.kernel)
    made = Rational(given.denominator * multiple, given.bound * taps * (multiple // counts[0]))
    tap = f"{e.file.use('add_product')}(sum.limb, {w.element}.limb, 1);"
    lines = [
        f"whole sum = {{{{0}}}}; /* sum of X, {given.said} */",
        *(w.start() if w.count is None else []),
        *w.loop(w.axes, w.where_inside([tap])),
    ]
    value = "sum"
    if w.count is None:
        lines += [
            f"whole mean = {{{{0}}}}; /* sum / count, {made.said} */",
            f"add_product(mean.limb, sum.limb, INT64_C({multiple}) / count);",
        ]
        value = "mean"
    else:
        lines[0] = f"whole sum = {{{{0}}}}; /* sum of X; the mean of {w.count} is {made.said} */"
    return stored(e, w, lines, written(e, value, made))


WRITERS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {
    ("", "MaxPool"): max_pool,
    ("", "AveragePool"): average_pool,
    ("", "GlobalAveragePool"): average_pool,
}
