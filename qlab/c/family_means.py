"""The families' means of codes as C: functions of ``sum`` = Σ (x - x_zero_point) over a window, and of its ``count``."""

from collections.abc import Sequence

import numpy as np

from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.fixed_point import LARGEST_SHIFT, Part
from qlab.c.float_forms import rounded_lines, to_code
from qlab.c.recorder import Primitive
from qlab.c.specification import saturated
from qlab.c.text import ctype
from qlab.errors import ExportError

SUM, COUNT = (
    Operand(kind, name, "", ()) for kind, name in (("int64_t", "sum"), ("int32_t", "count"))
)


def of_codes(e: Emission, p: Primitive) -> Function:
    """TFLite's and CMSIS-NN's: the mean of the codes themselves, half away from zero."""
    _refuse_empty(p)
    q, target = p["x"], p["target"]
    zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
    total = f"{e.file.use('wrap32')}(sum + (int64_t)count * {zero})"
    nudged = "accumulator + (accumulator > 0 ? (int64_t)(count / 2) : -(int64_t)(count / 2))"
    lines = [
        line("int32_t", "accumulator", total, p.step("accumulator").formula),
        line("int64_t", "nudged", nudged, p.step("nudged").formula),
        line("int64_t", "rounded", "nudged / count", p.step("rounded").formula),
        saturated(e, "rounded", target.dtype),
    ]
    return e.function("quantized_mean", ctype(target.dtype), (SUM, COUNT, *zeros), lines)


def by_multiplier(e: Emission, p: Primitive) -> Function:
    """QNNPACK's, XNNPACK's and FBGEMM's: the sum times a float32 multiplier of the window, in the scheme's form."""
    _refuse_empty(p)
    q, target = p["x"], p["target"]
    x_scale, x_scales = e.parameter(q.scale_name, q.scale, "float")
    y_scale, y_scales = e.parameter(target.scale_name, target.scale, "float")
    product = f"{x_scale} / ({y_scale} * (float)count)"
    if e.file.scheme.name == "fbgemm":
        product = f"{x_scale} / {y_scale} / (float)count"
    lines = [
        line("int32_t", "wrapped", f"{e.file.use('wrap32')}(sum)", "sum modulo 2^32"),
        line("float", "multiplier", product, p.step("multiplier").formula),
    ]
    rest = _in_float(e, p) if p.find("quantized_multiplier") is None else _in_fixed_point(e, p)
    operands = (SUM, COUNT, *x_scales, *y_scales, *rest.operands)
    return to_code(e, p, "quantized_mean", operands, [*lines, *rest.lines], rest.zero_point)


def _in_float(e: Emission, p: Primitive) -> Part:
    x86 = e.file.scheme.name in ("fbgemm", "qnnpack")
    rest = rounded_lines(e, p, x86=x86)
    scaled = line("float", "scaled", "(float)wrapped * multiplier", p.step("scaled").formula)
    return Part([scaled, *rest.lines], rest.operands, rest.zero_point)


def _in_fixed_point(e: Emission, p: Primitive) -> Part:
    """The 24 bits of the multiplier, taken apart for each window: its count decides them."""
    shifts = p.step("right_shift").value
    twice = p.find("high_product") is not None
    lowest = -LARGEST_SHIFT // 2 if twice else 1
    finite = np.isfinite(p.step("multiplier").value).all()
    if not finite or (shifts < lowest).any() or (shifts > LARGEST_SHIFT).any():
        raise ExportError(
            "a multiplier of the mean has a shift that a 64-bit integer does not have: take scales that are nearer to each other"
        )
    bits, down = (31, "-exponent") if twice else (24, "24 - exponent")
    factor, shift = p.step("quantized_multiplier"), p.step("right_shift")
    lines = [
        "int exponent;",
        line(
            "int32_t",
            "quantized_multiplier",
            f"(int32_t)ldexpf(frexpf(multiplier, &exponent), {bits})",
            factor.formula,
        ),
        line("int", "right_shift", down, shift.formula),
    ]
    return Part([*lines, *(_twice if twice else _once)(e, p)])


def _twice(e: Emission, p: Primitive) -> Sequence[str]:
    high, rounded = p.step("high_product"), p.step("rounded")
    moved = "(int64_t)wrapped * ((int64_t)1 << (right_shift < 0 ? -right_shift : 0))"
    sqrdmulh, away = e.file.use("sqrdmulh"), e.file.use("shift_half_away")
    down = f"{away}(high_product, right_shift > 0 ? right_shift : 0)"
    return [
        line("int32_t", "left_shifted", f"{e.file.use('wrap32')}({moved})"),
        line("int32_t", high.name, f"{sqrdmulh}(left_shifted, quantized_multiplier)", high.formula),
        line("int64_t", rounded.name, down, rounded.formula),
    ]


def _once(e: Emission, p: Primitive) -> Sequence[str]:
    wide, rounded = p.step("wide_product"), p.step("rounded")
    how = "shift_half_up" if rounded.formula.endswith("half up") else "shift_half_away"
    shifted = f"{e.file.use('wrap32')}({e.file.use(how)}({wide.name}, right_shift))"
    return [
        line("int64_t", wide.name, "(int64_t)wrapped * quantized_multiplier", wide.formula),
        line("int64_t", rounded.name, shifted, rounded.formula),
    ]


def _refuse_empty(p: Primitive) -> None:
    if (np.asarray(p["pool"].count) == 0).any():
        raise ExportError("a window of the pool lies in the padding only: it has no mean")
