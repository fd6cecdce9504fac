"""Exact reals of many elements: each must be, and round to, what its fractions are and round to."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import qlab.arithmetic
from qlab.arithmetic import EXACT, add, mul, sub, to_float
from qlab.batteries import batteries
from qlab.compare import differing
from qlab.errors import TraceError
from qlab.reals import Reals, of_fractions, of_numbers
from qlab.schemes import variants
from qlab.schemes.rounding import ROUNDINGS, round_real
from qlab.trace import trace


def objects(*values: object) -> np.ndarray:
    return np.array([Fraction(v) for v in values], dtype=object)  # type: ignore[arg-type]


def reals(numbers: list[int] | np.ndarray, factor: object = 1) -> Reals:
    found = of_numbers(np.asarray(numbers))
    assert found is not None
    scaled = found.scaled(np.asarray(Fraction(factor), dtype=object))  # type: ignore[arg-type]
    assert scaled is not None
    return scaled


def assert_rounds_as_its_fractions(values: Reals) -> None:
    for rounding in ROUNDINGS:
        expected = round_real(values.fractions, rounding)
        found = round_real(values, rounding)  # type: ignore[arg-type]
        assert found.dtype == np.int64, "done one by one"
        np.testing.assert_array_equal(found, expected.astype(np.int64), err_msg=rounding)


WIDE = Fraction(
    2**40 + 1, 2**40 * 3
)  # its numerators leave int64: float64 with a bound has to do it


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1, 6), Fraction(7, 2), WIDE, -WIDE])
def test_ties_and_their_neighbours(scale: Fraction):
    assert_rounds_as_its_fractions(reals(np.arange(-50, 51), scale))


def test_ties_that_no_float64_has():
    """n/3 · 3/2 with the 3 beyond float64's sight: the approximation is off the tie, its bound says so."""
    exact = Fraction(10**20 + 1, 2 * (10**20 + 1))  # one half, reduced
    assert exact == Fraction(1, 2)
    near = [exact + sign * Fraction(1, 2**e) for sign in (-1, 1) for e in (50, 53, 60, 90, 300)]
    for factor in [exact, *near]:
        values = add(
            reals(np.arange(-20, 20), factor),  # type: ignore[arg-type]
            reals(np.arange(-20, 20) * 2**40, Fraction(3, 2**40)),  # type: ignore[arg-type]
        )
        assert isinstance(values, Reals)
        assert_rounds_as_its_fractions(values)


def test_sums_that_cancel_have_the_error_of_their_terms():
    big = reals([2**61, -(2**61), 3], Fraction(1, 3))
    small = reals([-(2**61), 2**61, 4], Fraction(1, 3) + Fraction(1, 2**62))
    total = add(big, small)  # type: ignore[arg-type]
    assert isinstance(total, Reals)
    assert_rounds_as_its_fractions(total)


def test_random_sums_of_channels_at_all_magnitudes():
    rng = np.random.default_rng(0)
    for _ in range(60):
        shape = (3, 5, 4)
        numbers = rng.integers(-(2 ** rng.integers(1, 40)), 2 ** rng.integers(1, 40), shape)
        scales = (rng.random((5, 1)) * 2.0 ** rng.integers(-30, 10)).astype(np.float32)
        one = mul(EXACT.real(numbers), EXACT.real(scales))
        other = mul(EXACT.real(rng.integers(0, 255, (4, 1, 1)) - 3), EXACT.real(np.float32([0.1])))
        values = sub(EXACT.divide(one, EXACT.real(np.float32([0.3]))), other[:3])
        if isinstance(values, Reals):
            assert_rounds_as_its_fractions(values)


def test_floats_as_numbers():
    halves = np.arange(-5000, 5001) / 2
    values = EXACT.divide(EXACT.real(halves.astype(np.float32)), EXACT.real(np.float32([0.1])))
    assert isinstance(values, Reals)
    assert_rounds_as_its_fractions(values)
    assert values.at((3,), values.shape) == Fraction(-4997, 2) / Fraction(float(np.float32(0.1)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_what_it_is(value: float):
    values = np.full(5000, value, np.float32)
    assert not isinstance(EXACT.real(values), Reals)
    divided = EXACT.divide(EXACT.real(np.arange(100)), EXACT.real(np.float32([0])))
    assert not isinstance(divided, Reals)
    assert np.isnan(divided[0])
    assert divided[1] == np.inf


def test_it_stands_for_its_fractions():
    values = reals(np.arange(6).reshape(2, 3), Fraction(1, 3))
    assert (values.shape, values.ndim, values.size, len(values)) == ((2, 3), 2, 6, 2)
    assert values.dtype == object
    assert values[1, 2] == Fraction(5, 3)
    assert values.at((7, 1, 0), (9, 2, 3)) == 1
    np.testing.assert_array_equal(np.asarray(values), values.fractions)
    np.testing.assert_array_equal(values + 1, values.fractions + 1)
    np.testing.assert_array_equal(1 - values, 1 - values.fractions)
    np.testing.assert_array_equal(values == values.fractions, np.ones((2, 3), bool))
    np.testing.assert_array_equal(values.reshape(-1), values.fractions.reshape(-1))
    assert of_fractions(objects(1, 2)) is not None
    assert of_numbers(np.array([2**63], np.uint64)) is None


def test_one_element_has_no_limit():
    values = reals(np.arange(2**61, 2**61 + 20), Fraction(2**61, 3))
    assert values.at((19,), (20,)) == Fraction((2**61 + 19) * 2**61, 3)


def test_one_rounding_to_float32():
    numbers = np.arange(-(2**8), 2**8)
    scale = np.float32(0.0123)
    values = mul(EXACT.real(numbers), EXACT.real(np.asarray(scale)))
    assert isinstance(values, Reals)
    assert values.to_float64() is not None
    np.testing.assert_array_equal(
        to_float(values, np.float32), to_float(values.fractions, np.float32)
    )
    third = reals(numbers, Fraction(1, 3))
    assert third.to_float64() is None
    np.testing.assert_array_equal(
        to_float(third, np.float32),  # type: ignore[arg-type]
        to_float(third.fractions, np.float32),
    )


def test_traces_are_the_same_with_and_without(monkeypatch: pytest.MonkeyPatch):
    """Every battery's operator, exact with every rounding: fractions one by one against reals of many elements."""
    schemes = [scheme for label, scheme in variants().items() if label.startswith("exact")]
    compared = 0
    for position, battery in enumerate(batteries().values()):
        cases = itertools.islice(battery.cases(0), position % 7, 60, 47)
        for number, case in enumerate(cases):
            if sum(value.size for value in case.inputs.values()) > 3000:
                continue
            scheme = schemes[(position + number) % len(schemes)]
            results = []
            for few in (10**9, 0):
                monkeypatch.setattr(qlab.arithmetic, "FEW", few)
                monkeypatch.setattr(qlab.arithmetic, "MOST_FACTORS", few or 16)
                try:
                    results.append(trace(case.graph, case.inputs, scheme).outputs)
                except TraceError:
                    break  # too large one by one, so there is nothing to compare with
            if len(results) < 2:
                assert not results, battery.name
                continue
            assert results[0].keys() == results[1].keys(), battery.name
            for name, value in results[0].items():
                compared += value.size
                assert results[1][name].dtype == value.dtype
                assert not differing(value, results[1][name]).any(), battery.name
    assert compared > 20_000
