"""Number systems: each rounding against exact fractions, ties and the ends of each format first."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from qlab.arithmetic import (
    EXACT,
    FLOAT32,
    FLOAT64,
    add,
    contract_exact,
    elementwise,
    fma,
    mul,
    round_to,
    shared,
    sub,
    to_float,
    to_integers,
)
from qlab.builder import build
from qlab.errors import TraceError
from qlab.schemes import variants
from qlab.trace import trace

BITS = {  # bit patterns: denormals, the step to normals, around 1 (even and odd mantissa), the largest
    "float64": (0, 1, 2, 2**52 - 1, 2**52, 1023 << 52, (1023 << 52) + 1, (2047 << 52) - 1),
    "float32": (0, 1, 2, 2**23 - 1, 2**23, 127 << 23, (127 << 23) + 1, (255 << 23) - 1),
    "float16": (0, 1, 2, 2**10 - 1, 2**10, 15 << 10, (15 << 10) + 1, (31 << 10) - 1),
    "bfloat16": (0, 1, 2, 2**7 - 1, 2**7, 127 << 7, (127 << 7) + 1, (255 << 7) - 1),
}
CASES = [(dtype, bits) for dtype, patterns in BITS.items() for bits in patterns]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def value(name, bits):
    """The float of a bit pattern."""
    return np.array(bits, f"uint{8 * dtype_of(name).itemsize}").view(dtype_of(name))[()]


def exact(name, bits):
    """Its value as a fraction; what would follow the largest stands for infinity."""
    number = float(value(name, bits))
    if math.isfinite(number):
        return Fraction(number)
    below = Fraction(float(value(name, bits - 1)))
    return below + (below - Fraction(float(value(name, bits - 2))))


def same(a, b):
    return bool(a == b) and math.copysign(1, float(a)) == math.copysign(1, float(b))


class TestRoundTo:
    @pytest.mark.parametrize(("name", "bits"), CASES)
    def test_a_value_of_the_format_is_itself(self, name, bits):
        assert same(round_to(exact(name, bits), name), value(name, bits))

    @pytest.mark.parametrize(("name", "bits"), CASES)
    @pytest.mark.parametrize("sign", [1, -1])
    def test_between_two_neighbours(self, name, bits, sign):
        low, high = value(name, bits), value(name, bits + 1)
        tie = (exact(name, bits) + exact(name, bits + 1)) / 2
        little = (exact(name, bits + 1) - exact(name, bits)) / 2**60
        for real, rounded in (
            (tie, high if bits % 2 else low),
            (tie - little, low),
            (tie + little, high),
        ):
            found = round_to(sign * real, dtype_of(name))
            assert found.dtype == dtype_of(name)
            assert found == type(found)(sign) * rounded

    @pytest.mark.parametrize("name", BITS)
    def test_far_beyond_the_largest_is_infinite(self, name):
        assert round_to(Fraction(10) ** 400, name) == math.inf
        assert round_to(-(Fraction(10) ** 400), name) == -math.inf

    @pytest.mark.parametrize("name", BITS)
    def test_not_a_number_infinities_and_the_sign_of_zero_stay(self, name):
        assert np.isnan(round_to(math.nan, name))
        assert round_to(-math.inf, name) == -math.inf
        assert same(round_to(-0.0, name), -0.0)
        assert same(round_to(Fraction(0), name), 0.0)

    @pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
    def test_a_float64_is_rounded_once(self, name):
        step = 2.0 ** {"float16": -10, "bfloat16": -7, "float32": -23}[name]
        assert round_to(1 + step / 2 + 2.0**-45, name) == 1 + step
        assert round_to(1 + step / 2, name) == 1

    def test_an_integer_too_long_for_float64(self):
        assert round_to(2**60 + 2**36 + 1, "float32") == np.float32(2.0**60 + 2.0**37)


class TestToFloat:
    @pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
    def test_float64_is_rounded_once(self, name):
        step = 2.0 ** {"float16": -10, "bfloat16": -7, "float32": -23}[name]
        values = np.array([1 + step / 2 + 2.0**-45, 1 + step / 2, -0.0, np.inf])
        result = to_float(values, dtype_of(name))
        assert result.dtype == dtype_of(name)
        assert [float(v) for v in result] == [1 + step, 1, 0, math.inf]
        assert math.copysign(1, float(result[2])) == -1

    def test_fractions(self):
        values = np.array([[Fraction(1, 3), math.nan], [Fraction(2) ** 200, Fraction(0)]], object)
        result = to_float(values, np.float32)
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, np.float32([[1 / 3, np.nan], [np.inf, 0]]))

    def test_no_elements_and_no_axes(self):
        assert to_float(np.zeros((0, 3), object), np.float32).shape == (0, 3)
        assert to_float(np.array(Fraction(1, 2), object), np.float16)[()] == 0.5


class TestShared:
    def test_the_same_operation_on_the_same_operands_is_computed_once(self):
        a, b = EXACT.real(np.array([1, 2])), EXACT.real(np.array([3, 0]))
        with shared():
            first, second = EXACT.divide(a, b), EXACT.divide(a, b)
            other = EXACT.divide(b, a)
            assert EXACT.real(np.array([1, 2])) is EXACT.real(np.array([1, 2]))
            assert EXACT.real(np.array([1, 2], np.int8)) is not EXACT.real(np.array([1, 2]))
        assert first is second
        assert list(first) == [Fraction(1, 3), math.inf]
        assert list(other) == [3, 0]
        with pytest.raises(ValueError, match="read-only"):
            first[0] = 0
        assert EXACT.divide(a, b) is not EXACT.divide(a, b)

    @pytest.mark.parametrize(
        "op_type", ["QLinearAdd", "QLinearConv", "QLinearSoftmax", "QLinearAveragePool"]
    )
    def test_traces_are_the_same_within_it(self, op_type):
        case = build(op_type)
        plain = [_values(case, scheme) for scheme in variants().values()]
        with shared():
            assert [_values(case, scheme) for scheme in variants().values()] == plain


def _values(case, scheme):
    try:
        traced = trace(case.graph, case.inputs, scheme)
    except TraceError as error:
        return str(error)
    return [repr(np.asarray(s.value).tolist()) for n in traced.nodes for s in n.steps]


class TestElementwise:
    def test_no_axes_is_still_an_array_of_objects(self):
        result = elementwise(lambda v: v + 1, np.array(1))
        assert (type(result), result.dtype, result.shape) == (np.ndarray, np.dtype(object), ())

    def test_broadcasts(self):
        result = elementwise(lambda a, b: (a, b), np.array([[1], [2]]), np.array([3, 4, 5]))
        assert result.shape == (2, 3)
        assert result[1, 2] == (2, 5)

    @pytest.mark.parametrize(("function", "expected"), [(mul, 6), (add, 5), (sub, 1)])
    @pytest.mark.parametrize("kind", [np.int64, np.float32, object])
    def test_of_two_numbers_is_an_array(self, function, expected, kind):
        result = function(np.array(3, kind), np.array(2, kind))
        assert isinstance(result, np.ndarray)
        assert (result.shape, result.dtype, result[()]) == ((), kind, expected)


class TestExact:
    def test_reads_what_is_stored(self):
        values = np.float32([0.1, -0.0, np.inf, np.nan])
        read = EXACT.real(values)
        assert read[0] == Fraction(13421773, 2**27)
        assert read[1] == 0 and isinstance(read[1], Fraction)
        assert read[2] == math.inf and math.isnan(read[3])
        assert EXACT.real(np.array(2**63 - 1))[()] == 2**63 - 1
        assert EXACT.real(np.array([1.5], ml_dtypes.bfloat16))[0] == Fraction(3, 2)

    @pytest.mark.parametrize(
        ("a", "b", "expected"),
        [
            (1, 3, Fraction(1, 3)),
            (1, 0, math.inf),
            (-1, 0, -math.inf),
            (0, 0, math.nan),
            (math.nan, 0, math.nan),
            (-math.inf, 0, -math.inf),
            (1, math.inf, 0),
            (1, math.nan, math.nan),
            (math.inf, -2, -math.inf),
            (math.inf, math.inf, math.nan),
        ],
    )
    def test_divides_as_ieee_754_has_it(self, a, b, expected):
        quotient = EXACT.divide(EXACT.real(np.array(a)), EXACT.real(np.array(b)))[()]
        assert quotient == expected or (math.isnan(quotient) and math.isnan(expected))

    def test_a_fraction_beyond_float64_over_zero(self):
        huge = np.array([Fraction(10) ** 400, -(Fraction(10) ** 400)], object)
        assert list(EXACT.divide(huge, np.array(Fraction(0), object))) == [math.inf, -math.inf]

    @pytest.mark.parametrize("system", [EXACT, FLOAT64, FLOAT32])
    def test_rounds_half_to_even(self, system):
        halves = system.real(np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.75]))
        assert [int(v) for v in system.rint(halves)] == [-2, -2, 0, 0, 2, 2, 3]

    def test_names_and_types(self):
        assert [s.name for s in (EXACT, FLOAT64, FLOAT32)] == ["exact", "float64", "float32"]
        assert FLOAT32.real(np.array([Fraction(1, 3)], object)).dtype == np.float32
        assert FLOAT64.divide(np.array(1.0), np.array(3.0)).dtype == np.float64


@pytest.mark.parametrize("kind", [np.float32, np.float64, object])
def test_to_integers(kind):
    values = np.array([3.0, -4.0, math.inf, -math.inf, math.nan], kind)
    result = to_integers(values)
    assert result.dtype == np.int64
    assert list(result) == [3, -4, 2**62, -(2**62), -(2**62)]


def fused(a, b, c):
    return fma(*(np.asarray(v, np.float32) for v in (a, b, c)))


class TestFma:
    @pytest.mark.parametrize(
        ("a", "b", "c", "expected"),
        [
            # 2^24 + 3 - 2^-46: float64 rounds it to the tie 2^24 + 3, from where it would go to 2^24 + 4.
            (1 + 2**-23, 1 - 2**-23, 2**24 + 2, 2**24 + 2),
            # 2^24 + 1 + 2^-36: float64 rounds it to the tie 2^24 + 1, from where it would go to 2^24.
            (1 + 2**-12, 1 - 2**-12 + 2**-24, 2**24, 2**24 + 2),
            (-1 - 2**-12, 1 - 2**-12 + 2**-24, -(2**24), -(2**24) - 2),
            # Exact ties go to even.
            (1, 1, 2**24, 2**24),
            (1, 1, 2**24 + 2, 2**24 + 4),
            # The product overflows float32, the sum does not.
            (2.0**127, 2, -(2.0**127), 2.0**127),
            # Only the exact product tells: it is not zero.
            (1 + 2**-23, 1 - 2**-23, -1, -(2.0**-46)),
            # Far below the smallest denormal beside one.
            (2.0**-140, 2.0**-140, 2.0**-149, 2.0**-149),
            # On, and just above, half of the smallest denormal.
            (2.0**-75, 2.0**-75, 0, 0),
            (2.0**-75, 2.0**-75 * (1 + 2**-23), 0, 2.0**-149),
            # Cancellation down to a denormal.
            (2.0**-60, 2.0**-60, -(2.0**-120) + 2.0**-140, 2.0**-140),
        ],
    )
    def test_is_rounded_once(self, a, b, c, expected):
        assert fused(a, b, c)[()] == np.float32(expected)

    def test_equals_the_rounded_fraction(self):
        rng = np.random.default_rng(0)
        count = 3_000
        a, b = (np.ldexp(rng.uniform(-1, 1, count), rng.integers(-70, 40, count)) for _ in "ab")
        a, b = a.astype(np.float32), b.astype(np.float32)
        # A third each: any c, c near -a·b, and c so that the sum is near a tie of its own format.
        c = np.ldexp(rng.uniform(-1, 1, count), rng.integers(-140, 40, count)).astype(np.float32)
        near = (-a.astype(np.float64) * b * (1 + rng.integers(-4, 5, count) * 2.0**-23)).astype(
            np.float32
        )
        big = np.ldexp(np.rint(rng.uniform(2**23, 2**24, count)), np.frexp(a * b)[1]).astype(
            np.float32
        )
        c = np.where(np.arange(count) % 3 == 0, c, np.where(np.arange(count) % 3 == 1, near, big))
        found = fma(a, b, c)
        assert found.dtype == np.float32
        for x, y, z, result in zip(a, b, c, found, strict=True):
            real = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            assert result == round_to(real, np.float32), (x, y, z)

    def test_infinities_and_nan(self):
        assert np.isnan(fused(np.inf, 0, 1))
        assert np.isnan(fused(np.inf, 1, -np.inf))
        assert fused(np.inf, -1, 3) == -np.inf
        assert fused(3e38, 3e38, 0) == np.inf
        assert np.isnan(fused(1, np.nan, 0))

    def test_shapes(self):
        assert fused(1, 2, 3).shape == ()
        assert fused([[1], [2]], [1, 2, 3], 4).tolist() == [[5, 6, 7], [6, 8, 10]]
        assert fused(2, 3, [1, 2]).tolist() == [7, 8]
        assert fused(np.zeros((0, 2)), 1, 1).shape == (0, 2)


class TestContractExact:
    def naive(self, lhs, rhs):
        return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*rhs, strict=True)] for row in lhs]  # fmt: skip

    def test_fractions_of_different_denominators(self):
        lhs = [[Fraction(1, 3), Fraction(-2, 7)], [Fraction(5), Fraction(0)]]
        rhs = [[Fraction(1, 2**149), Fraction(3, 10)], [Fraction(7, 2), Fraction(-1, 9)]]
        result = contract_exact(np.array(lhs, object), np.array(rhs, object))
        assert result.tolist() == self.naive(lhs, rhs)

    def test_batches_broadcast(self):
        lhs = EXACT.real(np.arange(12).reshape(2, 1, 2, 3))
        rhs = EXACT.real(np.arange(12).reshape(2, 3, 2))
        result = contract_exact(lhs, rhs)
        assert result.shape == (2, 2, 2, 2)
        expected = np.matmul(lhs.astype(np.int64), rhs.astype(np.int64))
        np.testing.assert_array_equal(result.astype(np.int64), expected)

    def test_infinities_and_nan(self):
        lhs = np.array([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(2)]], object)
        rhs = np.array([[math.inf, Fraction(1)], [Fraction(1), Fraction(1)]], object)
        result = contract_exact(lhs, rhs)
        assert math.isnan(result[0, 0])
        assert result[1, 0] == math.inf
        assert result[1, 1] == 3

    @pytest.mark.parametrize(("m", "k", "n"), [(2, 0, 3), (0, 2, 3), (2, 2, 0)])
    def test_nothing_to_add(self, m, k, n):
        result = contract_exact(np.zeros((m, k), object), np.zeros((k, n), object))
        assert result.shape == (m, n)
        assert all(v == 0 and isinstance(v, Fraction) for v in result.reshape(-1))
