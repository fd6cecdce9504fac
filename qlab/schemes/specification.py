"""The specification's formulas over any number system: what exact, float64 and float32 have in common.

Rounding is half to even, once, where the specification rounds. QuantizeLinear and everything that requantizes add
the zero point after rounding; the schemas of com.microsoft QLinearAdd and QLinearMul have it inside the sum, so
there it is added before. Both can be set otherwise, to compare with an arithmetic that does it otherwise.
"""

import dataclasses
import itertools

import numpy as np

from qlab.arithmetic import (
    EXACT,
    Arithmetic,
    add,
    contract_exact,
    elementwise,
    moved,
    mul,
    sub,
    to_float8,
    to_integers,
)
from qlab.errors import TraceError
from qlab.functions import Function, apply
from qlab.interpolation import Resampling, resize
from qlab.lowering import Rows
from qlab.ops import Steps
from qlab.qtypes import Array, bounds, is_float8, is_integer, saturate
from qlab.schemes import Affine, BlockedWeights, Contraction, Pool, Quantized, Target, means
from qlab.schemes.normalization import softmax_steps
from qlab.schemes.rounding import ROUNDINGS, round_real
from qlab.schemes.sums import real_taps, sum_of_products
from qlab.trace import Step, whole_step

PLACES = {
    "": "",
    "before": "zero point before rounding",
    "after": "zero point after rounding",
}


@dataclasses.dataclass(frozen=True)
class Specification:
    """The specification read in one number system.

    Attributes:
        rounding: a key of ``ROUNDINGS``. zero_point: added before or after rounding; "" is where the
            operator has it. reciprocal: a result is multiplied by 1 / y_scale, rounded, instead of divided by y_scale.
    """

    arithmetic: Arithmetic
    source: str
    cpu: str = ""
    rounding: str = "half_to_even"
    zero_point: str = ""
    reciprocal: bool = False

    def __post_init__(self) -> None:
        """Raises TraceError for one that there is not."""
        for value, known in ((self.rounding, ROUNDINGS), (self.zero_point, PLACES)):
            if value not in known:
                raise TraceError(f"{value!r} is unknown; there are {', '.join(map(repr, known))}")

    @property
    def name(self) -> str:
        """The name of the number system."""
        return self.arithmetic.name

    def real(self, values: Array) -> Array:
        """Stored values as numbers of the system."""
        return self.arithmetic.real(values)

    def quantize(self, x: Array, target: Target) -> Steps:
        """Saturate(round(x / scale) + zero_point); of a float8 type x / scale, rounded to it."""
        scaled, formula = self.over_scale(self.real(x), "x", target)
        if not is_float8(target.dtype):
            return (yield from self.to_codes(scaled, formula, target, "after"))
        yield Step("scaled", formula, scaled, decides=True, format=target.dtype)
        value = to_float8(scaled, target.dtype, saturate=target.saturate)
        ends = "saturate to" if target.saturate else "beyond the largest no number,"
        formula = f"round half to even, {ends} {target.dtype}"
        yield Step("output", formula, value, tensor=target.tensor)
        return value

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """(q - zero_point) · scale; float8 has no zero point."""
        if is_float8(q.codes.dtype):
            value = mul(self.real(q.codes), self.real(q.scale))
            formula = f"{q.name} · {q.scale_name}"
            yield Step("output", formula, value, tensor=tensor, dtype=dtype)
            return value
        centered = np.asarray(q.codes - q.zero_point)
        yield Step("centered", f"{q.name} - {q.zero_point_name}", centered)
        value = mul(self.real(centered), self.real(q.scale))
        formula = f"({q.name} - {q.zero_point_name}) · {q.scale_name}"
        yield Step("output", formula, value, tensor=tensor, dtype=dtype)
        return value

    def dynamic_quantize(self, x: Array, tensors: tuple[str, str, str]) -> Steps:
        """The function body of DynamicQuantizeLinear."""
        values = self.real(x)
        zero = self.real(np.zeros((), np.int64))
        low, high = (
            np.asarray(pick([zero[()], *values.reshape(-1)]), values.dtype) for pick in (min, max)
        )
        yield Step("minimum", "min(0, min(x))", low)
        yield Step("maximum", "max(0, max(x))", high)
        y_scale = self.arithmetic.divide(sub(high, low), self.real(np.asarray(255)))
        yield Step("y_scale", "(maximum - minimum) / 255", y_scale, tensor=tensors[1])
        real_zero_point = sub(zero, self.arithmetic.divide(low, y_scale))
        note = "0 / 0: the specification gives no value here" if high == low else ""
        yield Step(
            "real_zero_point", "0 - minimum / y_scale", real_zero_point, note=note, decides=True
        )
        zero_point = saturate(to_integers(self._rounded(real_zero_point)), "uint8")
        yield Step(
            "y_zero_point", "saturate(round(real_zero_point))", zero_point, tensor=tensors[2]
        )
        target = Target("y", y_scale, zero_point.astype(np.int64), "uint8", tensors[0])
        return (yield from self.quantize(x, target))

    def accumulate(self, contraction: Contraction) -> Steps:
        """Σ (a - a_zero_point)·(b - b_zero_point) over the integers."""
        return (yield from sum_of_products(contraction))

    def requantize(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], target: Target
    ) -> Steps:
        """Saturate(round(accumulator · scales / y_scale) + y_zero_point)."""
        product, name = self._scale_product(scales)
        multiplier, formula = self.over_scale(product, name, target)
        yield Step("multiplier", formula, multiplier)
        scaled = mul(self.real(accumulator), multiplier)
        return (yield from self.to_codes(scaled, "accumulator · multiplier", target, "after"))

    def rescale(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], tensor: str
    ) -> Steps:
        """Accumulator · scales."""
        multiplier, name = self._scale_product(scales)
        yield Step("multiplier", name, multiplier)
        value = mul(self.real(accumulator), multiplier)
        yield Step(
            "output" if tensor else "scaled", "accumulator · multiplier", value, tensor=tensor
        )
        return value

    def rescale_with_bias(
        self,
        accumulator: Array,
        scales: tuple[tuple[str, Array], ...],
        bias: Array | None,
        tensor: str,
        *,
        separate: bool = False,
    ) -> Steps:
        """Accumulator · scales + bias."""
        value = yield from self.rescale(accumulator, scales, "" if bias is not None else tensor)
        if bias is not None:
            value = add(value, bias)
            yield Step("output", "scaled + bias", value, tensor=tensor)
        return value

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """(A_scale·(A - A_zero_point) + B_scale·(B - B_zero_point)) / C_scale + C_zero_point."""
        reals = []
        for q in (a, b):
            reals.append(mul(self.real(q.scale), self.real(np.asarray(q.codes - q.zero_point))))
            yield Step(
                f"{q.name}_real", f"{q.scale_name} · ({q.name} - {q.zero_point_name})", reals[-1]
            )
        sum_of = f"({a.name}_real + {b.name}_real)"
        scaled, formula = self.over_scale(add(*reals), sum_of, target)
        return (yield from self.to_codes(scaled, formula, target, "before"))

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """(A - A_zero_point)·(B - B_zero_point)·(A_scale·B_scale / C_scale) + C_zero_point."""
        product = np.asarray((a.codes - a.zero_point) * (b.codes - b.zero_point))
        formula = f"({a.name} - {a.zero_point_name}) · ({b.name} - {b.zero_point_name})"
        yield Step("product", formula, product)
        scales, name = self._scale_product(((a.scale_name, a.scale), (b.scale_name, b.scale)))
        multiplier, formula = self.over_scale(scales, name, target)
        yield Step("multiplier", formula, multiplier)
        scaled = mul(self.real(product), multiplier)
        return (yield from self.to_codes(scaled, "product · multiplier", target, "before"))

    def convert(self, q: Quantized, target: Target) -> Steps:
        """Saturate(round((q - zero_point) · scale / y_scale) + y_zero_point)."""
        centered = np.asarray(q.codes - q.zero_point)
        yield Step("centered", f"{q.name} - {q.zero_point_name}", centered)
        real = mul(self.real(centered), self.real(q.scale))
        yield Step("real", f"centered · {q.scale_name}", real)
        scaled, formula = self.over_scale(real, "real", target)
        return (yield from self.to_codes(scaled, formula, target, "after"))

    def cast(self, x: Array, tensor: str, dtype: str) -> Steps:
        """The same number; what is an output is rounded to its type."""
        value = self.real(x)
        yield Step("output", f"input as {dtype}", value, tensor=tensor, dtype=dtype)
        return value

    def select(self, condition: Array, x: Array, y: Array, tensor: str, dtype: str) -> Steps:
        """X where the condition holds, else Y."""
        value = np.asarray(np.where(condition, x, y))
        yield Step("output", "X where condition, else Y", value, tensor=tensor, dtype=dtype)
        return value

    def resize(self, x: Array, how: Resampling, tensor: str, dtype: str) -> Steps:
        """The formulas of the specification; interpolated codes are truncated."""
        return (yield from resize(self.arithmetic, x, how, tensor, dtype))

    def contract(self, contraction: Contraction, affine: Affine | None = None) -> Steps:
        """Σ a·b, added in the order of the taps; then alpha · sum + beta · C."""
        c = contraction
        if self.arithmetic is EXACT:
            total = contract_exact(c.lhs, c.rhs)
        else:
            total = np.zeros(c.result_shape, c.lhs.dtype)
            for k in range(c.lhs.shape[-1]):
                total = total + c.lhs[..., :, k, None] * c.rhs[..., k, None, :]
        value = moved(total, c.arrange)
        formula = f"Σ {c.names[0]} · {c.names[1]}"
        yield Step("accumulator", formula, value, taps=lambda index: real_taps(c, index))
        if affine is None:
            return value
        formula = "accumulator"
        if affine.alpha != 1:
            value, formula = mul(self.real(affine.alpha), value), "alpha · accumulator"
            yield Step("scaled_by_alpha", formula, value)
        if affine.addend is not None:
            term, name = affine.addend, "C"
            if affine.beta != 1:
                term, name = mul(self.real(affine.beta), term), "beta · C"
            value = add(value, term)
            yield Step("with_bias", f"{formula} + {name}", value)
        return value

    def average_pool(self, x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
        """Σ X over the window / how many they are."""
        return (yield from means.average_pool(self, x, pool, tensor, dtype))

    def quantized_average_pool(self, x: Quantized, pool: Pool, target: Target) -> Steps:
        """Saturate(round(x_scale · Σ (x - x_zero_point) / count / y_scale) + y_zero_point)."""
        return (yield from means.quantized_average_pool(self, x, pool, target))

    def max_pool(self, x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
        """The largest element of X in the window; NaN where there is one."""
        if x.dtype == object:
            fill = np.asarray(-np.inf, object)
        else:
            fill = np.asarray(bounds(dtype)[0] if is_integer(x.dtype) else -np.inf, x.dtype)
        windows = pool.windows(x, fill)
        value = windows[..., 0]
        for k in range(1, windows.shape[-1]):
            value = larger(value, windows[..., k])
        value = pool.arrange(value)
        empty = not pool.inside.any(-1).all()
        note = "a window without an element of X has the lowest number" if empty else ""
        yield Step("output", "max X", value, tensor=tensor, dtype=dtype, note=note)
        return value

    def multiply_blocks(
        self,
        a: Array,
        weights: BlockedWeights,
        bias: Array | None,
        tensor: str,
        *,
        accuracy_level: int,
    ) -> Steps:
        """A · ((B - zero_points) · scales) + bias. The accuracy level is a permission, no part of the result."""
        w = weights
        centered = w.codes - w.spread(w.zero_point)
        real = mul(self.real(centered[:, : w.k]), self.real(w.spread(w.scale)[:, : w.k]))
        contraction = w.contraction(a, real)
        yield whole_step("B_real", "(B - zero_points) · scales", real, a.ndim)
        value = yield from self.contract(contraction)
        formula = "accumulator"
        if bias is not None:
            value, formula = add(value, bias), "accumulator + bias"
        yield Step("output", formula, value, tensor=tensor)
        return value

    def evaluate(self, x: Array, function: Function, tensor: str, dtype: str) -> Steps:
        """The function, rounded once to the number system."""
        value = apply(function.exact, self.real(x), function.double)
        yield Step("output", function.formula, value, tensor=tensor, dtype=dtype)
        return value

    def lookup(self, q: Quantized, function: Function, target: Target) -> Steps:
        """DequantizeLinear, the function, QuantizeLinear."""
        real = yield from self._dequantized(q)
        value = apply(function.exact, real, function.double)
        yield Step("value", function.of("real"), value)
        scaled, formula = self.over_scale(value, "value", target)
        return (yield from self.to_codes(scaled, formula, target, "after"))

    def softmax(self, x: Array, rows: Rows, tensor: str, dtype: str) -> Steps:
        """exp(x - maximum) / Σ exp(x - maximum)."""
        return (yield from softmax_steps(self.arithmetic, self.real(x), rows, tensor, dtype))

    def quantized_softmax(self, q: Quantized, rows: Rows, target: Target) -> Steps:
        """DequantizeLinear, Softmax, QuantizeLinear."""
        real = yield from self._dequantized(q)
        value = yield from softmax_steps(self.arithmetic, real, rows)
        scaled, formula = self.over_scale(value, "probability", target)
        return (yield from self.to_codes(scaled, formula, target, "after"))

    def _dequantized(self, q: Quantized) -> Steps:
        """What the codes stand for, as an intermediate."""
        value = mul(self.real(q.scale), self.real(np.asarray(q.codes - q.zero_point)))
        yield Step("real", f"{q.scale_name} · ({q.name} - {q.zero_point_name})", value)
        return value

    def _scale_product(self, scales: tuple[tuple[str, Array], ...]) -> tuple[Array, str]:
        product = self.real(scales[0][1])
        for _, scale in scales[1:]:
            product = mul(product, self.real(scale))
        return product, " · ".join(name for name, _ in scales)

    def over_scale(self, value: Array, name: str, target: Target) -> tuple[Array, str]:
        """A result over the scale of the codes, and its formula."""
        scale = self.real(target.scale)
        if not self.reciprocal:
            return self.arithmetic.divide(value, scale), f"{name} / {target.scale_name}"
        inverse = self.arithmetic.divide(self.real(np.ones((), np.int64)), scale)
        return mul(value, inverse), f"{name} · (1 / {target.scale_name})"

    def _rounded(self, values: Array) -> Array:
        """Values rounded to integers of the number system."""
        if self.rounding == "half_to_even":
            return self.arithmetic.rint(values)
        return round_real(values, self.rounding)

    def to_codes(self, scaled: Array, formula: str, target: Target, place: str) -> Steps:
        """Round and saturate, with the zero point added before or after rounding."""
        before = (self.zero_point or place) == "before"
        yield Step("scaled", formula, scaled, decides=not before)
        _require_codes(target)
        value = scaled
        if before:
            value = add(scaled, self.real(target.zero_point))
            yield Step("sum", f"scaled + {target.zero_point_name}", value, decides=True)
        rounded = self._rounded(value)
        note = _nan_note(rounded)
        yield Step("rounded", f"round {ROUNDINGS[self.rounding]}", rounded, note=note)
        result = to_integers(rounded)
        if not before:
            result = np.asarray(result + target.zero_point)
            yield Step("biased", f"rounded + {target.zero_point_name}", result)
        codes = saturate(result, target.dtype)
        yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
        return codes


def variants_of(
    scheme: Specification, *, reciprocals: tuple[bool, ...] = (False,)
) -> dict[str, Specification]:
    """A number system with every rounding and every place of the zero point, by what each is called.

    Args:
        reciprocals: with which values of ``reciprocal``; in exact arithmetic both are one.
    """
    found = {}
    for reciprocal, (rounding, words), (place, where) in itertools.product(
        reciprocals, ROUNDINGS.items(), PLACES.items()
    ):
        said = (
            words if rounding != scheme.rounding else "",
            where,
            "times 1 / scale" if reciprocal else "",
        )
        parameters = ", ".join(filter(None, said))
        label = f"{scheme.name} ({parameters})" if parameters else scheme.name
        found[label] = dataclasses.replace(
            scheme, rounding=rounding, zero_point=place, reciprocal=reciprocal
        )
    return found


def larger(a: Array, b: Array) -> Array:
    """Elementwise maximum, NaN where either is."""
    if a.dtype == object:
        return elementwise(lambda p, q: p if p != p or p >= q else q, a, b)
    return np.asarray(np.maximum(a, b))


def _require_codes(target: Target) -> None:
    if not is_integer(target.dtype):
        raise TraceError(f"quantizing to {target.dtype} has no arithmetic here; integer types have")
    bounds(target.dtype)


def _nan_note(values: Array) -> str:
    if not is_integer(values.dtype) and (values != values).any():
        return "NaN has no code and the specification names none; the lowest code is taken"
    return ""
