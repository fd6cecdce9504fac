"""QuantizeLinear and DequantizeLinear of ort_cpu as C: in float16 and float8, and through int32 as older releases do."""

from qlab.c import formats
from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.format_texts import DECODE, ENCODE
from qlab.c.ort_cpu import to_codes
from qlab.c.recorder import Primitive
from qlab.c.specification import saturated
from qlab.c.text import ctype
from qlab.errors import ExportError
from qlab.kernels.numbers import f16
from qlab.kernels.quantize_int32 import through_int32
from qlab.qtypes import Array, bounds, is_float8


def quantize(e: Emission, p: Primitive) -> Function:
    """MlasQuantizeLinear: divide, clamp, round half to even, add the zero point; older releases round first."""
    scheme, target = e.file.scheme, p["target"]
    stored, formula = target.scale, p.step("scaled").formula
    half = formula.startswith("f32(f16(")
    if half:
        if e.graph.producer(e.tensor(target.scale_name)) is not None:
            raise ExportError(
                f"{target.scale_name} is computed by a node: dividing by it in float16 is not written in C; "
                "a constant is"
            )
        stored = f16(stored)
    scale, scales = e.parameter(target.scale_name, stored, "float")
    x, value = formats.read(e, "x")
    lines = [line("float", "scaled", f"(float){value} / {scale}", formula)]
    if half:
        lines = [
            line("float", "x_half", _in_half(e, f"(float){value}"), "f16(x)"),
            line("float", "quotient", f"x_half / {scale}", f"f32(x_half / {target.scale_name})"),
            line("float", "scaled", _in_half(e, "quotient"), "f16(quotient)"),
        ]
    if is_float8(target.dtype):
        return formats.float8_of_ort_cpu(e, p, (x, *scales), lines)
    mask = through_int32(scheme, p["x"], target)  # type: ignore[arg-type]
    if mask is not None:
        return _through_int32(e, p, (x, *scales), lines, mask)
    return to_codes(e, p, "quantize", (x, *scales), lines)


def _in_half(e: Emission, value: str) -> str:
    """A float rounded to float16, as a float."""
    return f"{e.file.use(DECODE['float16'])}({e.file.use(ENCODE['float16'])}({value}))"


def _through_int32(
    e: Emission, p: Primitive, operands: tuple[Operand, ...], lines: list[str], mask: Array
) -> Function:
    """To int32, plus the zero point, clamp; elements outside the mask are clamped first."""
    target = p["target"]
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    truncates = "trunc" in p.step("rounded").formula
    convert = e.file.use("cvttps2dq" if truncates else "cvtps2dq")
    found = [*operands, *zeros]
    value = f"{convert}(scaled)"
    if not mask.all():
        low, high = bounds(target.dtype)
        table = e.file.array("first", mask.astype("uint8"), "uint8_t")
        found.append(Operand("uint8_t", "unclamped", table, mask.shape))
        lines = [
            *lines,
            line("float", "lowest", f"(float)({low} - {zero})"),
            line("float", "highest", f"(float)({high} - {zero})"),
            line("float", "above", "scaled > lowest ? scaled : lowest", "NaN becomes the lowest"),
            line("float", "clamped", "above < highest ? above : highest"),
        ]
        value = f"{convert}(unclamped ? scaled : clamped)"
    done = [
        *lines,
        line("int32_t", "rounded", value, "what does not fit int32 becomes its smallest number"),
        line("int32_t", "biased", f"{e.file.use('wrap32')}((int64_t)rounded + {zero})"),
        saturated(e, "biased", target.dtype),
    ]
    return e.function("quantize", ctype(target.dtype), found, done)


def dequantize(e: Emission, p: Primitive) -> Function:
    """f32(f32(q - zero_point) · scale), then rounded to float16 where that is the type."""
    q = p["q"]
    scale, scales = e.parameter(q.scale_name, q.scale, "float")
    x, value = formats.read(e, "x")
    if is_float8(q.codes.dtype):
        lines, operands = [line("float", "scaled", f"{value} * {scale}")], (x, *scales)
    else:
        zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        difference = f"{e.file.use('wrap32')}((int64_t)x - {zero})"
        lines = [
            line("int32_t", "centered", difference, p.step("centered").formula),
            line("float", "scaled", f"(float)centered * {scale}", f"f32(f32(centered) * {q.scale_name})"),
        ]  # fmt: skip
        operands = (x, *scales, *zeros)
    kind, result = formats.written(e, "scaled")
    return e.function("dequantize", kind, operands, [*lines, f"return {result};"])
