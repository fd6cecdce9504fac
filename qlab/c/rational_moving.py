"""Operators that move rational numbers, in exact: all numbers that meet in one tensor get one denominator."""

import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from qlab.c.emission import Emission, Operand
from qlab.c.indexing import assignments, flat
from qlab.c.moving import FILL, FILLS, MOVED, read, sources
from qlab.c.rational import aligned, constant, number, written
from qlab.c.wholes import Rational, fractions, together
from qlab.qtypes import Array


def moving(e: Emission) -> list[str]:
    """An operator of `MOVED`: any number of inputs and outputs, and of Pad a fill value."""
    fill = FILLS.get(e.node.op_type, "")
    names = MOVED[e.node.op_type] or e.operator.names(len(e.node.inputs))
    made = sources(e, names, fill)
    filled = fill and any((m == FILL).any() for m in made.values())
    if filled and e.tensor(fill) and e.tensor(fill) not in e.graph.constants:
        return _assigned(e, made, names, fill)
    return _assigned(e, made, names, _fill_value(e, fill) if filled else None)


def nearest(e: Emission) -> list[str]:
    """Resize to the nearest entry; what lies outside is the extrapolation value."""
    attributes = {k: v for k, v in e.node.attributes.items() if k != "extrapolation_value"}
    plain = dataclasses.replace(e, node=dataclasses.replace(e.node, attributes=attributes))
    made = sources(plain, ("X",))
    value = np.asarray(e.node.attributes.get("extrapolation_value", 0.0), np.float32)
    filled = any((m == FILL).any() for m in made.values())
    return _assigned(
        e, made, ("X",), fractions("extrapolation_value", value)[0] if filled else None
    )


def _fill_value(e: Emission, fill: str) -> Fraction:
    """What Pad adds, where it is known."""
    tensor, opset = e.tensor(fill), e.graph.opset.get("", 1)
    if opset < 11:
        return fractions("value", np.asarray(e.node.attributes.get("value", 0.0), np.float32))[0]
    return fractions(fill, e.graph.constants[tensor])[0] if tensor else Fraction(0)


def _assigned(
    e: Emission, made: dict[str, Array], names: Sequence[str], fill: Fraction | str | None
) -> list[str]:
    """Every element of every output from where it comes from.

    Args:
        made: of each output the numbers of the elements, as `sources` has them.
        fill: a number, or the schema's name of the input that is one.
    """
    given = {name: e.data(name) for name in names}
    if isinstance(fill, str):
        given[fill] = e.data(fill)
    numbers = [number(e, name) for name in given]
    if isinstance(fill, Fraction):
        numbers.append(Rational(fill.denominator, abs(fill.numerator)))
    common, factors = together(numbers)
    known = dict(zip(given, factors, strict=False))
    several = sum(map(bool, e.node.outputs)) > 1
    lines = []
    for place, tensor in enumerate(e.node.outputs):
        if not tensor or not made[tensor].size:
            continue
        m = made[tensor]
        out = e.output(place, f"y{place}" if several else "")
        everywhere = flat(m.shape)
        if isinstance(fill, str):
            reads = [(given[fill], np.zeros_like(everywhere))]
            value = _converted(e, place, out, known[fill], common)
            lines += assignments(e.file, out, everywhere, reads, value)
        elif fill is not None and (m == FILL).any():
            added = constant(e, "added", int(fill * common.denominator))
            text = _converted(e, place, out, 1, common)(added)
            lines += assignments(e.file, out, everywhere, [], lambda text=text: text)
        for name, to, source in read(e, m, names):
            value = _converted(e, place, out, known[name], common)
            lines += assignments(e.file, out, to, [(given[name], source)], value)
    return lines


def _converted(
    e: Emission, place: int, out: Operand, factor: int, made: Rational
) -> Callable[[str], str]:
    """From a whole number of an input to the element of an output: over its denominator, or rounded to a float."""
    if factor == 1 and out.kind == "whole":
        return lambda x: written(e, x, made, place)
    lines, value = list[str](), "x"
    if factor != 1:
        lines = [f"whole value = {{{{0}}}}; /* x, {made.said} */"]
        lines.append(aligned(e, "value", "x", factor, "factor"))
        value = "value"
    lines.append(f"return {written(e, value, made, place)};")
    operand = Operand("whole", "x", "", ())
    function = e.function("moved", out.kind, [operand], lines)
    return lambda x: f"{function.name}({x})"


WRITERS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {
    ("", name): moving for name in MOVED
}
