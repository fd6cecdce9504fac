"""xnnpack: requantization by a float32 multiplier (all x86 and newer ARM kernels) or by its 24 bits in fixed point.

The multiplier is f32(f32(x_scale · w_scale) / y_scale) in every form; the float32 forms differ in how they round (a
magic number, lrintf), never in the code. ``rndnu`` (ties up), ``rndna`` (ties away from zero) and ``gemmlowp`` (two
roundings) are integers only. ADD is fixed point everywhere.
"""

import dataclasses

import numpy as np

from qlab.errors import TraceError
from qlab.kernels.numbers import f32
from qlab.ops import Steps
from qlab.qtypes import Array, bounds
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
from qlab.schemes.fixed_point import Term, TermSteps, elementwise_add
from qlab.schemes.float_forms import FORMS, float_form, integer_form
from qlab.trace import Step


@dataclasses.dataclass(frozen=True)
class Xnnpack(Family):
    """XNNPACK's qs8 and qu8 operators.

    Attributes:
        form: ``fmagic``, ``lrintf``, ``rndnu``, ``rndna`` or ``gemmlowp``.
    """

    form: str = "fmagic"
    name: str = "xnnpack"
    source: str = (
        "google/XNNPACK: src/qs8-requantization/*-scalar*.c at 76d8f142, 7bfb92b3, dd83e68d and 0761026f, "
        "src/microparams-init.c, src/reference/unary-elementwise.cc at 08563ef0"
    )
    cpu: str = ""

    def __post_init__(self) -> None:
        """Raises TraceError for a form that there is not."""
        allowed = ("fmagic", "lrintf", "rndnu", "rndna", "gemmlowp")
        if self.form not in allowed:
            raise TraceError(f"xnnpack has no form {self.form!r}; there are {', '.join(allowed)}")

    def quantize(self, x: Array, target: Target) -> Steps:
        """x · (1 / scale): a product with the rounded reciprocal, half to even."""
        self._check(target)
        return (yield from quantize_by_reciprocal(self.name, x, target))

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """(q - zero_point) · scale."""
        return (yield from dequantize_float32(self.name, q, tensor, dtype))

    def requantize(self, accumulator: Array, scales: Scales, target: Target) -> Steps:
        """The int32 sum times the float32 multiplier, in the form."""
        multiplier = yield from self._multiplier(scales, target)
        low, high = FORMS[self.form]
        remedy = "a scale of the result that is nearer to the product of the others"
        check_range(f"xnnpack ({self.form})", "multiplier", multiplier, low, high, remedy)
        total = yield from in_int32(accumulator)
        return (yield from self._rescaled(total, multiplier, "accumulator", target))

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """vadd: two 21-bit multipliers with one shift; a tie goes up."""
        self._check(target)
        check_scalars(self.name, "add", a, b, target)
        terms = yield from ratio_terms(self.name, a, b, target, 2.0**-10)
        rounded = yield from elementwise_add(terms, 21, half_up=True)
        return (yield from add_zero_point(rounded, target))

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """vmul: the product of the codes, requantized; kernels have it in fp32 and rndnu."""
        if self.form in ("rndna", "gemmlowp"):
            raise TraceError(
                f"xnnpack ({self.form}) has no multiply; fmagic, lrintf and rndnu have: take one of them"
            )
        check_scalars(self.name, "multiply", a, b, target)
        value = yield from product_of_codes(a, b)
        scales = ((a.scale_name, a.scale), (b.scale_name, b.scale))
        multiplier = yield from self._multiplier(scales, target)
        remedy = "a scale of the result that is nearer to the product of the others"
        check_range("xnnpack's multiply", "multiplier", multiplier, 2.0**-16, 2.0**8, remedy)
        return (yield from self._rescaled(value, multiplier, "product", target))

    def _multiplier(self, scales: Scales, target: Target) -> Steps:
        self._check(target)
        product, formula = product_of_scales(self.name, scales)
        multiplier = f32(product / as_float32(self.name, target.scale))
        yield Step("multiplier", f"f32({formula} / {target.scale_name})", multiplier)
        return multiplier

    def _rescaled(self, value: Array, multiplier: Array, what: str, target: Target) -> Steps:
        if self.form in ("fmagic", "lrintf"):
            return (yield from float_form(self.form, value, multiplier, what, target))
        rounded = yield from integer_form(self.form, value, multiplier, what)
        return (yield from add_zero_point(rounded, target))

    def _mean(self, sums: Array, count: Array, x: Quantized, target: Target) -> Steps:
        pooled = average_pool(sums, count, x.scale, x.zero_point, target, form=self.form)
        return (yield from pooled)


def ratio_terms(name: str, a: Quantized, b: Quantized, target: Target, low: float) -> TermSteps:
    """The two terms of `elementwise_add`: codes minus zero point, and f32(scale / y_scale)."""
    terms: list[Term] = []
    for q in (a, b):
        ratio = f32(as_float32(name, q.scale) / as_float32(name, target.scale))
        yield Step(f"{q.name}_ratio", f"f32({q.scale_name} / {target.scale_name})", ratio)
        remedy = "scales of the operands that are nearer to that of the result"
        what = f"{q.scale_name} / {target.scale_name}"
        check_range(f"{name}'s add", what, ratio, low, 2.0**8, remedy)
        terms.append((q.name, np.asarray(q.codes - q.zero_point).astype(np.int64), ratio))
    return terms[0], terms[1]


def quantize_by_reciprocal(name: str, x: Array, target: Target) -> Steps:
    """f32(x · f32(1 / scale)), rounded half to even, then the zero point: XNNPACK's and FBGEMM's."""
    inverse = f32(np.float32(1) / as_float32(name, target.scale))
    yield Step("inverse_scale", f"f32(1 / {target.scale_name})", inverse)
    scaled = f32(as_float32(name, x) * inverse)
    yield Step("scaled", "f32(x · inverse_scale)", scaled, decides=True)
    low, high = bounds("int32")
    whole = np.rint(np.nan_to_num(scaled.astype(np.float64), nan=low, posinf=high, neginf=low))
    rounded = np.asarray(np.clip(whole, low, high)).astype(np.int64)
    yield Step("rounded", "rint(scaled)", rounded)
    return (yield from add_zero_point(rounded, target))


def average_pool(
    sums: Array,
    count: Array,
    x_scale: Array,
    x_zero_point: Array,
    target: Target,
    *,
    form: str = "fmagic",
) -> Steps:
    """avgpool and gavgpool: Σ (x - x_zero_point) times f32(x_scale / f32(y_scale · count)).

    Args:
        sums: Σ (x - x_zero_point) over each window (int64). count: the codes in it.
        x_zero_point: not looked at, as the sums are without it.
    """
    multiplier = f32(f32(x_scale) / f32(f32(target.scale) * f32(count)))
    yield Step("multiplier", f"f32(x_scale / f32({target.scale_name} · count))", multiplier)
    ratio = f32(f32(x_scale) / f32(target.scale))
    remedy = "a scale of the result that is nearer to x_scale"
    what = f"x_scale / {target.scale_name}"
    check_range("xnnpack's average pool", what, ratio, 2.0**-8, 2.0**8, remedy)
    total = yield from in_int32(sums)
    if form in ("fmagic", "lrintf"):
        return (yield from float_form(form, total, multiplier, "accumulator", target))
    rounded = yield from integer_form(form, total, multiplier, "accumulator")
    return (yield from add_zero_point(rounded, target))


SCHEME = Xnnpack()
VARIANTS = {
    f"xnnpack ({form})": Xnnpack(form)
    for form in ("fmagic", "lrintf", "rndnu", "rndna", "gemmlowp")
}
