"""Roundings of real numbers to integers, other than half to even; in the type of the number, without error.

Adding one half and truncating would be wrong in floating point: 0.49999997 + 0.5 is 1 in float32. So the whole
number below is taken first, and what is left of the number, which has no error, is compared with one half.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from qlab.arithmetic import elementwise
from qlab.qtypes import Array

ROUNDINGS = {
    "half_to_even": "half to even",
    "half_away": "half away from zero",
    "half_up": "half up",
    "toward_zero": "toward zero",
    "floor": "down",
}


def round_real(values: Array, rounding: str) -> Array:
    """Values rounded to integers; floats stay floats, fractions become Python integers; NaN and infinities stay."""
    if values.dtype == object:
        return elementwise(lambda v: _round_fraction(v, rounding), values)
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


def _round_fraction(value: Any, rounding: str) -> Any:
    if not isinstance(value, (Fraction, int)):
        return value
    value = Fraction(value)
    if rounding == "half_to_even":
        return round(value)
    if rounding == "floor":
        return math.floor(value)
    if rounding == "half_up":
        return math.floor(value + Fraction(1, 2))
    nudge = Fraction(1, 2) if rounding == "half_away" else Fraction(0)
    magnitude = math.floor(abs(value) + nudge)
    return magnitude if value >= 0 else -magnitude
