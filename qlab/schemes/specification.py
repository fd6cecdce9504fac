"""The specification's formulas over any number system: what exact, float64 and float32 have in common.

Rounding is half to even, once, where the specification rounds. QuantizeLinear and everything that requantizes add
the zero point after rounding; the schemas of com.microsoft QLinearAdd and QLinearMul have it inside the sum, so
there it is added before.
"""

import dataclasses

import numpy as np

from qlab.arithmetic import (
    EXACT,
    Arithmetic,
    add,
    contract_exact,
    elementwise,
    mul,
    sub,
    to_float8,
    to_integers,
)
from qlab.errors import TraceError
from qlab.ops import Steps
from qlab.qtypes import Array, bounds, is_float8, is_integer, saturate
from qlab.schemes import Affine, Contraction, Quantized, Target
from qlab.trace import Index, Step, Taps


@dataclasses.dataclass(frozen=True)
class Specification:
    """The specification read in one number system."""

    arithmetic: Arithmetic
    source: str
    cpu: str = ""

    @property
    def name(self) -> str:
        """The name of the number system."""
        return self.arithmetic.name

    def real(self, values: Array) -> Array:
        """Stored values as numbers of the system."""
        return self.arithmetic.real(values)

    def quantize(self, x: Array, target: Target) -> Steps:
        """Saturate(round(x / scale) + zero_point); of a float8 type x / scale, rounded to it."""
        scaled = self.arithmetic.divide(self.real(x), self.real(target.scale))
        of_float8 = target.dtype if is_float8(target.dtype) else ""
        yield Step("scaled", f"x / {target.scale_name}", scaled, decides=True, format=of_float8)
        if not of_float8:
            return (yield from self._to_codes(scaled, target))
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
        zero_point = saturate(to_integers(self.arithmetic.rint(real_zero_point)), "uint8")
        yield Step(
            "y_zero_point", "saturate(round(real_zero_point))", zero_point, tensor=tensors[2]
        )
        target = Target("y", y_scale, zero_point.astype(np.int64), "uint8", tensors[0])
        return (yield from self.quantize(x, target))

    def accumulate(self, contraction: Contraction) -> Steps:
        """Σ (a - a_zero_point)·(b - b_zero_point) over the integers."""
        c = contraction
        total = c.arrange(np.matmul(c.lhs - c.lhs_zero_point, c.rhs - c.rhs_zero_point))
        a, b = c.names
        formula = f"Σ ({a} - {a}_zero_point) · ({b} - {b}_zero_point)"
        yield Step("accumulator", formula, total, taps=lambda index: _integer_taps(c, index))
        return total

    def requantize(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], target: Target
    ) -> Steps:
        """Saturate(round(accumulator · scales / y_scale) + y_zero_point)."""
        product, name = self._scale_product(scales)
        multiplier = self.arithmetic.divide(product, self.real(target.scale))
        yield Step("multiplier", f"{name} / {target.scale_name}", multiplier)
        scaled = mul(self.real(accumulator), multiplier)
        yield Step("scaled", "accumulator · multiplier", scaled, decides=True)
        return (yield from self._to_codes(scaled, target))

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

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """(A_scale·(A - A_zero_point) + B_scale·(B - B_zero_point)) / C_scale + C_zero_point."""
        reals = []
        for q in (a, b):
            reals.append(mul(self.real(q.scale), self.real(np.asarray(q.codes - q.zero_point))))
            yield Step(
                f"{q.name}_real", f"{q.scale_name} · ({q.name} - {q.zero_point_name})", reals[-1]
            )
        scaled = self.arithmetic.divide(add(*reals), self.real(target.scale))
        yield Step("scaled", f"({a.name}_real + {b.name}_real) / {target.scale_name}", scaled)
        return (yield from self._sum_to_codes(scaled, target))

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """(A - A_zero_point)·(B - B_zero_point)·(A_scale·B_scale / C_scale) + C_zero_point."""
        product = np.asarray((a.codes - a.zero_point) * (b.codes - b.zero_point))
        formula = f"({a.name} - {a.zero_point_name}) · ({b.name} - {b.zero_point_name})"
        yield Step("product", formula, product)
        scales, name = self._scale_product(((a.scale_name, a.scale), (b.scale_name, b.scale)))
        multiplier = self.arithmetic.divide(scales, self.real(target.scale))
        yield Step("multiplier", f"{name} / {target.scale_name}", multiplier)
        scaled = mul(self.real(product), multiplier)
        yield Step("scaled", "product · multiplier", scaled)
        return (yield from self._sum_to_codes(scaled, target))

    def contract(self, contraction: Contraction, affine: Affine | None = None) -> Steps:
        """Σ a·b, added in the order of the taps; then alpha · sum + beta · C."""
        c = contraction
        if self.arithmetic is EXACT:
            total = contract_exact(c.lhs, c.rhs)
        else:
            total = np.zeros(c.result_shape, c.lhs.dtype)
            for k in range(c.lhs.shape[-1]):
                total = total + c.lhs[..., :, k, None] * c.rhs[..., k, None, :]
        value = c.arrange(total)
        formula = f"Σ {c.names[0]} · {c.names[1]}"
        yield Step("accumulator", formula, value, taps=lambda index: _real_taps(c, index))
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

    def _scale_product(self, scales: tuple[tuple[str, Array], ...]) -> tuple[Array, str]:
        product = self.real(scales[0][1])
        for _, scale in scales[1:]:
            product = mul(product, self.real(scale))
        return product, " · ".join(name for name, _ in scales)

    def _to_codes(self, scaled: Array, target: Target) -> Steps:
        """Round, add the zero point, saturate."""
        _require_codes(target)
        rounded = self.arithmetic.rint(scaled)
        yield Step("rounded", "round half to even", rounded, note=_nan_note(rounded))
        biased = np.asarray(to_integers(rounded) + target.zero_point)
        yield Step("biased", f"rounded + {target.zero_point_name}", biased)
        codes = saturate(biased, target.dtype)
        yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
        return codes

    def _sum_to_codes(self, scaled: Array, target: Target) -> Steps:
        """Add the zero point, round, saturate."""
        _require_codes(target)
        total = add(scaled, self.real(target.zero_point))
        yield Step("sum", f"scaled + {target.zero_point_name}", total, decides=True)
        rounded = self.arithmetic.rint(total)
        yield Step("rounded", "round half to even", rounded, note=_nan_note(rounded))
        codes = saturate(to_integers(rounded), target.dtype)
        yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
        return codes


def _require_codes(target: Target) -> None:
    if not is_integer(target.dtype):
        raise TraceError(f"quantizing to {target.dtype} has no arithmetic here; integer types have")
    bounds(target.dtype)


def _nan_note(values: Array) -> str:
    if any(v != v for v in values.reshape(-1)):
        return "NaN has no code and the specification names none; the lowest code is taken"
    return ""


def _integer_taps(c: Contraction, index: Index) -> Taps:
    a, b, a_zero_point, b_zero_point = c.operands(index)
    products = (a - a_zero_point) * (b - b_zero_point)
    return Taps(
        c.axes,
        c.positions,
        a,
        b,
        a_zero_point,
        b_zero_point,
        products,
        np.cumsum(products),
        np.zeros_like(products),
    )


def _real_taps(c: Contraction, index: Index) -> Taps:
    a, b, _, _ = c.operands(index)
    products = a * b
    running = elementwise(lambda v: v, products) if products.dtype == object else products
    zero = np.zeros(len(a), np.int64)
    return Taps(c.axes, c.positions, a, b, zero, zero, products, np.cumsum(running), zero)
