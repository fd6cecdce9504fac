"""Products that end as float32, in exact: MatMulIntegerToFloat, and MatMulNBits of a finite A."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from qlab.arithmetic import EXACT, mul
from qlab.c import exact, exact_reals, rational
from qlab.c.accumulation import Factors
from qlab.c.blocked_weights import contraction, matmul_nbits
from qlab.c.emission import Emission, Function, Operand, indices, line, loops, position
from qlab.c.products import matrix_product
from qlab.c.rational import number, weighted, written
from qlab.c.recorder import Primitive
from qlab.c.specification import ACCUMULATOR
from qlab.c.weights import Weights
from qlab.c.wholes import Rational, common, fractions
from qlab.errors import ExportError


def rescale_with_bias(e: Emission, p: Primitive) -> Function:
    """accumulator · scales + bias, rounded once where the graph ends. Raises ExportError where a node computes a scale."""
    if not e.file.whole:
        return exact_reals.rescale_with_bias(e, p)
    product = EXACT.real(np.asarray(1))
    for name, scale in p["scales"]:
        if name not in e.operator.inputs:
            raise ExportError(
                f"{e.node.qualified_name} computes {name}, which has no denominator that is known: take float64"
            )
        fractions(name, scale)
        product = mul(product, EXACT.real(scale))
    numerators, scale = common(tuple(product.reshape(-1)))
    operands: list[Operand] = [ACCUMULATOR]
    multiplier = exact.big(e, "multiplier", numerators, product.shape, operands)
    made = Rational(scale.denominator, scale.bound << exact.VALUE_BITS)
    lines = [
        f"whole scaled = {{{{0}}}}; /* accumulator * multiplier, {made.said} */",
        f"{e.file.use('add_product')}(scaled.limb, {multiplier}, accumulator);",
    ]
    value = "scaled"
    if e.tensor("bias"):
        operands.append(e.data("bias"))
        one = Fraction(1)
        more, made = weighted(
            e, "biased", [("scaled", one, made), ("bias", one, number(e, "bias"))]
        )
        lines, value = [*lines, *more], "biased"
    result = written(e, value, made)
    kind = e.kind(e.node.outputs[0])
    return e.function("rescale", kind, operands, [*lines, f"return {result};"])


def multiply_blocks(e: Emission, p: Primitive) -> list[str]:
    """A · ((B - zero_points) · scales) + bias."""
    shape = e.shape()
    variables, a = indices(shape), e.data("A")
    w = Weights(e, p["weights"])
    at = position(a.shape, a.shape, [*variables[:-1], "k"])
    reading = [
        line("whole", "a_k", f"{a.array}[{at}]"),
        line("whole", "b_k", w.real(variables[-1], "k"), p.step("B_real").formula),
    ]
    scales = number(e, "scales")
    e.file.rationals[e.tensor("B")] = Rational(scales.denominator, scales.bound << w.bits)
    sums = rational.contract(e, contraction(p, None), Factors(("a_k", "b_k"), ("0", "0"), w.k))
    body = [*sums.before, *loops((w.k,), ("k",), [*reading, *sums.tap], 0), *sums.after]
    value, made = sums.result, e.file.rationals[e.node.outputs[0]]
    if e.tensor("bias"):
        bias = e.data("bias")
        body.append(line("whole", "bias_n", f"{bias.array}[{variables[-1]}]"))
        terms = [(value, Fraction(1), made), ("bias_n", Fraction(1), number(e, "bias"))]
        more, made = weighted(e, "biased", terms)
        body, value = [*body, *more], "biased"
    result = written(e, value, made)
    place = f"{e.output().array}[{position(shape, shape, variables)}]"
    return loops(shape, variables, [*body, f"{place} = {result};"])


WRITERS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {
    ("com.microsoft", "MatMulIntegerToFloat"): matrix_product,
    ("com.microsoft", "MatMulNBits"): matmul_nbits,
}
