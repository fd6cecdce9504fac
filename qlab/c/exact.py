"""exact as C: whole numbers of many digits, no floating point. Every result is (sum of c·v) / D, rounded once.

The c and D are known when the file is written, the v are 64-bit integers at run time. The code is found by
comparison: halving its range asks whether the sum reaches the middle between two codes.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from qlab.arithmetic import EXACT
from qlab.c import formats, text
from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.recorder import Primitive
from qlab.c.roundings import is_before, round_sum
from qlab.c.specification import ACCUMULATOR, COUNT, SUM
from qlab.c.text import ctype
from qlab.errors import ExportError
from qlab.qtypes import Array, bounds, is_float8
from qlab.schemes import Target

VALUE_BITS = 63  # of an integer at run time
STEP_BITS = 40  # of a code, twice it and a zero point


def add(e: Emission, p: Primitive) -> Function:
    """A_scale·(A - A_zero_point) / C_scale + B_scale·(B - B_zero_point) / C_scale + C_zero_point."""
    a, b, target = p["a"], p["b"], p["target"]
    ratios = [_ratio((q.scale,), target) for q in (a, b)]
    terms: list[str] = []
    zeros: list[Operand] = []
    for q in (a, b):
        zero, read = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        terms.append(f"(int64_t){q.name} - {zero}")
        zeros += read
    operands = [e.data("A"), e.data("B"), *zeros]
    return _rounded(e, p, "add", operands, ratios, ("A_ratio", "B_ratio"), terms, inside=True)


def multiply(e: Emission, p: Primitive) -> Function:
    """(A - A_zero_point)·(B - B_zero_point)·(A_scale·B_scale / C_scale) + C_zero_point."""
    a, b, target = p["a"], p["b"], p["target"]
    za, zeros_a = e.parameter(a.zero_point_name, a.zero_point, "int32_t")
    zb, zeros_b = e.parameter(b.zero_point_name, b.zero_point, "int32_t")
    product = f"(int64_t)(A - {za}) * (B - {zb})"
    operands = [e.data("A"), e.data("B"), *zeros_a, *zeros_b]
    ratio = _ratio((a.scale, b.scale), target)
    return _rounded(e, p, "multiply", operands, [ratio], ("multiplier",), [product], inside=True)


def requantize(e: Emission, p: Primitive) -> Function:
    """Saturate(round(accumulator · scales / y_scale) + y_zero_point)."""
    ratio = _ratio(tuple(value for _, value in p["scales"]), p["target"])
    return _rounded(
        e, p, "requantize", [ACCUMULATOR], [ratio], ("multiplier",), ["accumulator"], inside=False
    )


def mean(e: Emission, p: Primitive) -> Function:
    """Saturate(round(x_scale · sum / count / y_scale) + y_zero_point); of no elements it is the lowest code."""
    target, lines = p["target"], list[str]()
    ratio = _ratio((p["x"].scale,), target)
    if (p.step("count").value == 0).any():
        low = bounds(target.dtype)[0]
        lines = ["if (count == 0) { /* 0 / 0 is NaN, which becomes the lowest code */"]
        lines += [f"    return {low};", "}"]
    return _rounded(
        e, p, "quantized_mean", [SUM, COUNT], [ratio], ("multiplier",), ["sum"],
        inside=False, lines=lines, divisor="count",
    )  # fmt: skip


def quantize(e: Emission, p: Primitive) -> Function:
    """Saturate(round(x / scale) + zero_point): x is mantissa · 2^exponent."""
    target = p["target"]
    x, value = formats.read(e, "x")
    ratio = _ratio((), target)
    if value == "x" and x.kind != "float":
        term = "(int64_t)x"
        return _rounded(e, p, "quantize", [x], [ratio], ("multiplier",), [term], inside=False)
    signs = {bool(v < 0) for v in ratio.reshape(-1)}
    if len(signs) > 1:
        raise ExportError(
            f"{target.scale_name} has entries of both signs: an infinite x has no one end in exact C"
        )
    ends = bounds(target.dtype)
    lowest, (low, high) = ends[0], ends[::-1] if True in signs else ends
    kind = ctype(target.dtype)
    number = "x" if value == "x" else "number"
    lines = [
        *([] if value == "x" else [line("float", number, value)]),
        f"if ({number} - {number} != 0.0f) {{ /* NaN becomes the lowest code; infinities are the ends */",
        f"    return ({kind})({number} != {number} ? {lowest} : {number} > 0.0f ? {high} : {low});",
        "}",
        "int exponent;",
        line("int64_t", "mantissa", f"(int64_t)ldexpf(frexpf({number}, &exponent), 24)"),
    ]
    return _rounded(
        e, p, "quantize", [x], [ratio], ("multiplier",), ["mantissa"],
        inside=False, lines=lines, lowest_power=-172,
    )  # fmt: skip


def dequantize(e: Emission, p: Primitive) -> Function:
    """(q - zero_point) · scale: together of at most 53 bits, so that a double holds it without loss."""
    q = p["q"]
    x, value = formats.read(e, "x")
    scale, scales = e.parameter(q.scale_name, q.scale, "double")
    if is_float8(q.codes.dtype):
        lines, operands, product = [], (x, *scales), f"{value} * {scale}"
    else:
        zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        lines = [
            line("int64_t", "centered", f"(int64_t)x - {zero}", p.step("centered").formula),
        ]
        operands, product = (x, *scales, *zeros), f"(double)centered * {scale}"
    kind, result = formats.written(e, product)
    result = result if kind.startswith("uint") else f"(float)({result})"
    lines.append(f"return {result}; /* the product is exact, so this rounds once */")
    return e.function("dequantize", kind, operands, lines)


def piecewise(
    e: Emission, p: Primitive, name: str, operands: Sequence[Operand], factors: Sequence[Sequence[Array]],
    terms: Sequence[str],
) -> Function:  # fmt: skip
    """round(sum of factor · term / y_scale) + y_zero_point; each factor is a product of scales."""
    ratios = [_ratio(factor, p["target"]) for factor in factors]
    names = ("above_ratio", "below_ratio")[: len(terms)]
    return _rounded(e, p, name, operands, ratios, names, terms, inside=False)


def convert(e: Emission, p: Primitive, codes: str, scale: str, zero_point: str) -> Function:
    """Saturate(round((q - zero_point) · scale / y_scale) + y_zero_point), of the inputs of these names."""
    of_scale, of_zero = (e.trace.tensors[e.tensor(n)].reshape(()) for n in (scale, zero_point))
    zero, zeros = e.parameter(zero_point, of_zero, "int32_t")
    ratio = _ratio((of_scale,), p["target"])
    term = f"(int64_t){codes} - {zero}"
    operands = (e.data(codes), *zeros)
    return _rounded(e, p, "convert", operands, [ratio], ("multiplier",), [term], inside=False)


def _ratio(scales: Sequence[Array], target: Target) -> Array:
    """The product of the scales over the target's, as fractions. Raises ExportError where it is no positive number."""
    product = EXACT.real(np.asarray(1))
    for scale in scales:
        product = np.asarray(product * EXACT.real(scale), object)
    divisor = EXACT.real(target.scale)
    for value in (*product.reshape(-1), *divisor.reshape(-1)):
        finite(value)
    if any(v == 0 for v in divisor.reshape(-1)):
        raise ExportError(f"{target.scale_name} is 0: exact C cannot divide by it")
    return np.asarray(product / divisor, object)


def _rounded(
    e: Emission, p: Primitive, name: str, operands: Sequence[Operand], ratios: Sequence[Array],
    names: Sequence[str], terms: Sequence[str], *, inside: bool, lines: Sequence[str] = (), lowest_power: int = 0,
    divisor: str = "",
) -> Function:  # fmt: skip
    """round(Σ ratio · term, the zero point inside or after) → code.

    Args:
        lowest_power: with it the term stands for term · 2^(exponent - 24), at least 2^lowest_power.
        divisor: a positive int32 expression that the sum is divided by, too.
    """
    target = p["target"]
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    shape = np.broadcast_shapes(*(r.shape for r in ratios))
    spread = [np.broadcast_to(r, shape).reshape(-1) for r in ratios]
    denominators = [
        math.lcm(*(r.denominator for r in entry)) for entry in zip(*spread, strict=True)
    ]
    extra = 301 if lowest_power else 0
    divided = 31 if divisor else 0
    bits = max(
        [
            *(d.bit_length() + STEP_BITS + divided - lowest_power for d in denominators),
            *((abs(r) * d).numerator.bit_length() + VALUE_BITS + 3 + extra
              for column in spread for r, d in zip(column, denominators, strict=True)),
        ]
    )  # fmt: skip
    e.file.limbs = max(e.file.limbs, bits // 32 + 1)
    found: list[Operand] = [*operands, *zeros]
    arguments = []
    for c_name, column in zip((*names, "denominator"), (*spread, None), strict=True):
        values = [
            d << -lowest_power if column is None else (column[i] * d).numerator
            for i, d in enumerate(denominators)
        ]
        arguments.append(big(e, c_name, values, shape, found))
    *factors, denominator = arguments
    add_product = e.file.use("add_product")
    low, high = bounds(target.dtype)
    inside = is_before(e, inside)
    before, after = (zero, "0") if inside else ("0", zero)
    total = " + ".join(f"{n} * {'sum' if divisor else 'v'}" for n in names)
    whole = "total" if divisor else "sum"
    quotient = f"(denominator * {divisor})" if divisor else "denominator"
    done = [
        *lines,
        f"uint32_t {whole}[LIMBS] = {{0}}; /* scaled = {whole} / {quotient}, {whole} = {total} */",
        *(f"{add_product}({whole}, {f}, {t});" for f, t in zip(factors, terms, strict=True)),
    ]
    if lowest_power:
        done.append(f"{e.file.use('shift_left')}({whole}, exponent + {-24 - lowest_power});")
    if divisor:
        done += [
            "uint32_t divided[LIMBS] = {0};",
            f"{add_product}(divided, {denominator}, {divisor});",
        ]
        denominator = "divided"
    code = f"{round_sum(e)}({whole}, {denominator}, {before}, {after}, {low}, {high})"
    words = "inside the rounded sum" if inside else "added after rounding"
    done.append(f"return ({ctype(target.dtype)}){code}; /* the zero point is {words} */")
    return e.function(name, ctype(target.dtype), found, done)


def finite(value: Fraction | float) -> Fraction:
    """A scale that is a number. Raises ExportError for NaN and infinities."""
    if not isinstance(value, Fraction):
        raise ExportError("a scale is NaN or infinite: exact C needs finite scales")
    return value


def big(
    e: Emission, name: str, values: Sequence[int], shape: tuple[int, ...], operands: list[Operand]
) -> str:
    """Define whole numbers of LIMBS limbs; the C expression of the one for an element."""
    table = e.file.names.new(name if len(values) == 1 else f"{name}s")
    e.file.big.append((table, tuple(values)))
    if len(values) == 1:
        return table
    operands.append(Operand("const uint32_t *", name, table, shape))
    return name


def definition(table: str, values: Sequence[int], limbs: int, whole: bool = False) -> str:
    """The definition of such numbers, lowest limb first, in two's complement; or of an array of ``whole``."""
    rows = [", ".join(f"0x{(v >> 32 * i) & 0xFFFFFFFF:x}u" for i in range(limbs)) for v in values]
    if whole:
        body = "\n".join(text.filled("    {{", row.split(", "), "}},") for row in rows or ["0"])
        return f"static const whole {table}[{max(len(rows), 1)}] = {{\n{body}\n}};"
    if len(rows) == 1:
        return text.filled(f"static const uint32_t {table}[LIMBS] = {{", rows[0].split(", "), "};")
    body = "\n".join(text.filled("    {", row.split(", "), "},") for row in rows)
    return f"static const uint32_t {table}[{len(rows)}][LIMBS] = {{\n{body}\n}};"
