"""Rounder numbers: 1, powers of two, few decimal digits."""

import math
from collections.abc import Iterator

import numpy as np


def rounder(value: np.generic) -> Iterator[np.generic]:
    """Numbers of the same type and sign that are rounder than this one, the roundest first."""
    number = float(value)
    if not math.isfinite(number):
        return
    kind = value.dtype.type
    seen: set[float] = {number}
    for candidate in _rounder(number):
        rounded = kind(candidate)
        if float(rounded) in seen or not math.isfinite(float(rounded)):
            continue
        if difficulty(rounded) >= difficulty(value):
            continue
        seen.add(float(rounded))
        yield rounded


def difficulty(value: np.generic) -> int:
    """0 for 1 and −1, 1 for other powers of two, else one more than the decimal digits that it takes."""
    number = abs(float(value))
    if number in (0.0, 1.0):
        return 0
    if not math.isfinite(number) or math.frexp(number)[0] == 0.5:
        return 1
    mantissa = str(abs(value)).partition("e")[0].replace(".", "").strip("0")  # type: ignore[arg-type]
    return 1 + len(mantissa)


def _rounder(number: float) -> Iterator[float]:
    if not number:
        return
    yield math.copysign(1.0, number)
    exponent = math.frexp(number)[1]
    for power in (exponent - 1, exponent):
        yield math.copysign(math.ldexp(1.0, power), number)
    for digits in range(8):
        below = float(f"{number:.{digits}e}")
        unit = 10.0 ** (math.floor(math.log10(abs(number))) - digits)
        yield below
        yield float(f"{below - unit:.{digits}e}")
        yield float(f"{below + unit:.{digits}e}")
