"""Requantization by one float32 multiplier as C: a magic number, rintf or CVTPS2DQ; and codes from reals."""

from collections.abc import Sequence

from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.fixed_point import Part, constants, read
from qlab.c.recorder import Primitive
from qlab.c.specification import saturated
from qlab.c.text import ctype
from qlab.qtypes import Array, bounds


def float_form(
    e: Emission, p: Primitive, value: str, scales: Sequence[tuple[str, Array]], shown: Sequence[str], *, x86: bool
) -> Part:  # fmt: skip
    """``value``, an int32, times the float32 multiplier: lines that end with ``rounded``.

    Args:
        x86: CVTPS2DQ, so that what does not fit int32 is the lowest.
    """
    (multiplier,) = constants(e, p, scales, shown, {"multiplier": "float"})
    scaled = line(
        "float", "scaled", f"(float){value} * {multiplier.name}", p.step("scaled").formula
    )
    rest = rounded_lines(e, p, x86=x86)
    return Part([scaled, *rest.lines], [*read([multiplier]), *rest.operands], rest.zero_point)


def rounded_lines(e: Emission, p: Primitive, *, x86: bool) -> Part:
    """From ``scaled`` to ``rounded``."""
    target = p["target"]
    if p.find("with_magic") is None:
        rounded = "(int64_t)rintf(scaled)"
        if x86:
            rounded = f"{e.file.use('cvtps2dq')}(scaled)"
        return Part([line("int64_t", "rounded", rounded, p.step("rounded").formula)])
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    low, high = bounds(target.dtype)
    lines = [
        line("float", "lowest", f"(float)({low} - {zero})"),
        line("float", "highest", f"(float)({high} - {zero})"),
        line("float", "above", "scaled > lowest ? scaled : lowest"),
        line("float", "clamped", "above < highest ? above : highest", p.step("clamped").formula),
        line(
            "float", "with_magic", "clamped + 12582912.0f", "1.5 * 2^23: no bits below 1 are left"
        ),
        line(
            "int64_t",
            "rounded",
            f"{e.file.use('float_as_int')}(with_magic) - 0x4B400000",
            p.step("rounded").formula,
        ),
    ]
    return Part(lines, zeros, zero)


def to_code(
    e: Emission, p: Primitive, name: str, operands: Sequence[Operand], lines: Sequence[str], zero_point: str = ""
) -> Function:  # fmt: skip
    """Add the zero point to ``rounded``, saturate. ``zero_point``: its expression where the lines read it already."""
    target = p["target"]
    zeros: Sequence[Operand] = ()
    if not zero_point:
        zero_point, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    done = [
        *lines,
        line("int64_t", "biased", f"rounded + {zero_point}", p.step("biased").formula),
        saturated(e, "biased", target.dtype),
    ]
    return e.function(name, ctype(target.dtype), (*operands, *zeros), done)


def quantize_dividing(e: Emission, p: Primitive) -> Function:
    """TFLite's AffineQuantize and gemmlowp's: x / scale, half away from zero; gemmlowp's zero point is inside."""
    target = p["target"]
    scale, scales = e.parameter(target.scale_name, target.scale, "float")
    operands = [e.data("x"), *scales]
    lines = [line("float", "scaled", f"(float)x / {scale}", p.step("scaled").formula)]
    to_integer, rounding = e.file.use("to_integer"), "round half away from zero"
    if p.find("sum") is None:
        lines.append(line("int64_t", "rounded", f"{to_integer}(roundf(scaled))", rounding))
        return to_code(e, p, "quantize", operands, lines)
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    lines += [
        line("float", "sum", f"(float){zero} + scaled", p.step("sum").formula),
        line("int64_t", "rounded", f"{to_integer}(roundf(sum))", rounding),
        saturated(e, "rounded", target.dtype),
    ]
    return e.function("quantize", ctype(target.dtype), (*operands, *zeros), lines)


def quantize_by_reciprocal(e: Emission, p: Primitive) -> Function:
    """x times the rounded reciprocal of the scale, half to even: XNNPACK's, and TFLite's optimized kernels'."""
    lines, operands = scaled_by_reciprocal(e, p, "x")
    rounded = f"{e.file.use('to_integer')}(rintf(scaled))"
    lines.append(line("int64_t", "rounded", rounded, p.step("rounded").formula))
    return to_code(e, p, "quantize", [e.data("x"), *operands], lines)


def scaled_by_reciprocal(e: Emission, p: Primitive, x: str) -> tuple[list[str], list[Operand]]:
    """``scaled`` = x · (1 / scale), and what it reads."""
    target = p["target"]
    scale, scales = e.parameter(target.scale_name, target.scale, "float")
    lines = [
        line("float", "inverse_scale", f"1.0f / {scale}", p.step("inverse_scale").formula),
        line("float", "scaled", f"(float){x} * inverse_scale", p.step("scaled").formula),
    ]
    return lines, list(scales)
