"""Fixed-point rescaling by integers only: multiplier and shift, and the ways to round the product. int64 holds int32.

Two pairs of multiplier and shift are in use: of 31 bits from a double (gemmlowp, TFLite, CMSIS-NN) and of 24 bits,
the significand of a float32 as it is (QNNPACK, XNNPACK).
"""

from collections.abc import Generator

import numpy as np

from qlab.kernels.numbers import wrap32
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes.rounding import round_half_away
from qlab.trace import Step

Term = tuple[str, Array, Array]  # name, codes minus zero point, ratio (float32)
Terms = tuple[Term, Term]
TermSteps = Generator[Step, None, Terms]


def frexp_multiplier(real: Array) -> tuple[Array, Array]:
    """real = quantized_multiplier / 2^31 · 2^shift, quantized_multiplier in [2^30, 2^31), rounded half away from zero."""
    significand, exponent = np.frexp(np.asarray(real).astype(np.float64))
    fixed = round_half_away(np.asarray(significand * 2.0**31)).astype(np.int64)
    # A significand that rounds to 1 is one half of the next power.
    carried = fixed == 2**31
    fixed, shift = np.where(carried, 2**30, fixed), np.where(carried, exponent + 1, exponent)
    return np.asarray(fixed).astype(np.int64), np.asarray(shift).astype(np.int64)


def float_bits(scale: Array) -> tuple[Array, Array]:
    """scale = multiplier / 2^shift: the 24 bits of a float32's significand, without rounding."""
    significand, exponent = np.frexp(np.asarray(scale).astype(np.float32))
    multiplier = np.asarray(significand.astype(np.float64) * 2.0**24).astype(np.int64)
    return multiplier, np.asarray(24 - exponent).astype(np.int64)


def multiplier_steps(
    name: str, quantized: Array, shift: Array, formula: str, shift_formula: str, shift_name: str
) -> Steps:
    """The two integers that a reader copies: ``quantized_multiplier`` and the shift, as int32."""
    prefix = f"{name}_" if name else ""
    yield Step(f"{prefix}quantized_multiplier", formula, quantized.astype(np.int32))
    yield Step(f"{prefix}{shift_name}", shift_formula, shift.astype(np.int32))
    return quantized


def saturating_rounding_doubling_high_mul(a: Array, b: Array) -> Array:
    """SQRDMULH: (2·a·b + 2^31) >> 32. A tie goes up; lowest · lowest saturates."""
    high = (a * b + (1 << 30)) >> 31
    return np.asarray(np.minimum(high, 2**31 - 1)).astype(np.int64)


def rounding_divide_by_power(value: Array, exponent: Array) -> Array:
    """value / 2^exponent, half away from zero."""
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + (value < 0)
    return np.asarray((value >> exponent) + ((value & mask) > threshold)).astype(np.int64)


def shift_right_half_up(value: Array, shift: Array) -> Array:
    """(value + 2^(shift - 1)) >> shift: a tie goes up."""
    return np.asarray((value + (np.int64(1) << (shift - 1))) >> shift).astype(np.int64)


def shift_right_half_away(value: Array, shift: Array) -> Array:
    """The same with 1 less where the value is negative: a tie goes away from zero."""
    return shift_right_half_up(np.asarray(value - (value < 0)), shift)


def scaled_down(value: Array, shift: Array) -> Array:
    """value / 2^shift as float64, for the eye: exact below 2^53."""
    return np.asarray(np.ldexp(value.astype(np.float64), -shift.astype(np.int32)))


def double_rounding(
    value: Array,
    quantized: Array,
    shift: Array,
    what: str,
    name: str = "",
    *,
    ties_up: bool = False,
) -> Steps:
    """MultiplyByQuantizedMultiplier in gemmlowp's way: SQRDMULH rounds to 31 bits, then the shift rounds again.

    Args:
        shift: to the left where positive; ``what`` is the value's name in formulas, ``name`` the stage's.
        ties_up: the second rounding too; otherwise it goes away from zero.
    """
    prefix = f"{name}_" if name else ""
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    if (shift > 0).any():
        shifted = wrap32(value << left)
        note = "int32 overflow wraps" if not np.array_equal(shifted, value << left) else ""
        yield Step(f"{prefix}left_shifted", f"{what} · 2^max(shift, 0)", shifted, note=note)
        value, what = shifted, f"{prefix}left_shifted"
    high = saturating_rounding_doubling_high_mul(value, quantized)
    formula = f"({what} · {prefix}quantized_multiplier + 2^30) >> 31"
    note = "the first rounding: a tie goes up"
    yield Step(f"{prefix}high_product", formula, high.astype(np.int32), note=note)
    shown = scaled_down(high, right)
    formula = f"{prefix}high_product / 2^max(-shift, 0)"
    yield Step(f"{prefix}scaled", formula, shown, decides=not name)
    if ties_up:
        rounded = np.asarray(
            np.where(right > 0, shift_right_half_up(high, np.maximum(right, 1)), high)
        )
        words, way = "half up", "up"
    else:
        rounded = rounding_divide_by_power(high, right)
        words, way = "half away from zero", "away from zero"
    note = f"the second rounding: a tie goes {way}"
    yield Step(f"{prefix}rounded", f"round {prefix}scaled {words}", rounded, note=note)
    return rounded


def single_rounding(
    value: Array,
    quantized: Array,
    shift: Array,
    what: str,
    name: str = "",
    *,
    high_word: bool = False,
) -> Steps:
    """One product of 64 bits and one rounding shift; a tie goes up.

    Args:
        high_word: the shift is done in two parts and its first kept in an int32, as CMSIS-NN does: the two differ
            only where the result overflows.
    """
    prefix = f"{name}_" if name else ""
    product = np.asarray(value * quantized).astype(np.int64)
    yield Step(f"{prefix}wide_product", f"{what} · {prefix}quantized_multiplier", product)
    total = 31 - shift
    shown = scaled_down(product, total)
    formula = f"{prefix}wide_product / 2^(31 - {prefix}shift)"
    yield Step(f"{prefix}scaled", formula, shown, decides=not name)
    if high_word:
        rounded = (wrap32(product >> (total - 1)) + 1) >> 1
    else:
        rounded = wrap32(shift_right_half_up(product, total))
    yield Step(f"{prefix}rounded", f"round {prefix}scaled half up", np.asarray(rounded))
    return np.asarray(rounded)


def elementwise_add(terms: Terms, bits: int, *, half_up: bool) -> Steps:
    """A sum of two terms, each a number of int32 times a real ratio, by integer multipliers of ``bits`` bits.

    XNNPACK (21 bits, a tie goes up), QNNPACK and MLAS on ARM64 (22 bits, away from zero).
    """
    largest = np.maximum(terms[0][2], terms[1][2])
    shift = np.asarray(bits - np.frexp(largest)[1]).astype(np.int64)
    yield Step("right_shift", f"{bits - 1} - exponent(max ratio)", shift.astype(np.int32))
    total = np.zeros((), np.int64)
    formulas = []
    for name, centered, ratio in terms:
        multiplier = np.rint(np.ldexp(ratio, shift.astype(np.int32))).astype(np.int64)
        formula = f"rint({name}_ratio · 2^right_shift)"
        yield Step(f"{name}_quantized_multiplier", formula, np.asarray(multiplier).astype(np.int32))
        total = wrap32(total + centered * multiplier)
        formulas.append(f"({name} - {name}_zero_point)·{name}_quantized_multiplier")
    yield Step("accumulator", " + ".join(formulas), total)
    yield Step("scaled", "accumulator / 2^right_shift", scaled_down(total, shift), decides=True)
    rounded = shift_right_half_up(total, shift) if half_up else shift_right_half_away(total, shift)
    yield Step("rounded", f"round scaled half {'up' if half_up else 'away from zero'}", rounded)
    return rounded
