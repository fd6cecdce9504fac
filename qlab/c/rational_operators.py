"""Operators over rational numbers between nodes, in exact: which there are, and what each does with one element."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from qlab.c import (
    rational_functions,
    rational_moving,
    rational_pools,
    rational_products,
    rational_resize,
)
from qlab.c.emission import Emission, Operand, indices, line, loops, position
from qlab.c.moving import FILLS
from qlab.c.operators import OPERATORS, Writer, data_inputs
from qlab.c.rational import (
    aligned,
    between,
    is_real,
    made_by_nodes,
    number,
    weighted,
    written,
)
from qlab.c.wholes import Rational, fractions, together
from qlab.errors import ExportError

MICROSOFT = "com.microsoft"
Made = tuple[list[Operand], list[str], str, Rational]
"""Operands of a function on single elements, its lines, the name of the result, and what it stands for."""


def has_wholes(e: Emission) -> bool:
    """True where the node reads or makes rational numbers.

    Raises:
        ExportError: an operator that is not written over them, or one with a parameter that a node computes.
    """
    if not e.file.whole:
        return False
    node, made = e.node, made_by_nodes(e.graph)
    numbers = {*made, *e.file.given}
    read = [n for n in node.inputs if n in numbers and is_real(e.trace.tensors[n])]
    wanted = [n for n in node.outputs if n and is_real(e.trace.tensors[n])]
    if not read and not wanted:
        return False
    key = (node.domain, node.op_type)
    if key not in WRITERS:
        known = ", ".join(sorted({name for _, name in WRITERS}))
        raise ExportError(
            f"{node.qualified_name} of rational numbers is not written in C for exact; {known} are: take float64"
        )
    count = len(node.inputs)
    data = {*data_inputs(node.op_type, count), FILLS.get(node.op_type)}
    for role, name in zip(e.operator.names(count), node.inputs, strict=False):
        if role not in data and name in made:
            raise ExportError(
                f"{node.qualified_name}'s {role} is computed by a node; exact C needs it as a constant"
            )
    return True


def _add(e: Emission) -> Made:
    a, b = e.data("A"), e.data("B")
    terms = [(name, Fraction(1), number(e, name)) for name in "AB"]
    lines, made = weighted(e, "sum", terms)
    return [a, b], lines, "sum", made


def _multiply(e: Emission) -> Made:
    operands = [e.data("A"), e.data("B")]
    a, b = number(e, "A"), number(e, "B")
    lines = [
        "whole product = {{0}};",
        f"{e.file.use('add_multiple')}(product.limb, A.limb, B.limb);",
    ]
    return operands, lines, "product", Rational(a.denominator * b.denominator, a.bound * b.bound)


def _relu(e: Emission) -> Made:
    lines = ["const whole nothing = {{0}};"]
    positive = f"{e.file.use('sign')}(X.limb) > 0 ? X : nothing"
    lines.append(line("whole", "above", positive, "max(0, X)"))
    return [e.data("X")], lines, "above", number(e, "X")


def _clip(e: Emission) -> Made:
    x, given = e.data("input"), number(e, "input")
    reach = Fraction(given.bound, given.denominator)
    low, high = _limit(e, "min"), _limit(e, "max")
    limits = {} if low <= -reach else {"min": low}
    if high < max(reach, low):  # else no number is beyond it
        limits["max"] = high
    lines, value, made = between(e, "input", given, limits)
    return [x], lines, value, made


def _limit(e: Emission, name: str) -> Fraction:
    if e.tensor(name):
        stored = e.trace.tensors[e.tensor(name)]
    elif name in e.node.attributes:
        stored = np.asarray(e.node.attributes[name], np.float32)
    elif e.dtype(e.tensor("input")) == "float32":
        largest = np.finfo(np.float32).max
        stored = np.asarray(largest if name == "max" else -largest)
    else:
        raise ExportError(f"Clip without {name} is written in C for float32 only")
    return fractions(name, stored)[0]


def _leaky_relu(e: Emission) -> Made:
    x, given = e.data("X"), number(e, "X")
    alpha = np.asarray(e.primitive("evaluate")["function"].parameters["alpha"], np.float32)
    (slope,) = fractions("alpha", alpha)
    largest = max(slope.denominator, abs(slope.numerator))
    made = Rational(given.denominator * slope.denominator, given.bound * largest)
    e.file.need(made)
    lines = [
        f"whole value = {{{{0}}}}; /* X where X >= 0, else {float(slope):g} * X, {made.said} */",
        f"if ({e.file.use('sign')}(X.limb) >= 0) {{",
        f"    {aligned(e, 'value', 'X', slope.denominator, 'one')}",
        "} else {",
        f"    {aligned(e, 'value', 'X', slope.numerator, 'alpha')}",
        "}",
    ]
    return [x], lines, "value", made


def _where(e: Emission) -> Made:
    operands = [e.data(name) for name in ("condition", "X", "Y")]
    made, factors = together([number(e, name) for name in "XY"])
    e.file.need(made)
    if set(factors) == {1}:
        return operands, [line("whole", "chosen", "condition ? X : Y")], "chosen", made
    lines = [
        f"whole chosen = {{{{0}}}}; /* X where condition, else Y, {made.said} */",
        "if (condition) {",
        f"    {aligned(e, 'chosen', 'X', factors[0], 'X_factor')}",
        "} else {",
        f"    {aligned(e, 'chosen', 'Y', factors[1], 'Y_factor')}",
        "}",
    ]
    return operands, lines, "chosen", made


def elementwise(
    name: str, write: Callable[[Emission], Made], output: str = ""
) -> Callable[[Emission], list[str]]:
    """An operator on single rational numbers, with broadcasting. ``output``: the schema's name of it."""

    def writer(e: Emission) -> list[str]:
        operands, lines, value, made = write(e)
        result = written(e, value, made)
        out, shape = e.output(name=output), e.shape()
        function = e.function(name, out.kind, operands, [*lines, f"return {result};"])
        variables = indices(shape)
        place = position(shape, shape, variables)
        return loops(
            shape, variables, [f"{out.array}[{place}] = {function.call(shape, variables)};"]
        )

    return writer


WRITERS: dict[tuple[str, str], Writer] = {
    **{
        key: OPERATORS[key]
        for domain in ("", MICROSOFT)
        for key in ((domain, "QuantizeLinear"), (domain, "DequantizeLinear"))
    },
    **{("", name): OPERATORS["", name] for name in ("MatMul", "Gemm", "Conv")},
    **{(MICROSOFT, name): OPERATORS[MICROSOFT, name] for name in ("FusedGemm", "FusedConv")},
    ("", "Add"): elementwise("add", _add),
    ("", "Mul"): elementwise("multiply", _multiply),
    ("", "Relu"): elementwise("relu", _relu),
    ("", "Clip"): elementwise("clip", _clip),
    ("", "LeakyRelu"): elementwise("leaky_relu", _leaky_relu),
    ("", "Where"): elementwise("select", _where, "output"),
    **rational_moving.WRITERS,
    **rational_pools.WRITERS,
    **rational_products.WRITERS,
    **rational_resize.WRITERS,
    **rational_functions.WRITERS,
}
"""The loops of products and of QuantizeLinear and DequantizeLinear are the usual ones; the scheme's emitters differ."""
