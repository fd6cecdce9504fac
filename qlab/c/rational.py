"""exact as C where reals are between nodes: each is a whole number over its tensor's denominator, never rounded.

Sums and products of rational numbers with denominators that are known are sums and products of whole numbers; only
QuantizeLinear, and an output of the graph that is real, round.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from qlab.c import exact, exact_reals
from qlab.c.accumulation import Accumulation, Factors, activation
from qlab.c.emission import Emission, Function, Operand, line, position
from qlab.c.recorder import Primitive
from qlab.c.roundings import is_before, round_sum
from qlab.c.text import ctype
from qlab.c.wholes import Rational, common, fractions
from qlab.case import Case
from qlab.errors import ExportError
from qlab.graph import Graph
from qlab.qtypes import Array, bounds, dtype_name, is_float, is_float8
from qlab.trace import Index, Trace

NOTHING = "static const whole nothing = {{0}};"
_OF_GIVEN = ("Add", "Mul", "MatMul", "Gemm", "Conv", "FusedGemm", "FusedConv", "MatMulNBits")
_LARGEST_FACTOR = 2**62  # that is written as an integer


def are_between(graph: Graph, trace: Trace) -> bool:
    """True where a node of the graph reads a real that another made."""
    reals = (n for n in made_by_nodes(graph) if n and is_real(trace.tensors[n]))
    return any(graph.consumers(n) for n in reals)


def given_reals(case: Case, trace: Trace) -> frozenset[str]:
    """The graph's float inputs that become rational numbers: those that a sum or product reads.

    Raises ExportError where the case has NaN or an infinity there, or another type than float32.
    """
    graph = case.graph
    reading = [n for n in graph.nodes if n.op_type in _OF_GIVEN]
    if are_between(graph, trace):
        reading = [n for n in graph.nodes if n.op_type != "QuantizeLinear"]
    read = {name for n in reading for name in n.inputs}
    found = frozenset(n for n in graph.inputs if n in read and is_real(trace.tensors[n]))
    if name := not_finite(case, found):
        raise ExportError(
            f"{name!r} has NaN or an infinity: in exact C only finite numbers are computed with"
        )
    for name in found:
        if (dtype := dtype_name(case.inputs[name].dtype)) != "float32":
            raise ExportError(f"{name!r} is {dtype}; of reals only float32 is written in C")
    return found


def not_finite(case: Case, names: Iterable[str]) -> str:
    """Of some inputs the first that has NaN or an infinity; "" where all are finite."""
    return next((n for n in sorted(names) if not np.isfinite(case.inputs[n]).all()), "")


def made_by_nodes(graph: Graph) -> list[str]:
    """The tensors that nodes make."""
    return [name for node in graph.nodes for name in node.outputs]


def is_real(value: Array) -> bool:
    """True for stored floats and for numbers of the exact system; float8 holds codes."""
    return value.dtype == object or (is_float(value.dtype) and not is_float8(value.dtype))


def number(e: Emission, name: str) -> Rational:
    """What the whole numbers of an input stand for, by the schema's name of it."""
    return e.file.rationals[e.tensor(name)]


def written(e: Emission, value: str, made: Rational, position: int = 0) -> str:
    """What is assigned to an element of an output: the whole number, or rounded once where the graph ends there."""
    tensor = e.node.outputs[position]
    e.file.need(made)
    e.file.rationals[tensor] = made
    if e.kind(tensor) == "whole":
        return value
    if e.kind(tensor) != "float":
        raise ExportError(
            f"{tensor!r} is a rational number rounded to {e.dtype(tensor)}; in exact C it is to float32"
        )
    denominator = exact.big(e, "denominator", [made.denominator], (), [])
    return f"{e.file.use('to_float')}({value}, {denominator})"


def constant(e: Emission, name: str, numerator: int) -> str:
    """The C expression of a rational number that is known; its denominator is its tensor's."""
    table = e.file.names.new(name)
    e.file.big.append((table, (numerator,)))
    e.file.whole_arrays.add(table)
    return f"{table}[0]"


def aligned(e: Emission, into: str, value: str, factor: int, name: str) -> str:
    """The line that adds ``factor`` times a whole number to another."""
    if abs(factor) < _LARGEST_FACTOR:
        multiple = str(factor) if abs(factor) < 2**31 else f"INT64_C({factor})"
        return f"{e.file.use('add_product')}({into}.limb, {value}.limb, {multiple});"
    e.file.need(Rational(1, abs(factor)))
    constant = exact.big(e, name, [factor], (), [])
    return f"{e.file.use('add_multiple')}({into}.limb, {value}.limb, {constant});"


def dequantize(e: Emission, p: Primitive) -> Function:
    """(q - zero_point) · scale."""
    if e.output().kind != "whole":
        return exact_reals.dequantize(e, p)
    q, x, operands = p["q"], e.data("x"), list[Operand]()
    numerators, scale = common(fractions(q.scale_name, q.scale))
    zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
    ends = [
        abs(end - int(z))
        for end in bounds(dtype_name(e.trace.tensors[e.tensor("x")].dtype))
        for z in q.zero_point.reshape(-1)
    ]
    made = Rational(scale.denominator, scale.bound * max(ends))
    factor = exact.big(e, q.scale_name, numerators, q.scale.shape, operands)
    lines = [
        f"whole real = {{{{0}}}}; /* {made.said} */",
        line("int64_t", "centered", f"(int64_t)x - {zero}", p.step("centered").formula),
        f"{e.file.use('add_product')}(real.limb, {factor}, centered); /* centered * {q.scale_name} */",
        f"return {written(e, 'real', made)};",
    ]
    return e.function("dequantize", e.output().kind, (x, *operands, *zeros), lines)


def quantize(e: Emission, p: Primitive) -> Function:
    """Saturate(round(x / scale) + zero_point) of a rational x."""
    if e.data("x").kind != "whole":
        return exact_reals.quantize(e, p)
    if is_float8(p["target"].dtype):
        raise ExportError(
            f"exact QuantizeLinear of a rational number to {p['target'].dtype} is not written in C; take float64"
        )
    target, x, given = p["target"], e.data("x"), number(e, "x")
    divisors = [s * given.denominator for s in fractions(target.scale_name, target.scale)]
    if 0 in divisors:
        raise ExportError(f"{target.scale_name} is 0: exact C cannot divide by it")
    ratios = [1 / d for d in divisors]
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    operands = [x, *zeros]
    largest = max(abs(r.numerator) for r in ratios) * given.bound
    e.file.need(Rational(max(r.denominator for r in ratios) << exact.STEP_BITS, 4 * largest))
    shape = target.scale.shape
    multiplier = exact.big(e, "multiplier", [r.numerator for r in ratios], shape, operands)
    denominator = exact.big(e, "denominator", [r.denominator for r in ratios], shape, operands)
    low, high = bounds(target.dtype)
    inside = is_before(e, False)
    before, after = (zero, "0") if inside else ("0", zero)
    code = f"{round_sum(e)}(sum, {denominator}, {before}, {after}, {low}, {high})"
    words = "inside the rounded sum" if inside else "added after rounding"
    lines = [
        f"uint32_t sum[LIMBS] = {{0}}; /* x / {target.scale_name} = sum / denominator, sum = multiplier * x */",
        f"{e.file.use('add_multiple')}(sum, {multiplier}, x.limb);",
        f"return ({ctype(target.dtype)}){code}; /* the zero point is {words} */",
    ]
    return e.function("quantize", ctype(target.dtype), operands, lines)


def contract(e: Emission, p: Primitive, factors: Factors) -> Accumulation:
    """Σ a · b, then alpha · sum + beta · C."""
    c = p["contraction"]
    if not e.file.whole:
        raise ExportError(
            f"{e.node.qualified_name} of constants only is not written in C for exact; take float64"
        )
    a, b = (number(e, name) for name in c.names)
    total = Rational(a.denominator * b.denominator, factors.taps * a.bound * b.bound)
    left, right = factors.names
    formula = f"{p.step('accumulator').formula}, {total.said}"
    before = [line("whole", "accumulator", "{{0}}", formula).removeprefix("const ")]
    tap = [f"{e.file.use('add_multiple')}(accumulator.limb, {left}.limb, {right}.limb);"]
    if "nothing" in factors.zero_points and NOTHING not in e.file.definitions:
        e.file.definitions.append(NOTHING)
    affine, after, result = p["affine"], list[str](), "accumulator"
    if affine is not None and (affine.alpha != 1 or factors.addend):
        (alpha,), (beta,) = fractions("alpha", affine.alpha), fractions("beta", affine.beta)
        terms = [("accumulator", alpha, total)]
        if factors.addend:
            terms.append((factors.addend, beta, number(e, "C")))
        after, total = weighted(e, "affine", terms)
        result = "affine"
    e.file.need(total)
    e.file.rationals[e.node.outputs[0]] = total
    return Accumulation(before, tap, after, result)


def finished(
    e: Emission, shape: Index, variables: Sequence[str], value: str, bias: str
) -> list[str]:
    """From the sum of a product to the element: Conv's bias, a fused activation, and the graph's output rounded."""
    lines, made = list[str](), e.file.rationals[e.node.outputs[0]]
    if bias:
        terms = [(value, Fraction(1), made), (bias, Fraction(1), number(e, "B"))]
        lines, made = weighted(e, "with_bias", terms)
        value = "with_bias"
    if ends := activation(e):
        limits = {k: fractions(k, v)[0] for k, v in ends.items()}
        more, value, made = between(e, value, made, limits)
        lines += more
    place = position(shape, shape, variables)
    return [*lines, f"{e.output().array}[{place}] = {written(e, value, made)};"]


def between(
    e: Emission, name: str, given: Rational, limits: Mapping[str, Fraction]
) -> tuple[list[str], str, Rational]:
    """The lines that limit a whole number to ``min`` and then to ``max``, the name of the result, what it stands for."""
    denominator = math.lcm(given.denominator, *(v.denominator for v in limits.values()))
    weight = denominator // given.denominator
    numerators = {limit: int(v * denominator) for limit, v in limits.items()}
    made = Rational(denominator, max(given.bound * weight, *map(abs, numerators.values()), 1))
    e.file.need(made)
    lines, value = list[str](), name
    if weight != 1:
        lines = [f"whole value = {{{{0}}}}; /* {name}, {made.said} */"]
        lines.append(aligned(e, "value", name, weight, "weight"))
        value = "value"
    for limit, numerator in numerators.items():
        end = constant(e, f"limit_{limit}", numerator)
        chosen, said, pair = "above", "max(..., min)", f"{value}.limb, {end}.limb"
        if limit == "max":
            chosen, said, pair = "between", "min(..., max)", f"{end}.limb, {value}.limb"
        test = f"{e.file.use('is_less')}({pair}) ? {end} : {value}"
        lines.append(line("whole", chosen, test, said))
        value = chosen
    return lines, value, made


def weighted(
    e: Emission, name: str, terms: Sequence[tuple[str, Fraction, Rational]]
) -> tuple[list[str], Rational]:
    """The lines that make ``name``, the sum of weight · value over one denominator."""
    denominator = math.lcm(*(w.denominator * r.denominator for _, w, r in terms))
    factors = [int(w * denominator / r.denominator) for _, w, r in terms]
    bound = sum(abs(f) * r.bound for f, (_, _, r) in zip(factors, terms, strict=True))
    said = " + ".join(v if w == 1 else f"{float(w):g} * {v}" for v, w, _ in terms)
    lines = [f"whole {name} = {{{{0}}}}; /* {said}, {Rational(denominator, bound).said} */"]
    for (value, _, _), factor in zip(terms, factors, strict=True):
        lines.append(aligned(e, name, value, factor, f"{name}_factor"))
    made = Rational(denominator, bound)
    e.file.need(made)
    return lines, made
