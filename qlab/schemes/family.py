"""What the schemes of other implementation families share: exact sums, operands, refusals, the last two steps.

A family is a frozen dataclass over `Family` that defines the primitives it has; the others refuse in one line.
A new primitive of the protocol needs one more refusal here, and nothing in the families that lack it.
"""

import numpy as np

from qlab.errors import TraceError
from qlab.functions import Function
from qlab.interpolation import Resampling
from qlab.kernels.numbers import f32, wrap32
from qlab.lowering import Rows
from qlab.ops import Steps
from qlab.qtypes import Array, dtype_name, is_float8, is_integer, saturate
from qlab.schemes import Affine, BlockedWeights, Contraction, Pool, Quantized, Target
from qlab.schemes.sums import sum_of_products
from qlab.trace import Step

Scales = tuple[tuple[str, Array], ...]


class Family:
    """The primitives that a family lacks, each a refusal, and those that all families have in common."""

    name: str
    source: str
    dtypes: tuple[str, ...] = ("int8", "uint8")
    cpu: str = ""

    def real(self, values: Array) -> Array:
        """Stored values as float32. Raises TraceError for another float type."""
        return as_float32(self.name, values)

    def accumulate(self, contraction: Contraction) -> Steps:
        """Σ (a - a_zero_point)·(b - b_zero_point); what an int32 holds of it is the business of what follows."""
        return (yield from sum_of_products(contraction))

    def quantize(self, x: Array, target: Target) -> Steps:
        """Refused."""
        raise self._lacks("quantizing a real tensor")

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """Refused."""
        raise self._lacks("dequantizing a tensor")

    def dynamic_quantize(self, x: Array, tensors: tuple[str, str, str]) -> Steps:
        """Refused."""
        raise self._lacks("quantizing with parameters chosen from the data")

    def requantize(self, accumulator: Array, scales: Scales, target: Target) -> Steps:
        """Refused."""
        raise self._lacks("requantizing")

    def rescale(self, accumulator: Array, scales: Scales, tensor: str) -> Steps:
        """Refused."""
        raise self._lacks("turning integer sums into reals")

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """Refused."""
        raise self._lacks("adding two quantized tensors")

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """Refused."""
        raise self._lacks("multiplying two quantized tensors")

    def contract(self, contraction: Contraction, affine: Affine | None = None) -> Steps:
        """Refused."""
        raise self._lacks("a product of real matrices")

    def rescale_with_bias(
        self,
        accumulator: Array,
        scales: Scales,
        bias: Array | None,
        tensor: str,
        *,
        separate: bool = False,
    ) -> Steps:
        """Refused."""
        raise self._lacks("turning integer sums into reals with a bias")

    def convert(self, q: Quantized, target: Target) -> Steps:
        """Refused."""
        raise self._lacks("converting codes to another scale")

    def cast(self, x: Array, tensor: str, dtype: str) -> Steps:
        """Refused."""
        raise self._lacks("Cast")

    def select(self, condition: Array, x: Array, y: Array, tensor: str, dtype: str) -> Steps:
        """Refused."""
        raise self._lacks("Where")

    def resize(self, x: Array, how: Resampling, tensor: str, dtype: str) -> Steps:
        """Refused."""
        raise self._lacks("Resize")

    def evaluate(self, x: Array, function: Function, tensor: str, dtype: str) -> Steps:
        """Refused."""
        raise self._lacks(function.name)

    def lookup(self, q: Quantized, function: Function, target: Target) -> Steps:
        """Refused."""
        raise self._lacks(f"{function.name} of codes")

    def softmax(self, x: Array, rows: Rows, tensor: str, dtype: str) -> Steps:
        """Refused."""
        raise self._lacks("Softmax")

    def quantized_softmax(self, q: Quantized, rows: Rows, target: Target) -> Steps:
        """Refused."""
        raise self._lacks("Softmax of codes")

    def multiply_blocks(
        self,
        a: Array,
        weights: BlockedWeights,
        bias: Array | None,
        tensor: str,
        *,
        accuracy_level: int,
    ) -> Steps:
        """Refused."""
        raise self._lacks("a product with weights in blocks")

    def average_pool(self, x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
        """Refused."""
        raise self._lacks("the mean of reals")

    def quantized_average_pool(self, x: Quantized, pool: Pool, target: Target) -> Steps:
        """Σ (x - x_zero_point) over each window and how many they are, then the family's own mean."""
        self._check(target)
        check_scalars(self.name, "average pool", x, target)
        windows = pool.windows(x.codes - x.zero_point, np.zeros((), np.int64))
        sums, count = pool.arrange(windows.sum(-1)), pool.arrange(pool.count)
        yield Step("sum", f"Σ ({x.name} - {x.zero_point_name})", sums)
        yield Step("count", "elements of the window", count)
        return (yield from self._mean(sums, count, x, target))

    def _mean(self, sums: Array, count: Array, x: Quantized, target: Target) -> Steps:
        """Refused."""
        raise self._lacks("the mean of codes")

    def max_pool(self, x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
        """Refused."""
        raise self._lacks("MaxPool")

    def _lacks(self, what: str) -> TraceError:
        return TraceError(
            f"{what} has no arithmetic in {self.name}; take exact or float32, or of a QDQ group the one operator in its place"
        )

    def _check(self, target: Target) -> None:
        """Raises TraceError where the family has no kernel for the codes' type."""
        if target.dtype not in self.dtypes:
            allowed = " and ".join(self.dtypes)
            raise TraceError(
                f"{target.dtype} has no arithmetic in {self.name}; {allowed} have: requantize to one of them"
            )


def as_float32(name: str, values: Array) -> Array:
    """Scales and reals as float32. Raises TraceError for another float type: the families have none."""
    if not is_integer(values.dtype) and values.dtype != np.float32:
        raise TraceError(
            f"{dtype_name(values.dtype)} has no arithmetic in {name}; float32 has: cast to float32"
        )
    return np.asarray(values).astype(np.float32)


def check_range(name: str, what: str, values: Array, low: float, high: float, remedy: str) -> None:
    """Raises TraceError unless low ≤ values < high everywhere (0 as ``low`` is exclusive)."""
    inside = (values > 0 if low == 0 else values >= low) & (values < high)
    if not inside.all():
        first = values.reshape(-1)[int(np.argmin(inside.reshape(-1)))]
        lower = "0 <" if low == 0 else f"{_power(low)} ≤"
        upper = f" < {_power(high)}" if np.isfinite(high) else ""
        raise TraceError(f"{name} needs {lower} {what}{upper}, got {first:.9g} ({remedy})")


def _power(value: float) -> str:
    exponent = int(np.frexp(value)[1]) - 1
    return f"{value:g}" if -1 <= exponent <= 1 else f"2^{exponent}"


def check_scalars(name: str, operator: str, *parts: Quantized | Target) -> None:
    """Raises TraceError where an operand of an elementwise operator has a scale or zero point per channel."""
    if max(v.size for part in parts for v in (part.scale, part.zero_point)) > 1:
        raise TraceError(
            f"{name}'s {operator} has one scale and zero point for each whole tensor, not one for each channel: "
            "quantize per tensor"
        )


def product_of_scales(name: str, scales: Scales) -> tuple[Array, str]:
    """The scales multiplied in float32, one after the other, and the formula."""
    value, formula = as_float32(name, scales[0][1]), scales[0][0]
    for other, scale in scales[1:]:
        value, formula = f32(value * as_float32(name, scale)), f"f32({formula} · {other})"
    return value, formula


def product_of_codes(a: Quantized, b: Quantized) -> Steps:
    """(A - A_zero_point)·(B - B_zero_point) in int32."""
    value = wrap32(np.asarray((a.codes - a.zero_point) * (b.codes - b.zero_point)))
    formula = f"({a.name} - {a.zero_point_name}) · ({b.name} - {b.zero_point_name})"
    yield Step("product", formula, value)
    return value


def in_int32(accumulator: Array) -> Steps:
    """The sum as an int32 holds it; a step only where that is another number."""
    total = wrap32(accumulator)
    if not np.array_equal(total, accumulator):
        yield Step("wrapped", "accumulator modulo 2^32", total, note="int32 overflow wraps")
    return total


def add_zero_point(rounded: Array, target: Target) -> Steps:
    """Rounded + y_zero_point, saturated: in the integers, so an order of clamping and adding does not matter."""
    biased = np.asarray(rounded + target.zero_point).astype(np.int64)
    yield Step("biased", f"rounded + {target.zero_point_name}", biased)
    codes = saturate(biased, target.dtype)
    yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
    return codes


def convert_x86(values: Array) -> Array:
    """CVTPS2DQ: half to even; what does not fit int32, NaN included, is the lowest int32."""
    with np.errstate(invalid="ignore"):
        fits = (values >= -(2.0**31)) & (values < 2.0**31)
        return np.asarray(np.where(fits, np.rint(values.astype(np.float64)), -(2.0**31))).astype(
            np.int64
        )


def dequantize_float32(name: str, q: Quantized, tensor: str, dtype: str) -> Steps:
    """f32(f32(q - zero_point) · scale): the same in every family that converts to float32."""
    if dtype != "float32":
        raise TraceError(f"dequantizing to {dtype} has no arithmetic in {name}; float32 has")
    if is_float8(q.codes.dtype):
        raise TraceError(
            f"{dtype_name(q.codes.dtype)} has no arithmetic in {name}; integer codes have"
        )
    centered = np.asarray(q.codes - q.zero_point).astype(np.int64)
    yield Step("centered", f"{q.name} - {q.zero_point_name}", centered)
    value = f32(f32(centered) * as_float32(name, q.scale))
    formula = f"f32(f32(centered) · {q.scale_name})"
    yield Step("output", formula, value, tensor=tensor, dtype=dtype)
    return value
