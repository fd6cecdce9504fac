"""Integer sums through floating-point matrix products: exact up to the last integer that the proof allows."""

import numpy as np
import pytest

from qlab import integers
from qlab.integers import centered_matmul, matmul


def plain(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    return np.matmul(lhs.astype(object), rhs.astype(object)).astype(np.int64)


@pytest.fixture(autouse=True)
def _always_proven(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(integers, "FEW", 0)


@pytest.mark.parametrize("largest", [2**24 - 1, 2**24, 2**24 + 1, 2**53 - 1, 2**53, 2**53 + 1])
def test_sums_at_the_ends_of_what_a_float_holds(largest: int):
    """The sum is odd and as large as the bound allows, so the next smaller type would lose its last bit."""
    lhs = np.array([[1, 1, 1]], np.int64)
    for rhs in ([largest, 0, 0], [largest - 1, 1, 0], [largest, 1, -1], [-largest, 0, 0]):
        column = np.array(rhs, np.int64)[:, None]
        assert matmul(lhs, column).item() == sum(rhs)
        assert matmul(column.T, lhs.T).item() == sum(rhs)


def test_the_partial_sums_count_not_the_sum():
    """2^24 + 1 - 2^24: the first partial sum is no float32."""
    terms = np.array([[2**24, 1, -(2**24)]], np.int64)
    assert matmul(np.ones((1, 3), np.int64), terms.T).item() == 1


@pytest.mark.parametrize("dtype", [np.int16, np.int64])
@pytest.mark.parametrize("high", [256, 70_000, 2**30])
def test_random_products_of_any_shape(dtype: type, high: int):
    rng = np.random.default_rng(high)
    for shape, other in (((3, 4, 5), (5, 6)), ((2, 1, 7, 3), (2, 3, 4)), ((1, 1), (1, 1))):
        lhs = rng.integers(-min(high, 30_000), min(high, 30_000), shape).astype(dtype)
        rhs = rng.integers(-high, high, other)
        np.testing.assert_array_equal(matmul(lhs, rhs), plain(lhs, rhs))
        zero, column = np.asarray(int(lhs.flat[0])), rng.integers(-9, 9, (1, other[-1]))
        expected = plain(lhs.astype(np.int64) - zero, rhs - column)
        np.testing.assert_array_equal(centered_matmul(lhs, rhs, zero, column), expected)


def test_nothing_to_add():
    for lhs, rhs in ((np.zeros((2, 0)), np.zeros((0, 3))), (np.zeros((0, 4)), np.zeros((4, 3)))):
        found = matmul(lhs.astype(np.int64), rhs.astype(np.int64))
        assert found.shape == (len(lhs), 3)
        assert found.dtype == np.int64
        assert not found.any()
