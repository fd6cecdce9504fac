"""tflite: TensorFlow Lite's own kernels (LiteRT), without a delegate: integers only, double or single rounding.

The multiplier is computed from the scales once, in double or float32 as the operator does, and kept as a 31-bit
integer and a shift. Whether the product is rounded once or twice is a build setting (TFLITE_SINGLE_ROUNDING). The
optimized kernels on x86 differ from the reference kernels in the direction of a tie (ruy's matrix products), in
QUANTIZE, and where a sum or product leaves an int16.
"""

import dataclasses

import numpy as np

from qlab.errors import TraceError
from qlab.kernels.numbers import f32, wrap32
from qlab.ops import Steps
from qlab.qtypes import Array, saturate
from qlab.schemes import Quantized, Target
from qlab.schemes.family import (
    Family,
    Scales,
    add_zero_point,
    as_float32,
    check_range,
    check_scalars,
    dequantize_float32,
    in_int32,
    product_of_codes,
    product_of_scales,
)
from qlab.schemes.fixed_point import (
    double_rounding,
    frexp_multiplier,
    multiplier_steps,
    single_rounding,
)
from qlab.schemes.rounding import round_half_away
from qlab.schemes.xnnpack import quantize_by_reciprocal
from qlab.trace import Step

LEFT_SHIFT = 20  # of ADD's inputs, so that 9 bits and 22 more fill an int32
CHOICES = {
    "rounding": ("double", "single", "float64"),
    "product": ("float64", "float32"),
    "kernels": ("reference", "optimized"),
}


@dataclasses.dataclass(frozen=True)
class Tflite(Family):
    """TensorFlow Lite's reference kernels.

    Attributes:
        rounding: ``double`` (SQRDMULH, then a rounding shift) or ``single`` (one rounding shift of 64 bits);
            ``float64`` is LiteRT's reference FULLY_CONNECTED, which multiplies by the real multiplier.
        product: the type in which the scales of the two operands are multiplied: ``float64`` for CONV_2D and
            DEPTHWISE_CONV_2D, ``float32`` for FULLY_CONNECTED with one scale for the whole weight.
        kernels: ``reference``, or ``optimized`` on x86.
    """

    rounding: str = "double"
    product: str = "float64"
    kernels: str = "reference"
    name: str = "tflite"
    source: str = (
        "tensorflow/tensorflow: lite/kernels/internal/common.cc at 4713c153, quantization_util.cc at 02145c25, "
        "reference/integer_ops/add.h at 06f3c933 and pooling.h at 12b1fb47, reference/quantize.h at 07466c75, "
        "lite/kernels/add.cc at 01da0c85 and mul.cc at 15899aa7; "
        "google-ai-edge/LiteRT: reference/integer_ops/fully_connected.h at 13eade63; google/ruy; "
        "tested with ai_edge_litert 2.3.0"
    )
    cpu: str = ""

    def __post_init__(self) -> None:
        """Raises TraceError for a rounding or a product that there is not."""
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise TraceError(
                    f"{self.name} has no {name} {getattr(self, name)!r}; there are {', '.join(allowed)}"
                )

    def quantize(self, x: Array, target: Target) -> Steps:
        """AffineQuantize: float32 division, round half away from zero, zero point afterwards."""
        self._check(target)
        if self.kernels == "optimized":
            return (yield from quantize_by_reciprocal(self.name, x, target))
        scaled = f32(as_float32(self.name, x) / as_float32(self.name, target.scale))
        yield Step("scaled", f"f32(x / {target.scale_name})", scaled, decides=True)
        rounded = round_half_away(scaled)
        yield Step("rounded", "round half away from zero", rounded)
        low, high = (
            -(2.0**40),
            2.0**40,
        )  # far outside the codes: only infinities and NaN are changed
        whole = np.clip(np.nan_to_num(rounded.astype(np.float64), nan=low), low, high)
        return (yield from add_zero_point(whole.astype(np.int64), target))

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """(q - zero_point) · scale."""
        return (yield from dequantize_float32(self.name, q, tensor, dtype))

    def requantize(self, accumulator: Array, scales: Scales, target: Target) -> Steps:
        """MultiplyByQuantizedMultiplier of the int32 sum, one multiplier for each channel."""
        self._check(target)
        y_scale = as_float32(self.name, target.scale).astype(np.float64)
        if self.product == "float32":
            product, formula = product_of_scales(self.name, scales)
            product = product.astype(np.float64)
        else:
            product, formula = np.ones((), np.float64), " · ".join(n for n, _ in scales)
            for _, scale in scales:
                product = product * as_float32(self.name, scale).astype(np.float64)
        real = np.asarray(product / y_scale)
        yield Step("multiplier", f"f64({formula} / {target.scale_name})", real)
        total = yield from in_int32(accumulator)
        if self.rounding == "float64":
            scaled = np.asarray(total.astype(np.float64) * real)
            yield Step("scaled", "f64(accumulator · multiplier)", scaled, decides=True)
            rounded = round_half_away(scaled).astype(np.int64)
            yield Step("rounded", "round half away from zero", rounded)
        else:
            up = self.kernels == "optimized"
            rounded = yield from self._rescaled(total, real, "accumulator", ties_up=up)
        return (yield from add_zero_point(rounded, target))

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """ADD: both inputs brought to twice the larger scale with 20 more bits, added, and rescaled."""
        self._check(target)
        check_scalars(self.name, "ADD", a, b, target)
        scales = [as_float32(self.name, q.scale).astype(np.float64) for q in (a, b)]
        twice = np.asarray(2 * np.maximum(*scales))
        formula = f"2 · max({a.scale_name}, {b.scale_name})"
        yield Step("twice_max_input_scale", formula, twice)
        terms = []
        for q, scale in zip((a, b), scales, strict=True):
            real = np.asarray(scale / twice)
            yield Step(f"{q.name}_multiplier", f"{q.scale_name} / twice_max_input_scale", real)
            shifted = wrap32((q.codes - q.zero_point) << LEFT_SHIFT)
            formula = f"({q.name} - {q.zero_point_name}) · 2^{LEFT_SHIFT}"
            yield Step(f"{q.name}_shifted", formula, shifted)
            terms.append((yield from self._rescaled(shifted, real, f"{q.name}_shifted", q.name)))
        total = wrap32(np.asarray(terms[0] + terms[1]))
        yield Step("accumulator", f"{a.name}_rounded + {b.name}_rounded", total)
        y_scale = as_float32(self.name, target.scale).astype(np.float64)
        real = np.asarray(twice / (2.0**LEFT_SHIFT * y_scale))
        formula = f"twice_max_input_scale / (2^{LEFT_SHIFT} · {target.scale_name})"
        yield Step("multiplier", formula, real)
        remedy = "ADD only scales down here: a larger scale of the result"
        check_range(self.name, "output multiplier", real, 0, 1, remedy)
        rounded = yield from self._rescaled(total, real, "accumulator")
        return (yield from self._narrowed(rounded, target, saturates=False))

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """MUL: the int32 product, rescaled by a multiplier that is computed in float32."""
        self._check(target)
        check_scalars(self.name, "MUL", a, b, target)
        value = yield from product_of_codes(a, b)
        scales = ((a.scale_name, a.scale), (b.scale_name, b.scale))
        product, formula = product_of_scales(self.name, scales)
        real = f32(product / as_float32(self.name, target.scale))
        yield Step("multiplier", f"f32({formula} / {target.scale_name})", real)
        rounded = yield from self._rescaled(value, real, "product")
        return (yield from self._narrowed(rounded, target, saturates=True))

    def _narrowed(self, rounded: Array, target: Target, *, saturates: bool) -> Steps:
        """The zero point is added, in an int16 by the optimized kernels: MUL saturates to it first, ADD wraps."""
        if self.kernels != "optimized":
            return (yield from add_zero_point(rounded, target))
        if saturates:
            narrowed, how = np.clip(rounded, -(2**15), 2**15 - 1), "saturated"
        else:
            narrowed, how = rounded.astype(np.int16).astype(np.int64), "wrapped"
        yield Step("narrowed", f"rounded, {how} to int16", narrowed)
        biased = (narrowed + target.zero_point).astype(np.int16).astype(np.int64)
        wraps = not np.array_equal(biased, rounded + target.zero_point)
        note = "int16 overflow wraps, so a large value ends at the other end" if wraps else ""
        yield Step("biased", f"narrowed + {target.zero_point_name}, in int16", biased, note=note)
        codes = saturate(biased, target.dtype)
        yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
        return codes

    def _rescaled(
        self, value: Array, real: Array, what: str, name: str = "", *, ties_up: bool = False
    ) -> Steps:
        """``value`` times the real multiplier, by integers; the steps of a stage begin with its ``name``."""
        remedy = "a scale of the result that is nearer to the product of the others"
        check_range(self.name, "multiplier", real, 0, 2.0**31, remedy)
        quantized, shift = frexp_multiplier(real)
        # Everything would be shifted out, so the multiplier becomes 0.
        lost = shift < -31
        quantized, shift = np.where(lost, 0, quantized), np.where(lost, 0, shift)
        if self.rounding == "single":
            quantized = np.where(shift > 30, 2**31 - 1, quantized)
            shift = np.minimum(shift, 30)
        quantized, shift = np.asarray(quantized), np.asarray(shift)
        of = f"{name}_multiplier" if name else "multiplier"
        prefix = f"{name}_" if name else ""
        yield from multiplier_steps(
            name,
            quantized,
            shift,
            f"round({of} · 2^31 / 2^{prefix}shift)",
            f"exponent of {of} = significand · 2^{prefix}shift, significand in [1/2, 1)",
            "shift",
        )
        if ties_up and self.rounding == "double":
            form = double_rounding(value, quantized, shift, what, name, ties_up=True)
        else:
            form = self._rounded(value, quantized, shift, what, name)
        return (yield from form)

    def _rounded(self, value: Array, quantized: Array, shift: Array, what: str, name: str) -> Steps:
        form = single_rounding if self.rounding == "single" else double_rounding
        return (yield from form(value, quantized, shift, what, name))

    def _mean(self, sums: Array, count: Array, x: Quantized, target: Target) -> Steps:
        pooled = average_pool(sums, count, x.scale, x.zero_point, target, name=self.name)
        return (yield from pooled)


def average_pool(
    sums: Array,
    count: Array,
    x_scale: Array,
    x_zero_point: Array,
    target: Target,
    *,
    name: str = "tflite",
) -> Steps:
    """AVERAGE_POOL_2D: the mean of the codes themselves, half away from zero; scales are not looked at.

    Because the codes are averaged, zero point and all, a tie goes away from the code 0, not from the real 0.

    Args:
        sums: Σ (x - x_zero_point) over each window (int64). count: the codes in it, padding left out.
    """
    same = np.array_equal(x_scale, target.scale) and np.array_equal(x_zero_point, target.zero_point)
    if not same:
        raise TraceError(
            f"{name}'s average pool needs the same scale and zero point of x and {target.name}: "
            "it averages codes; requantize afterwards"
        )
    total = wrap32(sums + count * x_zero_point)
    yield Step("accumulator", "Σ x", total)
    scaled = np.asarray(total.astype(np.float64) / count)
    yield Step("scaled", "accumulator / count", scaled, decides=True)
    half = np.asarray(count // 2).astype(np.int64)
    nudged = np.asarray(np.where(total > 0, total + half, total - half)).astype(np.int64)
    yield Step("nudged", "accumulator ± floor(count / 2)", nudged)
    quotient = np.asarray(np.sign(nudged) * (np.abs(nudged) // count)).astype(np.int64)
    yield Step("rounded", "nudged / count, toward zero", quotient)
    inside = dataclasses.replace(target, zero_point=np.zeros((), np.int64))
    return (yield from add_zero_point(quotient, inside))


SCHEME = Tflite()
VARIANTS = {
    "tflite (double rounding)": SCHEME,
    "tflite (single rounding)": Tflite("single"),
    "tflite (double rounding, float32 product)": Tflite("double", "float32"),
    "tflite (single rounding, float32 product)": Tflite("single", "float32"),
    "tflite (optimized)": Tflite(kernels="optimized"),
    "tflite (optimized, float32 product)": Tflite("double", "float32", "optimized"),
    "tflite (float64)": Tflite("float64"),
}
