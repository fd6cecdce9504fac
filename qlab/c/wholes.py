"""Rational numbers between nodes as C: whole numbers of LIMBS 32-bit limbs over one denominator a tensor.

The denominators are known when the file is written, and so are bounds of the numerators, from which LIMBS follows.
"""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction

from qlab.arithmetic import EXACT
from qlab.errors import ExportError
from qlab.qtypes import Array

TYPE = """\
/* The numerator of a rational number: lowest limb first, in two's complement. Its tensor has the denominator. */
typedef struct {
    uint32_t limb[LIMBS];
} whole;"""
MOST_LIMBS = 128
HELPERS = {
    "add_multiple": (
        """\
/* sum += a * b; in two's complement the low limbs of a product are the same as without signs. */
static void add_multiple(uint32_t *sum, const uint32_t *a, const uint32_t *b)
{
    for (int i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (int j = 0; a[i] != 0 && i + j < LIMBS; j++) {
            carry += (uint64_t)a[i] * b[j] + sum[i + j];
            sum[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
    }
}""",
        (),
    ),
    "from_float": (
        """\
/* A finite float as a whole number of 2^-172. */
static whole from_float(float x)
{
    whole value = {{0}};
    const uint32_t one[LIMBS] = {1};
    add_real(value.limb, one, x, 1);
    return value;
}""",
        ("add_real",),
    ),
    "is_less": (
        """\
/* a < b: the highest limb, which has the sign, decides first. */
static int is_less(const uint32_t *a, const uint32_t *b)
{
    for (int i = LIMBS - 1; i >= 0; i--) {
        const uint32_t sign = i == LIMBS - 1 ? 0x80000000u : 0;
        if (a[i] != b[i]) {
            return (a[i] ^ sign) < (b[i] ^ sign);
        }
    }
    return 0;
}""",
        (),
    ),
    "bit_length": (
        """\
/* How many bits a whole number has without its sign. */
static int bit_length(const uint32_t *value)
{
    const uint32_t sign = value[LIMBS - 1] >> 31 ? 0xFFFFFFFFu : 0;
    int length = LIMBS * 32;
    while (length > 0 && (((value[(length - 1) / 32] ^ sign) >> (length - 1) % 32) & 1) == 0) {
        length--;
    }
    return length;
}""",
        (),
    ),
    "to_float": (
        """\
/* value / denominator rounded once to float32, half to even: mantissa * 2^exponent with 24 bits, or fewer at -149. */
static float to_float(whole value, const uint32_t *denominator)
{
    int exponent = bit_length(value.limb) - bit_length(denominator) - 24;
    exponent = exponent < -149 ? -149 : exponent;
    for (;; exponent++) {
        uint32_t sum[LIMBS], divisor[LIMBS];
        memcpy(sum, value.limb, sizeof sum);
        memcpy(divisor, denominator, sizeof divisor);
        if (exponent < 0) {
            shift_left(sum, -exponent);
        } else {
            shift_left(divisor, exponent);
        }
        const int64_t mantissa = round_half_to_even(sum, divisor, 0, 0, -0x1000000, 0x1000000);
        if (mantissa > -0x1000000 && mantissa < 0x1000000) {
            return ldexpf((float)mantissa, exponent); /* infinite beyond the largest float */
        }
    }
}""",
        ("bit_length", "shift_left", "round_half_to_even"),
    ),
}
"""Name → text of a C function, and the helpers that it calls."""


@dataclasses.dataclass(frozen=True)
class Rational:
    """What the whole numbers of a tensor stand for: each over ``denominator``, none larger than ``bound``."""

    denominator: int
    bound: int

    @property
    def said(self) -> str:
        """``numerator over 2^12``."""
        power = self.denominator.bit_length() - 1
        known = f"2^{power}" if self.denominator == 1 << power else f"{self.denominator:#x}"
        return f"numerator over {known}"

    @property
    def limbs(self) -> int:
        """How many limbs hold them, and what is made on the way to a float."""
        bits = max(self.bound.bit_length(), self.denominator.bit_length())
        return (bits + 30) // 32 + 1


GIVEN = Rational(1 << 172, 1 << 300)
"""Any finite float32."""


def fractions(name: str, values: Array) -> tuple[Fraction, ...]:
    """Stored numbers as fractions. Raises ExportError where one is NaN or infinite."""
    found = tuple(EXACT.real(values).reshape(-1))
    if not all(isinstance(v, Fraction) for v in found):
        raise ExportError(f"{name} has NaN or an infinity: exact C needs finite numbers")
    return found


def common(values: tuple[Fraction, ...]) -> tuple[list[int], Rational]:
    """The numerators over the least common denominator."""
    denominator = math.lcm(*(v.denominator for v in values))
    numerators = [int(v * denominator) for v in values]
    return numerators, Rational(denominator, max(map(abs, numerators), default=0))


def together(numbers: Sequence[Rational]) -> tuple[Rational, list[int]]:
    """One denominator for some tensors, and what the whole numbers of each become multiplied by."""
    denominator = math.lcm(*(n.denominator for n in numbers))
    factors = [denominator // n.denominator for n in numbers]
    largest = max(f * n.bound for f, n in zip(factors, numbers, strict=True))
    return Rational(denominator, largest), factors
