"""The forms of requantization that QNNPACK and XNNPACK share, on one float32 multiplier."""

import numpy as np

from qlab.kernels.numbers import f32, wrap32
from qlab.ops import Steps
from qlab.qtypes import Array, bounds
from qlab.schemes import Target
from qlab.schemes.family import add_zero_point, convert_x86
from qlab.schemes.fixed_point import (
    double_rounding,
    float_bits,
    multiplier_steps,
    scaled_down,
    shift_right_half_away,
    shift_right_half_up,
)
from qlab.trace import Step

MAGIC = 12582912.0  # 1.5 · 2^23: added to a float32 it leaves the rounded integer in the low bits
# Form → the multipliers for which it is written, from … to below.
FORMS = {
    "fmagic": (2.0**-32, 2.0**8),
    "lrintf": (2.0**-32, 2.0**8),
    "sse2": (2.0**-32, 2.0**8),
    "rndnu": (2.0**-32, 2.0**8),
    "rndna": (2.0**-32, 1.0),
    "precise": (2.0**-32, 1.0),
    "gemmlowp": (2.0**-32, 1.0),
    "q31": (2.0**-32, 1.0),
}


def float_form(form: str, value: Array, multiplier: Array, what: str, target: Target) -> Steps:
    """f32(f32(value) · multiplier), rounded half to even by a magic number, by lrintf or by CVTPS2DQ.

    ``fmagic`` clamps before it rounds, the others after; CVTPS2DQ (``sse2``) gives the lowest int32 for what does not
    fit, so there a very large sum ends at the lowest code.
    """
    scaled = f32(f32(value) * multiplier)
    yield Step("scaled", f"f32(f32({what}) · multiplier)", scaled, decides=True)
    if form != "fmagic":
        rounded = convert_x86(scaled) if form == "sse2" else np.rint(scaled.astype(np.float64))
        rounded = np.asarray(rounded).astype(np.int64)
        yield Step("rounded", "rint(scaled)", rounded)
        return (yield from add_zero_point(rounded, target))
    low, high = bounds(target.dtype)
    lowest, highest = f32(low - target.zero_point), f32(high - target.zero_point)
    clamped = f32(np.minimum(np.maximum(scaled, lowest), highest))
    zero_point = target.zero_point_name
    yield Step("clamped", f"clamp(scaled, {low} - {zero_point}, {high} - {zero_point})", clamped)
    magic = f32(clamped + np.float32(MAGIC))
    yield Step("with_magic", f"f32(clamped + {MAGIC:.0f})", magic)
    bits = np.asarray(np.ascontiguousarray(magic).view(np.int32)).reshape(magic.shape)
    rounded = bits.astype(np.int64) - np.asarray(np.float32(MAGIC)).view(np.int32).astype(np.int64)
    note = "the sum has no bits below 1, so it was rounded half to even"
    yield Step("rounded", "bits(with_magic) - 0x4B400000", np.asarray(rounded), note=note)
    return (yield from add_zero_point(np.asarray(rounded), target))


def integer_form(form: str, value: Array, multiplier: Array, what: str) -> Steps:
    """The float32's 24 bits as an integer multiplier, and a rounding shift of the 64-bit product."""
    significand, shift = float_bits(multiplier)
    if form in ("gemmlowp", "q31"):
        # Seven zero bits more make the 31 bits that SQRDMULH wants.
        quantized, right = significand << 7, shift - 24
        formula = "the 24 bits of the float32 multiplier · 2^7"
        shift_formula = "-exponent of multiplier in [1/2, 1)"
        yield from multiplier_steps("", quantized, right, formula, shift_formula, "right_shift")
        return (yield from double_rounding(value, quantized, np.asarray(-right), what))
    formula = "the 24 bits of the float32 multiplier"
    shift_formula = "so that multiplier = quantized_multiplier / 2^right_shift"
    yield from multiplier_steps("", significand, shift, formula, shift_formula, "right_shift")
    product = np.asarray(value * significand).astype(np.int64)
    yield Step("wide_product", f"{what} · quantized_multiplier", product)
    shown = scaled_down(product, shift)
    yield Step("scaled", "wide_product / 2^right_shift", shown, decides=True)
    if form == "rndnu":
        rounded, words = shift_right_half_up(product, shift), "half up"
    else:
        rounded, words = shift_right_half_away(product, shift), "half away from zero"
    rounded = wrap32(rounded)
    yield Step("rounded", f"round scaled {words}", rounded)
    return rounded
