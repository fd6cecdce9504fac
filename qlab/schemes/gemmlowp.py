"""gemmlowp: a 31-bit multiplier and a right shift, each rounding: what TFLite and CMSIS-NN took over.

The real multiplier is a float32 below 1, as the library's documentation computes it, and codes are uint8.
"""

import dataclasses

import numpy as np

from qlab.kernels.numbers import f32
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Quantized, Target
from qlab.schemes.family import (
    Family,
    Scales,
    add_zero_point,
    as_float32,
    check_range,
    dequantize_float32,
    in_int32,
    product_of_scales,
)
from qlab.schemes.fixed_point import double_rounding, frexp_multiplier, multiplier_steps
from qlab.schemes.rounding import round_half_away
from qlab.trace import Step

LEAST = 2.0**-32  # of a multiplier: the library asserts that it shifts by 31 at most


@dataclasses.dataclass(frozen=True)
class Gemmlowp(Family):
    """The library's fixed-point output stage, and the conversions of its documentation."""

    name: str = "gemmlowp"
    source: str = "google/gemmlowp: fixedpoint/fixedpoint.h at 032a5999, doc/quantization_example.cc at 4097229d"
    dtypes: tuple[str, ...] = ("uint8",)
    cpu: str = ""

    def quantize(self, x: Array, target: Target) -> Steps:
        """round(clamp(zero_point + x / scale)): the zero point is inside the float32 that is rounded."""
        self._check(target)
        scaled = f32(as_float32(self.name, x) / as_float32(self.name, target.scale))
        yield Step("scaled", f"f32(x / {target.scale_name})", scaled)
        total = f32(f32(target.zero_point) + scaled)
        yield Step("sum", f"f32({target.zero_point_name} + scaled)", total, decides=True)
        return (yield from add_zero_point_inside(total, target))

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """(q - zero_point) · scale."""
        return (yield from dequantize_float32(self.name, q, tensor, dtype))

    def requantize(self, accumulator: Array, scales: Scales, target: Target) -> Steps:
        """OutputStageQuantizeDownInt32ByFixedPoint."""
        self._check(target)
        product, formula = product_of_scales(self.name, scales)
        multiplier = f32(product / as_float32(self.name, target.scale))
        yield Step("multiplier", f"f32({formula} / {target.scale_name})", multiplier)
        remedy = "a larger scale of the result, or tflite, which shifts to the left too"
        check_range(self.name, "multiplier", multiplier, LEAST, 1, remedy)
        quantized, shift = frexp_multiplier(multiplier)
        yield from multiplier_steps(
            "",
            quantized,
            np.asarray(-shift),
            "round(multiplier · 2^31 · 2^right_shift)",
            "-exponent of multiplier in [1/2, 1)",
            "right_shift",
        )
        total = yield from in_int32(accumulator)
        rounded = yield from double_rounding(total, quantized, shift, "accumulator")
        return (yield from add_zero_point(rounded, target))


def add_zero_point_inside(total: Array, target: Target) -> Steps:
    """A sum that holds the zero point already, rounded half away from zero and saturated."""
    rounded = round_half_away(total)
    yield Step("rounded", "round half away from zero", rounded)
    exact = dataclasses.replace(target, zero_point=np.zeros((), np.int64))
    bounded = np.clip(
        np.nan_to_num(rounded.astype(np.float64), nan=-(2.0**40)), -(2.0**40), 2.0**40
    )
    return (yield from add_zero_point(bounded.astype(np.int64), exact))


SCHEME = Gemmlowp()
VARIANTS = {"gemmlowp": SCHEME}
