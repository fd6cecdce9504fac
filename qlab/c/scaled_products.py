"""Matrix products of codes that end as float32 as C: MatMulIntegerToFloat, and DynamicQuantizeMatMul."""

import math
from collections.abc import Sequence

from qlab.c.emission import Emission, Function, Operand, indices, line, loops
from qlab.c.products import matrix_product
from qlab.c.recorder import Primitive
from qlab.c.specification import ACCUMULATOR
from qlab.qtypes import Array


def rescale_with_bias(e: Emission, p: Primitive) -> Function:
    """accumulator · scales + bias, in float32 or float64."""
    real = e.file.real
    multiplier, operands = _product(e, p["scales"])
    lines = [
        line(real, "multiplier", multiplier, p.step("multiplier").formula),
        line(real, "scaled", f"({real})accumulator * multiplier", "accumulator * multiplier"),
    ]
    return _finished(e, operands, lines, "scaled")


def rescale_with_bias_of_ort_cpu(e: Emission, p: Primitive) -> Function:
    """MlasQgemm's ScaleOutput and bias; a scale that the kernel does not take is multiplied afterwards."""
    scales = p["scales"]
    separate = scales[-1:] if p["separate"] else ()
    multiplier, operands = _product(e, scales[: len(scales) - len(separate)])
    total = f"(float){e.file.use('wrap32')}(accumulator)"
    lines = [
        line("float", "multiplier", multiplier, p.step("multiplier").formula),
        line("float", "scaled", f"{total} * multiplier", "f32(f32(accumulator) * multiplier)"),
    ]
    last, read = _product(e, separate) if separate else ("", [])
    return _finished(e, operands, lines, "scaled", last, read)


def _product(e: Emission, scales: Sequence[tuple[str, Array]]) -> tuple[str, list[Operand]]:
    """The scales multiplied from left to right, and the operands that this reads."""
    factors: list[str] = []
    operands: list[Operand] = []
    for name, value in scales:
        if name in e.operator.inputs:
            factor, read = e.parameter(name, value, e.file.real)
        else:  # the node's function has computed it
            factor, read = name, (Operand(e.file.real, name, "", ()),)
        factors.append(factor)
        operands += read
    return " * ".join(factors), operands


def _finished(
    e: Emission, operands: Sequence[Operand], lines: Sequence[str], value: str,
    last: str = "", read: Sequence[Operand] = (),
) -> Function:  # fmt: skip
    """Plus the bias, times the last scale where that comes afterwards."""
    real, found, done = e.file.real, [ACCUMULATOR, *operands], list(lines)
    if e.tensor("bias"):
        found.append(e.data("bias"))
        done.append(line(real, "biased", f"{value} + ({real})bias", "scaled + bias"))
        value = "biased"
    if last:
        found += read
        value = f"{value} * {last}"
    return e.function("rescale", real, found, [*done, f"return {value};"])


def dynamic_product(e: Emission) -> list[str]:
    """DynamicQuantizeMatMul: A's scale, zero point and codes, then the product of the codes."""
    lines, quantize = e.emit("dynamic_quantize", "A", "a_")
    a = e.data("A")
    size = math.prod(a.shape)
    variables = indices((size,)) if size == 1 else ["i"]
    flat = Operand(a.kind, "A", a.array, (size,))
    function = Function(quantize.name, quantize.kind, (flat, *quantize.operands[1:]))
    value = function.call((size,), variables)
    codes = Operand("uint8_t", "A_codes", "A_codes", a.shape)
    return [
        f"    static uint8_t A_codes[{size}];",
        *lines,
        *loops((size,), variables, [f"A_codes[{variables[0]}] = {value};"]),
        *matrix_product(e, codes),
    ]


OPERATORS = {
    ("com.microsoft", "MatMulIntegerToFloat"): matrix_product,
    ("com.microsoft", "DynamicQuantizeMatMul"): dynamic_product,
}
DATA = {
    "MatMulIntegerToFloat": ("A", "B", "bias"),
    "DynamicQuantizeMatMul": ("A", "B", "bias"),
}
