"""Roundings of real numbers to integers, other than half to even; in the type of the number, without error.

Adding one half and truncating would be wrong in floating point: 0.49999997 + 0.5 is 1 in float32. So the whole
number below is taken first, and what is left of the number, which has no error, is compared with one half.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from qlab.arithmetic import elementwise
from qlab.qtypes import Array
from qlab.reals import Reals

ROUNDINGS = {
    "half_to_even": "half to even",
    "half_away": "half away from zero",
    "half_up": "half up",
    "toward_zero": "toward zero",
    "floor": "down",
}


def round_real(values: Array, rounding: str) -> Array:
    """Values rounded to integers; floats stay floats, fractions become Python integers; NaN and infinities stay."""
    if isinstance(values, Reals):
        found = values.rounded(rounding, lambda v: elementwise(_OF_FRACTIONS[rounding], v))
        if found is not None:
            return found
    if values.dtype == object:
        return elementwise(_OF_FRACTIONS[rounding], values)
    with np.errstate(all="ignore"):
        whole = np.floor(values) if rounding in ("floor", "half_up") else np.trunc(values)
        if rounding in ("half_away", "half_up"):
            # One step further where at least half a step is left; an infinity has no rest (NaN): it stays.
            further = np.abs(values - whole) >= values.dtype.type(0.5)
            whole = np.where(further, whole + np.copysign(1, values - whole), whole)
    return np.asarray(whole).astype(values.dtype)


def round_half_away(values: Array) -> Array:
    """C's ``round``: half away from zero."""
    return round_real(values, "half_away")


def _of_fractions(whole: Callable[[int, int], int]) -> Callable[[Any], Any]:
    """A rounding of one real, from one of numerator and denominator."""

    def rounded(value: Any) -> Any:
        rational = isinstance(value, (Fraction, int))
        return whole(value.numerator, value.denominator) if rational else value

    return rounded


_OF_FRACTIONS = {
    "half_to_even": _of_fractions(lambda n, d: round(Fraction(n, d))),
    "half_away": _of_fractions(lambda n, d: _signed((2 * abs(n) + d) // (2 * d), n)),
    "half_up": _of_fractions(lambda n, d: (2 * n + d) // (2 * d)),
    "toward_zero": _of_fractions(lambda n, d: _signed(abs(n) // d, n)),
    "floor": _of_fractions(lambda n, d: n // d),
}


def _signed(magnitude: int, sign: int) -> int:
    return -magnitude if sign < 0 else magnitude
