"""Resize of rational numbers, in exact: the nearest entry, or weights that are whole numbers over one denominator."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from qlab.c.emission import Emission, indices, loops, position
from qlab.c.rational import aligned, constant, number, written
from qlab.c.rational_moving import nearest
from qlab.c.resize import beyond, corners, require_short, whole_weights
from qlab.c.wholes import Rational, fractions, together


def resize(e: Emission) -> list[str]:
    """The body of a Resize: nearest, or linear."""
    p = e.primitive("resize")
    shape = e.shape()
    places = {a: s.value.reshape(-1) for a in range(len(shape)) if (s := p.find(f"position{a}"))}
    if p["how"].mode == "nearest" or not places:
        return nearest(e)
    around, denominator = whole_weights(p["how"], places)
    require_short(denominator, denominator)
    variables = indices(shape)
    lines, found = corners(e, around, variables, "int64_t")
    given = number(e, "X")
    made = Rational(given.denominator * denominator, given.bound * denominator)
    lines.append(f"whole total = {{{{0}}}}; /* sum of weight * X, {made.said} */")
    add_product = e.file.use("add_product")
    lines += [f"{add_product}(total.limb, {entry}.limb, {weight});" for weight, entry in found]
    value, outside = "total", beyond(e, p["how"], places, variables)
    if outside:
        fill = np.asarray(e.node.attributes.get("extrapolation_value", 0.0), np.float32)
        (fixed,) = fractions("extrapolation_value", fill)
        more, made = _or_fixed(e, outside, made, fixed)
        lines, value = [*lines, *more], "value"
    result = written(e, value, made)
    place = f"{e.output().array}[{position(shape, shape, variables)}]"
    return loops(shape, variables, [*lines, f"{place} = {result};"])


def _or_fixed(
    e: Emission, condition: str, total: Rational, fixed: Fraction
) -> tuple[list[str], Rational]:
    """``value``: the extrapolation value under a condition, else the total."""
    made, (factor, _) = together([total, Rational(fixed.denominator, abs(fixed.numerator))])
    e.file.need(made)
    added = constant(e, "extrapolation_value", int(fixed * made.denominator))
    lines = [
        f"whole value = {{{{0}}}}; /* {made.said} */",
        f"if ({condition}) {{",
        f"    value = {added};",
        "} else {",
        f"    {aligned(e, 'value', 'total', factor, 'total_factor')}",
        "}",
    ]
    return lines, made


WRITERS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {("", "Resize"): resize}
