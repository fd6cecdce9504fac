"""The specification in float32 and float64 as C: one function a primitive, one line a step."""

from collections.abc import Sequence

from qlab.c import formats
from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.recorder import Primitive
from qlab.c.roundings import code_lines
from qlab.c.text import ctype
from qlab.qtypes import Array, bounds, is_float8
from qlab.schemes import Target


def quantize(e: Emission, p: Primitive) -> Function:
    """Saturate(round(x / scale) + zero_point)."""
    real, target = e.file.real, p["target"]
    scale, scales = e.parameter(target.scale_name, target.scale, real)
    x, value = formats.read(e, "x")
    lines = [line(real, "scaled", f"({real}){value} {e.over(scale)}", p.step("scaled").formula)]
    operands = (x, *scales)
    if is_float8(target.dtype):
        return formats.float8(e, p, operands, lines)
    return to_codes(e, p, "quantize", operands, lines)


def dequantize(e: Emission, p: Primitive) -> Function:
    """(q - zero_point) · scale."""
    real, q = e.file.real, p["q"]
    scale, scales = e.parameter(q.scale_name, q.scale, real)
    x, value = formats.read(e, "x")
    if is_float8(q.codes.dtype):
        kind, result = formats.written(e, f"({real}){value} * {scale}")
        return e.function("dequantize", kind, (x, *scales), [f"return {result};"])
    zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
    kind, result = formats.written(e, f"({real})centered * {scale}")
    lines = [
        line("int64_t", "centered", f"(int64_t)x - {zero}", p.step("centered").formula),
        f"return {result}; /* centered * {q.scale_name} */",
    ]
    return e.function("dequantize", kind, (x, *scales, *zeros), lines)


def add(e: Emission, p: Primitive) -> Function:
    """(A_scale·(A - A_zero_point) + B_scale·(B - B_zero_point)) / C_scale + C_zero_point."""
    real, a, b, target = e.file.real, p["a"], p["b"], p["target"]
    operands: list[Operand] = [e.data("A"), e.data("B")]
    lines = []
    for q in (a, b):
        scale, scales = e.parameter(q.scale_name, q.scale, real)
        zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        operands += [*scales, *zeros]
        name = f"{q.name}_real"
        lines.append(
            line(real, name, f"{scale} * ({real})({q.name} - {zero})", p.step(name).formula)
        )
    scale, scales = e.parameter(target.scale_name, target.scale, real)
    operands += scales
    total = f"({a.name}_real + {b.name}_real) {e.over(scale)}"
    lines.append(line(real, "scaled", total, p.step("scaled").formula))
    return sum_to_codes(e, p, "add", operands, lines)


def multiply(e: Emission, p: Primitive) -> Function:
    """(A - A_zero_point)·(B - B_zero_point)·(A_scale·B_scale / C_scale) + C_zero_point."""
    real, a, b, target = e.file.real, p["a"], p["b"], p["target"]
    za, zeros_a = e.parameter(a.zero_point_name, a.zero_point, "int32_t")
    zb, zeros_b = e.parameter(b.zero_point_name, b.zero_point, "int32_t")
    pairs = ((a.scale_name, a.scale), (b.scale_name, b.scale))
    multiplier, scales = scale_product(e, pairs, target)
    lines = [
        line("int64_t", "product", f"(int64_t)(A - {za}) * (B - {zb})", p.step("product").formula),
        line(real, "multiplier", multiplier, p.step("multiplier").formula),
        line(real, "scaled", f"({real})product * multiplier", p.step("scaled").formula),
    ]
    operands = [e.data("A"), e.data("B"), *zeros_a, *zeros_b, *scales]
    return sum_to_codes(e, p, "multiply", operands, lines)


def requantize(e: Emission, p: Primitive) -> Function:
    """Saturate(round(accumulator · scales / y_scale) + y_zero_point)."""
    real = e.file.real
    multiplier, scales = scale_product(e, p["scales"], p["target"])
    lines = [
        line(real, "multiplier", multiplier, p.step("multiplier").formula),
        line(real, "scaled", f"({real})accumulator * multiplier", p.step("scaled").formula),
    ]
    return to_codes(e, p, "requantize", (ACCUMULATOR, *scales), lines)


def rescale(e: Emission, p: Primitive) -> Function:
    """Accumulator · scales."""
    real = e.file.real
    multiplier, scales = scale_product(e, p["scales"])
    lines = [
        line(real, "multiplier", multiplier, p.step("multiplier").formula),
        f"return ({real})accumulator * multiplier; /* accumulator * multiplier */",
    ]
    return e.function("rescale", real, (ACCUMULATOR, *scales), lines)


def mean(e: Emission, p: Primitive) -> Function:
    """Saturate(round(x_scale · sum / count / y_scale) + y_zero_point); ``sum`` is Σ (x - x_zero_point)."""
    real, q, target = e.file.real, p["x"], p["target"]
    x_scale, x_scales = e.parameter(q.scale_name, q.scale, real)
    y_scale, y_scales = e.parameter(target.scale_name, target.scale, real)
    lines = [
        line(real, "mean", f"({real})sum * {x_scale} / ({real})count"),
        line(real, "scaled", f"mean {e.over(y_scale)}", p.step("scaled").formula),
    ]
    return to_codes(e, p, "quantized_mean", (SUM, COUNT, *x_scales, *y_scales), lines)


ACCUMULATOR = Operand("int64_t", "accumulator", "", ())
SUM, COUNT = Operand("int64_t", "sum", "", ()), Operand("int32_t", "count", "", ())


def scale_product(
    e: Emission, scales: Sequence[tuple[str, Array]], target: Target | None = None
) -> tuple[str, list[Operand]]:
    """``a_scale * b_scale / y_scale``, from left to right, and the operands that it reads."""
    factors: list[str] = []
    operands: list[Operand] = []
    for name, value in scales:
        factor, read = e.parameter(name, value, e.file.real)
        factors.append(factor)
        operands += read
    product = " * ".join(factors)
    if target is not None:
        scale, read = e.parameter(target.scale_name, target.scale, e.file.real)
        operands += read
        product += f" {e.over(scale)}"
    return product, operands


def to_codes(
    e: Emission, p: Primitive, name: str, operands: Sequence[Operand], lines: Sequence[str],
    *, before: bool = False,
) -> Function:  # fmt: skip
    """Round ``scaled``, add the zero point, saturate. ``before``: the schema has the zero point before rounding."""
    target = p["target"]
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    more, integer = code_lines(e, zero, target.zero_point_name, before=before)
    done = [*lines, *more, saturated(e, integer, target.dtype)]
    return e.function(name, ctype(target.dtype), (*operands, *zeros), done)


def sum_to_codes(
    e: Emission, p: Primitive, name: str, operands: Sequence[Operand], lines: Sequence[str]
) -> Function:
    """Add the zero point to ``scaled``, round, saturate: where the schema has it inside."""
    return to_codes(e, p, name, operands, lines, before=True)


def saturated(e: Emission, value: str, dtype: str) -> str:
    """The line that returns an integer clamped to the codes of a type."""
    low, high = bounds(dtype)
    kind = ctype(dtype)
    lowest = "INT32_MIN" if low == -(2**31) else str(low)
    limit = f"{high}u" if high > 2**31 - 1 else str(high)
    return f"return ({kind}){e.file.use('clamp')}({value}, {lowest}, {limit}); /* saturate to {dtype} */"
