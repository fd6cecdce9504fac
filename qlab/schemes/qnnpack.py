"""qnnpack: the library, and the copy of it that PyTorch has for its engine of that name. uint8 codes only.

The library's own convolutions round twice in fixed point (``q31``). PyTorch's copy multiplies in float32: with a magic
number on ARM32, with CVTPS2DQ on x86 (``sse2``). ADD is fixed point in both, a tie goes away from zero.
"""

import dataclasses

from qlab.errors import TraceError
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
    check_scalars,
    in_int32,
    product_of_scales,
)
from qlab.schemes.fixed_point import elementwise_add
from qlab.schemes.float_forms import FORMS, float_form, integer_form
from qlab.schemes.xnnpack import ratio_terms
from qlab.trace import Step

OWN = ("sse2", "fmagic", "lrintf", "q31", "precise")


@dataclasses.dataclass(frozen=True)
class Qnnpack(Family):
    """QNNPACK's q8 operators.

    Attributes:
        form: ``sse2``, ``fmagic`` or ``lrintf`` (float32), ``q31`` or ``precise`` (integers).
    """

    form: str = "sse2"
    name: str = "qnnpack"
    source: str = (
        "pytorch/QNNPACK: src/requantization/{fp32,q31,precise}-scalar.c at 639ea0b0; pytorch/pytorch: "
        "aten/src/ATen/native/quantized/cpu/qnnpack/src/qnnpack/requantization.h, tested with 2.14.1"
    )
    dtypes: tuple[str, ...] = ("uint8",)
    cpu: str = ""

    def __post_init__(self) -> None:
        """Raises TraceError for a form that there is not."""
        if self.form not in OWN:
            raise TraceError(f"qnnpack has no form {self.form!r}; there are {', '.join(OWN)}")

    def requantize(self, accumulator: Array, scales: Scales, target: Target) -> Steps:
        """The int32 sum times the float32 multiplier, in the form."""
        self._check(target)
        product, formula = product_of_scales(self.name, scales)
        multiplier = f32(product / as_float32(self.name, target.scale))
        yield Step("multiplier", f"f32({formula} / {target.scale_name})", multiplier)
        low, high = FORMS[self.form]
        remedy = "a scale of the result that is nearer to the product of the others"
        check_range(f"qnnpack ({self.form})", "multiplier", multiplier, low, high, remedy)
        total = yield from in_int32(accumulator)
        if self.form in ("sse2", "fmagic", "lrintf"):
            return (yield from float_form(self.form, total, multiplier, "accumulator", target))
        rounded = yield from integer_form(self.form, total, multiplier, "accumulator")
        return (yield from add_zero_point(rounded, target))

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """q8vadd: two 22-bit multipliers with one shift; a tie goes away from zero."""
        self._check(target)
        check_scalars(self.name, "add", a, b, target)
        terms = yield from ratio_terms(self.name, a, b, target, 2.0**-14)
        rounded = yield from elementwise_add(terms, 22, half_up=False)
        return (yield from add_zero_point(rounded, target))

    def _mean(self, sums: Array, count: Array, x: Quantized, target: Target) -> Steps:
        if self.form not in ("sse2", "precise"):
            raise self._lacks(f"the mean of codes in the form {self.form}")
        pooled = average_pool(sums, count, x.scale, x.zero_point, target, form=self.form)
        return (yield from pooled)


def average_pool(
    sums: Array,
    count: Array,
    x_scale: Array,
    x_zero_point: Array,
    target: Target,
    *,
    form: str = "sse2",
) -> Steps:
    """avgpool and gavgpool: Σ (x - x_zero_point) times f32(x_scale / f32(y_scale · count)).

    Args:
        sums: Σ (x - x_zero_point) over each window (int64). count: the codes in it, padding included.
        x_zero_point: not looked at, as the sums are without it.
        form: ``sse2`` (PyTorch's copy on x86) or ``precise`` (the library).
    """
    multiplier = f32(f32(x_scale) / f32(f32(target.scale) * f32(count)))
    yield Step("multiplier", f"f32(x_scale / f32({target.scale_name} · count))", multiplier)
    total = yield from in_int32(sums)
    if form == "precise":
        rounded = yield from integer_form(form, total, multiplier, "accumulator")
        return (yield from add_zero_point(rounded, target))
    return (yield from float_form(form, total, multiplier, "accumulator", target))


SCHEME = Qnnpack()
VARIANTS = {f"qnnpack ({form})": Qnnpack(form) for form in OWN}
