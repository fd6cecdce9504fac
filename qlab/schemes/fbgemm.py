"""fbgemm: PyTorch on x86 with the engine of that name: float32 multiplier, CVTPS2DQ (half to even), zero point.

Elementwise operators are PyTorch's own vectorized kernels. Sums are exact, as on a CPU with VNNI; without it
FBGEMM's uint8 × int8 products saturate in pairs, which is not modelled here.
"""

import dataclasses

import numpy as np

from qlab.arithmetic import fma
from qlab.kernels.numbers import f32, wrap32
from qlab.ops import Steps
from qlab.qtypes import Array, saturate
from qlab.schemes import Quantized, Target
from qlab.schemes.family import (
    Family,
    Scales,
    as_float32,
    check_scalars,
    convert_x86,
    dequantize_float32,
    in_int32,
    product_of_codes,
    product_of_scales,
)
from qlab.schemes.float_forms import float_form
from qlab.trace import Step

LARGEST = np.float32(2147483520)


@dataclasses.dataclass(frozen=True)
class Fbgemm(Family):
    """FBGEMM's requantization and PyTorch's quantized operators beside it."""

    name: str = "fbgemm"
    source: str = (
        "pytorch/FBGEMM: include/fbgemm/QuantUtils.h; pytorch/pytorch 2.14.1: "
        "aten/src/ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp, cpu/qlinear.cpp, cpu/qconv.cpp"
    )
    cpu: str = ""

    def quantize(self, x: Array, target: Target) -> Steps:
        """x · (1 / scale): a product with the rounded reciprocal, half to even."""
        self._check(target)
        return (yield from self._quantized(x, target))

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """(q - zero_point) · scale."""
        return (yield from dequantize_float32(self.name, q, tensor, dtype))

    def requantize(self, accumulator: Array, scales: Scales, target: Target) -> Steps:
        """requantizeOutputProcessingAvx2: the float32 of the sum times the float32 multiplier."""
        self._check(target)
        product, formula = product_of_scales(self.name, scales)
        multiplier = f32(product / as_float32(self.name, target.scale))
        yield Step("multiplier", f"f32({formula} / {target.scale_name})", multiplier)
        total = yield from in_int32(accumulator)
        return (yield from float_form("sse2", total, multiplier, "accumulator", target))

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """quantized::add: both dequantized by a fused multiply-add, added in float32, quantized."""
        self._check(target)
        check_scalars(self.name, "add", a, b, target)
        reals = []
        for q in (a, b):
            scale = as_float32(self.name, q.scale)
            shift = f32(scale * f32(-q.zero_point))
            yield Step(
                f"{q.name}_zero_real", f"f32({q.scale_name} · (-{q.zero_point_name}))", shift
            )
            reals.append(fma(scale, f32(q.codes), shift))
            formula = f"fma({q.scale_name}, {q.name}, {q.name}_zero_real)"
            yield Step(f"{q.name}_real", formula, reals[-1])
        total = f32(reals[0] + reals[1])
        yield Step("total", f"f32({a.name}_real + {b.name}_real)", total)
        return (yield from self._quantized(total, target))

    def _quantized(self, x: Array, target: Target) -> Steps:
        """QuantizeAvx2 and QuantizeAvx512: the zero point is added in an int32, which wraps for a very large x."""
        inverse = f32(np.float32(1) / as_float32(self.name, target.scale))
        yield Step("inverse_scale", f"f32(1 / {target.scale_name})", inverse)
        scaled = f32(as_float32(self.name, x) * inverse)
        yield Step("scaled", "f32(x · inverse_scale)", scaled, decides=True)
        # MINPS gives its second operand where one is NaN; the bound is the largest float32 below 2^31.
        rounded = convert_x86(np.where(scaled < LARGEST, scaled, LARGEST))
        yield Step("rounded", f"rint(min(scaled, {LARGEST:.0f}))", rounded)
        biased = wrap32(rounded + target.zero_point)
        wraps = not np.array_equal(biased, rounded + target.zero_point)
        note = "int32 overflow wraps, so a very large x ends at the other end" if wraps else ""
        yield Step("biased", f"rounded + {target.zero_point_name}", biased, note=note)
        codes = saturate(biased, target.dtype)
        yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
        return codes

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """quantized::mul: the product of the codes times f32(f32(A_scale · B_scale) · f32(1 / C_scale))."""
        self._check(target)
        check_scalars(self.name, "multiply", a, b, target)
        value = yield from product_of_codes(a, b)
        inverse = f32(np.float32(1) / as_float32(self.name, target.scale))
        yield Step("inverse_scale", f"f32(1 / {target.scale_name})", inverse)
        scales = ((a.scale_name, a.scale), (b.scale_name, b.scale))
        product, formula = product_of_scales(self.name, scales)
        multiplier = f32(product * inverse)
        yield Step("multiplier", f"f32({formula} · inverse_scale)", multiplier)
        return (yield from float_form("sse2", value, multiplier, "product", target))

    def _mean(self, sums: Array, count: Array, x: Quantized, target: Target) -> Steps:
        pooled = average_pool(sums, count, x.scale, x.zero_point, target)
        return (yield from pooled)


def average_pool(
    sums: Array, count: Array, x_scale: Array, x_zero_point: Array, target: Target
) -> Steps:
    """avg_pool2d: Σ (x - x_zero_point) times f32(f32(x_scale / y_scale) / count), half to even.

    Args:
        sums: Σ (x - x_zero_point) over each window (int64). count: the divisor.
        x_zero_point: not looked at, as the sums are without it.
    """
    multiplier = f32(f32(f32(x_scale) / f32(target.scale)) / f32(count))
    yield Step("multiplier", f"f32(f32(x_scale / {target.scale_name}) / count)", multiplier)
    total = yield from in_int32(sums)
    return (yield from float_form("sse2", total, multiplier, "accumulator", target))


SCHEME = Fbgemm()
VARIANTS = {"fbgemm": SCHEME}
