"""gemmlowp, tflite, cmsis_nn, qnnpack, xnnpack and fbgemm as C, each with all its variants.

What a variant does differently is read from the recorded steps and, where two forms have the same steps, from the
scheme's attributes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from qlab.c import family_means
from qlab.c.accumulation import centred
from qlab.c.emission import Emission, Family, Function, Operand, line
from qlab.c.fixed_point import Part, constants, read, rescaled, sum_of_ratios
from qlab.c.float_forms import (
    float_form,
    quantize_by_reciprocal,
    quantize_dividing,
    scaled_by_reciprocal,
    to_code,
)
from qlab.c.recorder import Primitive
from qlab.c.specification import ACCUMULATOR, dequantize, saturated
from qlab.c.text import ctype
from qlab.errors import ExportError
from qlab.qtypes import Array

_Scales = Sequence[tuple[str, Array]]


def requantize(e: Emission, p: Primitive) -> Function:
    """The int32 sum times the multiplier, in the scheme's form; the zero point afterwards."""
    target = p["target"]
    wrapped = f"{e.file.use('wrap32')}(accumulator)"
    lines = [line("int32_t", "wrapped", wrapped, "accumulator modulo 2^32")]
    scales = (*p["scales"], (target.scale_name, target.scale))
    part = _scaled(e, p, "wrapped", scales)
    operands = [ACCUMULATOR, *part.operands]
    return to_code(e, p, "requantize", operands, [*lines, *part.lines], part.zero_point)


def multiply(e: Emission, p: Primitive) -> Function:
    """The int32 product of the codes times the multiplier, in the scheme's form."""
    a, b, target = p["a"], p["b"], p["target"]
    za, zeros_a = e.parameter(a.zero_point_name, a.zero_point, "int32_t")
    zb, zeros_b = e.parameter(b.zero_point_name, b.zero_point, "int32_t")
    product = f"{e.file.use('wrap32')}((int64_t)(A - {za}) * (B - {zb}))"
    lines = [line("int32_t", "product", product, p.step("product").formula)]
    scales = [(q.scale_name, q.scale) for q in (a, b, target)]
    part = _scaled(e, p, "product", scales)
    operands = [e.data("A"), e.data("B"), *zeros_a, *zeros_b, *part.operands]
    return _narrowed(e, p, "multiply", operands, [*lines, *part.lines], part.zero_point)


def add_tflite(e: Emission, p: Primitive) -> Function:
    """TFLite's ADD: both inputs with 20 more bits and brought to one scale, added, rescaled."""
    a, b, target = p["a"], p["b"], p["target"]
    operands: list[Operand] = [e.data("A"), e.data("B")]
    lines: list[str] = []
    inputs = [(q.scale_name, q.scale) for q in (a, b)]
    for q in (a, b):
        zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        shifted = p.step(f"{q.name}_shifted")
        value = f"{e.file.use('wrap32')}((int64_t)({q.name} - {zero}) * 1048576)"
        lines.append(line("int32_t", shifted.name, value, shifted.formula))
        shown = ("twice_max_input_scale", f"{q.name}_multiplier")
        part = _in_fixed_point(e, p, shifted.name, inputs, shown, f"{q.name}_")
        lines += part.lines
        operands += [*zeros, *part.operands]
    total = p.step("accumulator")
    value = f"{e.file.use('wrap32')}({a.name}_rounded + {b.name}_rounded)"
    lines.append(line("int32_t", total.name, value, total.formula))
    scales = [*inputs, (target.scale_name, target.scale)]
    shown = ("twice_max_input_scale", "multiplier")
    part = _in_fixed_point(e, p, total.name, scales, shown)
    operands += part.operands
    return _narrowed(e, p, "add", operands, [*lines, *part.lines])


def add_of_ratios(e: Emission, p: Primitive) -> Function:
    """XNNPACK's and QNNPACK's ADD."""
    part = sum_of_ratios(e, p)
    return to_code(e, p, "add", [e.data("A"), e.data("B"), *part.operands], part.lines)


def add_fbgemm(e: Emission, p: Primitive) -> Function:
    """PyTorch's quantized::add: dequantized by fused multiply-adds, added, quantized."""
    a, b = p["a"], p["b"]
    operands: list[Operand] = [e.data("A"), e.data("B")]
    lines = []
    for q in (a, b):
        scale, scales = e.parameter(q.scale_name, q.scale, "float")
        zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        operands += [*scales, *zeros]
        shift, real = p.step(f"{q.name}_zero_real"), p.step(f"{q.name}_real")
        fused = f"fmaf({scale}, (float){q.name}, {shift.name})"
        lines += [
            line("float", shift.name, f"{scale} * (float)-{zero}", shift.formula),
            line("float", real.name, fused, real.formula),
        ]
    total = p.step("total")
    lines.append(line("float", "total", f"{a.name}_real + {b.name}_real", total.formula))
    return _quantized_fbgemm(e, p, "add", "total", operands, lines)


def quantize_fbgemm(e: Emission, p: Primitive) -> Function:
    """QuantizeAvx2: the reciprocal, CVTPS2DQ, and the zero point in an int32 that wraps."""
    return _quantized_fbgemm(e, p, "quantize", "x", [e.data("x")], [])


def quantize_tflite(e: Emission, p: Primitive) -> Function:
    """The reference kernel divides, the optimized one multiplies by the reciprocal."""
    return (quantize_dividing if p.find("inverse_scale") is None else quantize_by_reciprocal)(e, p)


def _quantized_fbgemm(
    e: Emission, p: Primitive, name: str, x: str, operands: Sequence[Operand], lines: Sequence[str]
) -> Function:
    target = p["target"]
    scaled, scales = scaled_by_reciprocal(e, p, x)
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    rounded, biased = p.step("rounded").formula, p.step("biased").formula
    bounded = "scaled < 0x1.fffffep+30f ? scaled : 0x1.fffffep+30f"
    done = [
        *lines,
        *scaled,
        line("float", "bounded", bounded, "MINPS: NaN becomes the bound, 2147483520"),
        line("int64_t", "rounded", f"{e.file.use('cvtps2dq')}(bounded)", rounded),
        line("int32_t", "biased", f"{e.file.use('wrap32')}(rounded + {zero})", biased),
        saturated(e, "biased", target.dtype),
    ]
    return e.function(name, ctype(target.dtype), (*operands, *scales, *zeros), done)


def _scaled(e: Emission, p: Primitive, value: str, scales: _Scales) -> Part:
    """``value``, an int32, times ``multiplier``: lines that end with ``rounded``."""
    if p.find("quantized_multiplier") is not None:
        return _in_fixed_point(e, p, value, scales, ("multiplier",))
    scheme = e.file.scheme
    shown = ("inverse_scale",) if p.find("inverse_scale") is not None else ()
    if getattr(scheme, "rounding", "") == "float64":
        return _in_double(e, p, value, scales)
    x86 = scheme.name == "fbgemm" or getattr(scheme, "form", "") == "sse2"
    return float_form(e, p, value, scales, shown, x86=x86)


def _in_double(e: Emission, p: Primitive, value: str, scales: _Scales) -> Part:
    """LiteRT's reference FULLY_CONNECTED: a float64 multiplier, half away from zero."""
    if not (abs(p.step("multiplier").value) < 2.0**31).all():
        raise ExportError(
            "the multiplier is not below 2^31: the rounded product does not fit an int64; take a larger y_scale"
        )
    (multiplier,) = constants(e, p, scales, (), {"multiplier": "double"})
    scaled, rounded = p.step("scaled").formula, p.step("rounded").formula
    lines = [
        line("double", "scaled", f"(double){value} * {multiplier.name}", scaled),
        line("int64_t", "rounded", "(int64_t)round(scaled)", rounded),
    ]
    return Part(lines, read([multiplier]))


def _in_fixed_point(
    e: Emission, p: Primitive, value: str, scales: _Scales, shown: Sequence[str], prefix: str = ""
) -> Part:
    """CMSIS-NN alone rounds once in two parts."""
    high_word = e.file.scheme.name == "cmsis_nn"
    return rescaled(e, p, value, scales, shown, prefix, high_word=high_word)


def _narrowed(
    e: Emission, p: Primitive, name: str, operands: Sequence[Operand], lines: Sequence[str], zero_point: str = ""
) -> Function:  # fmt: skip
    """The zero point, in an int16 where the scheme's kernel has one: TFLite's optimized ADD and MUL."""
    narrowed = p.find("narrowed")
    if narrowed is None:
        return to_code(e, p, name, operands, lines, zero_point)
    target = p["target"]
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    wrap16 = e.file.use("wrap16")
    value = f"{wrap16}(rounded)"
    if "saturated" in narrowed.formula:
        value = f"{e.file.use('clamp')}(rounded, -32768, 32767)"
    done = [
        *lines,
        line("int64_t", "narrowed", value, narrowed.formula),
        line("int32_t", "biased", f"{wrap16}(narrowed + {zero})", p.step("biased").formula),
        saturated(e, "biased", target.dtype),
    ]
    return e.function(name, ctype(target.dtype), (*operands, *zeros), done)


_Emitters = dict[str, Callable[..., Any]]
_SUMS: _Emitters = {"accumulate": centred, "requantize": requantize}
_REALS: _Emitters = {"dequantize": dequantize}
_TFLITE: _Emitters = {
    **_SUMS,
    "add": add_tflite,
    "multiply": multiply,
    "mean": family_means.of_codes,
}
_MEAN: _Emitters = {"mean": family_means.by_multiplier}
_RATIOS: _Emitters = {**_SUMS, **_MEAN, "add": add_of_ratios}
_QUANTIZE: dict[str, _Emitters] = {
    name: {**_REALS, "quantize": by}
    for name, by in (
        ("gemmlowp", quantize_dividing),
        ("tflite", quantize_tflite),
        ("xnnpack", quantize_by_reciprocal),
        ("fbgemm", quantize_fbgemm),
    )
}
FAMILIES = {
    "gemmlowp": Family("float", {**_SUMS, **_QUANTIZE["gemmlowp"]}),
    "tflite": Family("float", {**_TFLITE, **_QUANTIZE["tflite"]}),
    "cmsis_nn": Family("float", _TFLITE),
    "qnnpack": Family("float", _RATIOS),
    "xnnpack": Family("float", {**_RATIOS, "multiply": multiply, **_QUANTIZE["xnnpack"]}),
    "fbgemm": Family(
        "float", {**_SUMS, **_MEAN, "add": add_fbgemm, "multiply": multiply, **_QUANTIZE["fbgemm"]}
    ),
}
"""Scheme's name → its emitters, for every set of the scheme's parameters."""
