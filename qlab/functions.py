"""Functions of one real number that operators compute by a table or elementwise, each over every number system.

Over the rationals a transcendental value is given to `PRECISION` bits, far more than decides any rounding to a code: by
Lindemann's theorem exp of a rational other than 0 is no rational, so it is never on a tie. What is rational stays exact.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from qlab.arithmetic import elementwise, refuse_large
from qlab.qtypes import Array

Real = Fraction | float
"""A rational, or a float for NaN and the infinities."""

PRECISION = 256  # bits of a transcendental value
# exp(-1000) is below 2^-1442; the smallest float64 above zero is 2^-1074.
SMALLEST_EXPONENT = -1000
MOST_VALUES = 4_000_000  # of a tensor of floats: Python's math computes about a million a second

_CONTEXT = mpmath.mp.clone()
# 1000 has 10 bits: so the rounding of the argument costs none of the result's.
_CONTEXT.prec = PRECISION + 32


@dataclasses.dataclass(frozen=True)
class Function:
    """A function of one real.

    Attributes:
        name: the operator's: ``Sigmoid``.
        formula: plain text in ``x``.
        exact: over the rationals.
        double: the same in float64, by Python's math: the same on every CPU, where numpy's exp is not.
        parameters: by the attribute's name, as stored (float32).
    """

    name: str
    formula: str
    exact: Callable[[Real], Real]
    double: Callable[[float], float]
    parameters: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def of(self, text: str) -> str:
        """The formula of another argument."""
        return re.sub(r"\bx\b", text, self.formula)


@functools.lru_cache(maxsize=8192)
def exp(x: Fraction) -> Fraction:
    """e^x for x ≤ 0, to `PRECISION` bits; exp(0) is 1, and below `SMALLEST_EXPONENT` it is 0."""
    if x == 0:
        return Fraction(1)
    if x < SMALLEST_EXPONENT:
        return Fraction(0)
    mantissa, exponent = _CONTEXT.exp(
        _CONTEXT.mpf(x.numerator) / _CONTEXT.mpf(x.denominator)
    ).man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def logarithm(x: Fraction) -> Fraction:
    """The natural logarithm of x ≥ 1, to `PRECISION` bits; of 1 it is 0."""
    if x == 1:
        return Fraction(0)
    value = _CONTEXT.log(_CONTEXT.mpf(x.numerator) / _CONTEXT.mpf(x.denominator))
    mantissa, exponent = value.man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def exp_or_limit(x: Real) -> Real:
    """e^x for x ≤ 0, -inf (0) or NaN."""
    if isinstance(x, Fraction):
        return exp(x)
    return Fraction(0) if x == -math.inf else math.nan


def _exact_sigmoid(x: Real) -> Real:
    if not isinstance(x, Fraction):
        return x if x != x else Fraction(int(x > 0))
    small = exp(-abs(x))  # so no power is enormous, however large x is
    return (1 if x >= 0 else small) / (1 + small)


def _double_sigmoid(x: float) -> float:
    small = math.exp(-abs(x))
    return (1.0 if x >= 0 else small) / (1.0 + small) if x == x else x


SIGMOID = Function("Sigmoid", "1 / (1 + exp(-x))", _exact_sigmoid, _double_sigmoid)


def leaky_relu(alpha: float) -> Function:
    """LeakyRelu with a slope, which is read as the float32 that an attribute holds."""
    slope = float(np.float32(alpha))
    rational = Fraction(slope) if math.isfinite(slope) else slope

    def exact(x: Real) -> Real:
        return x if x >= 0 or x != x else rational * x

    def double(x: float) -> float:
        return slope * x if x < 0 else x

    return Function("LeakyRelu", "x where x ≥ 0, else alpha · x", exact, double, {"alpha": slope})


def apply(function: Callable[[Any], Any], values: Array, double: Callable[[float], float]) -> Array:
    """A function of each element: ``function`` of rationals, ``double`` of floats.

    A float32 result is the float64 result rounded once.
    """
    if values.dtype == object:
        return elementwise(function, values)
    refuse_large(values.shape, MOST_VALUES)
    unique, where = np.unique(values, return_inverse=True)
    results = np.array([double(v) for v in unique.astype(np.float64).tolist()], np.float64)
    return np.asarray(results.astype(values.dtype)[where.reshape(values.shape)])
