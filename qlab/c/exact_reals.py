"""exact as C where the result is a real, rounded once: products as float32, float8, DynamicQuantizeLinear.

Sums are whole numbers of many digits, multiples of 2^-172 (`qlab.c.exact_texts`).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from qlab.arithmetic import EXACT
from qlab.c import exact, formats
from qlab.c.emission import Emission, Function, Operand, line, loops
from qlab.c.exact_texts import UNIT
from qlab.c.format_texts import FORMATS
from qlab.c.recorder import Primitive
from qlab.c.roundings import is_before, round_sum
from qlab.c.specification import ACCUMULATOR
from qlab.c.text import ctype
from qlab.errors import ExportError
from qlab.qtypes import Array, is_float8

FLOAT_BITS = 128 + 27  # above 1, of the middle between the largest float and what is beyond it


def rescale_with_bias(e: Emission, p: Primitive) -> Function:
    """accumulator · scales + bias, rounded once to float32."""
    product = EXACT.real(np.asarray(1))
    for name, value in p["scales"]:
        if name not in e.operator.inputs:
            raise ExportError(
                f"exact {e.node.op_type} is not written in C: {name} is a rational number that the node computes; "
                "float64 and float32 are"
            )
        product = np.asarray(product * EXACT.real(value), object)
    operands: list[Operand] = [ACCUMULATOR]
    multiplier, denominator = _as_whole(e, product, operands, integer=True)
    bias = bool(e.tensor("bias"))
    lines = [
        "uint32_t sum[LIMBS] = {0}; /* accumulator * scales + bias = sum / denominator, in units of 2^-172 */",
        f"{e.file.use('add_product')}(sum, {multiplier}, accumulator);",
    ]
    if bias:
        operands.append(e.data("bias"))
        lines = [
            "if (bias - bias != 0.0f) {",
            "    return bias; /* NaN or infinite */",
            "}",
            *lines,
            f"{e.file.use('add_real')}(sum, {denominator}, bias, 1);",
        ]
    lines.append(f"return {e.file.use('rounded_real')}(sum, {denominator});")
    return e.function("rescale", "float", operands, lines)


def rescale(e: Emission, p: Primitive) -> Function:
    """accumulator · scales, rounded once to float32."""
    return rescale_with_bias(e, p)


def quantize(e: Emission, p: Primitive) -> Function:
    """QuantizeLinear: to codes as `qlab.c.exact` has it; to a float8 type x / scale rounded once."""
    target = p["target"]
    if not is_float8(target.dtype):
        return exact.quantize(e, p)
    x, value = formats.read(e, "x")
    if value == "x" and x.kind != "float":
        raise ExportError(f"exact QuantizeLinear of {x.kind} to {target.dtype} is not written in C")
    scales = [exact.finite(v) for v in EXACT.real(target.scale).reshape(-1)]
    if any(v == 0 for v in scales) or len({v > 0 for v in scales}) > 1:
        raise ExportError(
            f"{target.scale_name} is 0 or has entries of both signs: exact C to {target.dtype} needs one sign"
        )
    negative = scales[0] < 0
    ratio = np.empty(target.scale.shape, object)
    ratio.reshape(-1)[:] = [1 / v for v in scales]
    precision, smallest, largest, beyond, nan = FORMATS[target.dtype]
    operands = [x]
    multiplier, denominator = _as_whole(e, ratio, operands, integer=False)
    end = largest if target.saturate else largest + 1
    kind = ctype(target.dtype)
    over = f"0x{(largest if target.saturate else beyond):x}"
    lines = [
        line("float", "number", value),
        "if (number != number) {",
        f"    return 0x{nan:x};",
        "}",
        f"const int below = number {'>' if negative else '<'} 0.0f;",
        f"uint32_t bits = {over};",
        "if (number - number == 0.0f) {",
        "    uint32_t sum[LIMBS] = {0}; /* number / scale = sum / denominator, in units of 2^-172 */",
        f"    {e.file.use('add_real')}(sum, {multiplier}, number, 1);",
        f"    bits = {e.file.use('ratio_bits')}(sum, {denominator}, {precision}, {smallest}, 0x{end:x});",
        "}",
        f"bits = bits > 0x{largest:x} ? {over} : bits;",
        f"return ({kind})(below && bits != 0 ? bits | 0x80 : bits); /* {target.dtype} */",
    ]
    return e.function("quantize", kind, operands, lines)


def dequantize(e: Emission, p: Primitive) -> Function:
    """DequantizeLinear: in a double where that holds the product; of 32-bit codes and a float32 scale it does not."""
    q = p["q"]
    x = e.data("x")
    if not x.kind.endswith("32_t") or q.scale.dtype != np.float32:
        return exact.dequantize(e, p)
    zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
    operands = [x, *zeros]
    multiplier, denominator = _as_whole(e, EXACT.real(q.scale), operands, integer=True)
    out = e.output()
    if out.kind != "float":
        raise ExportError(
            f"exact DequantizeLinear of 32-bit codes to {e.dtype(e.node.outputs[0])} with a float32 scale "
            "is not written in C; float64 and float32 are"
        )
    lines = [
        line("int64_t", "centered", f"(int64_t)x - {zero}", p.step("centered").formula),
        "uint32_t sum[LIMBS] = {0}; /* centered * scale = sum / denominator, in units of 2^-172 */",
        f"{e.file.use('add_product')}(sum, {multiplier}, centered);",
        f"return {e.file.use('rounded_real')}(sum, {denominator});",
    ]
    return e.function("dequantize", "float", operands, lines)


def _as_whole(
    e: Emission, ratio: Array, operands: list[Operand], *, integer: bool
) -> tuple[str, str]:
    """Fractions as numerators over denominators, both whole numbers: their C expressions.

    Args:
        integer: an integer is multiplied by the numerator, which is in units of 2^-172 then.
    """
    flat: list[Fraction] = [exact.finite(v) for v in ratio.reshape(-1)]
    power = 1 << UNIT if integer else 1
    numerators = [v.numerator * power for v in flat]
    denominators = [v.denominator for v in flat]
    digits = max(
        max(abs(n).bit_length(), d.bit_length())
        for n, d in zip(numerators, denominators, strict=True)
    )
    bits = digits + max(exact.VALUE_BITS, UNIT + FLOAT_BITS) + 8
    e.file.limbs = max(e.file.limbs, bits // 32 + 1)
    return (
        exact.big(e, "multiplier", numerators, ratio.shape, operands),
        exact.big(e, "denominator", denominators, ratio.shape, operands),
    )


def dynamic_quantize(
    e: Emission, p: Primitive, source: str = "x", prefix: str = ""
) -> tuple[list[str], Function]:
    """DynamicQuantizeLinear: the scale stays a fraction, range / 255; only y_scale is rounded."""
    if prefix:
        raise ExportError(
            f"exact {e.node.op_type} is not written in C: its scale is a rational number that the node computes; "
            "float64 and float32 are"
        )
    e.file.limbs = max(e.file.limbs, (UNIT + FLOAT_BITS + 40) // 32 + 1)
    x = e.data(source)
    one = exact.big(e, "one", [1], (), [])
    steps = exact.big(e, "steps", [255], (), [])
    add_real, sign, code_of = e.file.use("add_real"), e.file.use("sign"), round_sum(e)
    zeros = "zero_point, 0" if is_before(e, schema=False) else "0, zero_point"
    size = math.prod(x.shape)
    lines = [
        "float minimum = 0.0f; /* min(0, min(x)) */",
        "float maximum = 0.0f; /* max(0, max(x)) */",
        *loops((size,), ("i",), [
            f"minimum = {x.array}[i] < minimum ? {x.array}[i] : minimum;",
            f"maximum = {x.array}[i] > maximum ? {x.array}[i] : maximum;",
        ], 0),
        "const int finite = minimum - minimum == 0.0f && maximum - maximum == 0.0f;",
        "uint32_t range[LIMBS] = {0}; /* maximum - minimum; 0 where that is infinite */",
        "uint32_t below[LIMBS] = {0}; /* -255 * minimum */",
        "if (finite) {",
        f"    {add_real}(range, {one}, maximum, 1);",
        f"    {add_real}(range, {one}, minimum, -1);",
        f"    {add_real}(below, {one}, minimum, -255);",
        "}",
        "int32_t zero_point = 0; /* saturate(round(-minimum / (range / 255))) */",
        f"if ({sign}(range) != 0) {{",
        f"    zero_point = (int32_t){code_of}(below, range, 0, 0, 0, 255);",
        "}",
    ]  # fmt: skip
    e.output(0, "y")
    scale, zero = e.output(1, "y_scale"), e.output(2, "y_zero_point")
    if scale.array:
        rounded = f"{e.file.use('rounded_real')}(range, {steps})"
        lines.append(f"y_scale[0] = finite ? {rounded} : INFINITY; /* range / 255 */")
    if zero.array:
        lines.append("y_zero_point[0] = (uint8_t)zero_point;")
    body = [
        f"if (x - x != 0.0f || {sign}(range) == 0) {{",
        "    return 0; /* x / scale is NaN, or x is finite and the scale infinite */",
        "}",
        "uint32_t sum[LIMBS] = {0}; /* x / scale = sum / range */",
        f"{add_real}(sum, {one}, x, 255);",
        f"return (uint8_t){code_of}(sum, range, {zeros}, 0, 255);",
    ]
    operands: Sequence[Any] = (
        x,
        Operand("const uint32_t *", "range", "", ()),
        Operand("int32_t", "zero_point", "", ()),
    )
    return [f"    {item}" for item in lines], e.function("quantize", "uint8_t", operands, body)
