"""QLinearMul: the product rescaled, the zero point inside the rounded value."""

import numpy as np
import pytest

from tests.ops.calls import call, equal, everywhere, result, returned, step, tensor


def qlinear_mul(a, b, zero_points=(0, 0, 0), scales=(1, 1, 1), dtype="int8"):
    tensors = {"A": tensor(dtype, a), "B": tensor(dtype, b)}
    for name, zero_point, scale in zip("ABC", zero_points, scales, strict=True):
        tensors[f"{name}_scale"] = np.asarray(scale, np.float32)
        tensors[f"{name}_zero_point"] = tensor(dtype, zero_point)
    return call("QLinearMul", tensors, domain="com.microsoft")


@pytest.mark.parametrize(
    ("zero_point", "expected"),
    [(0, [0, 2, 2, 0, -2]), (1, [2, 2, 4, 0, 0]), (-3, [-2, -2, 0, -4, -4])],
)
def test_ties_go_to_the_even_sum_with_the_zero_point(zero_point, expected):
    case = qlinear_mul([1, 3, 5, -1, -3], [1] * 5, (0, 0, zero_point), (1, 1, 2))
    everywhere(case, expected, "int8")
    for cpu in ("sse", "arm64"):
        equal(result(case, "ort_cpu", cpu), expected)


@pytest.mark.parametrize(("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255)])
def test_saturates_at_both_ends(dtype, low, high):
    middle = (low + high + 1) // 2
    case = qlinear_mul([low, high, low, high], [low, high, high, low], (middle,) * 3, (1, 1, 1), dtype)  # fmt: skip
    everywhere(case, [high, high, low, low], dtype)


def test_scales_and_zero_points_by_hand():
    # (10 - 2)·(3 + 1)·(0.5·2)/4 + 7 = 15
    everywhere(qlinear_mul([10], [3], (2, -1, 7), (0.5, 2, 4)), [15], "int8")
    case = qlinear_mul([10], [3], (2, -1, 7), (0.5, 2, 4))
    assert step(case, "product")[0] == 32
    assert step(case, "multiplier")[()] == 0.25


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (3, 4, 12),
        ([3], [1, 2], [3, 6]),
        ([[1], [2]], [10, 20], [[10, 20], [20, 40]]),
        (np.zeros((0,)), 5, np.zeros((0,))),
    ],
)
def test_broadcasts(a, b, expected):
    everywhere(qlinear_mul(a, b), expected, "int8", ort=np.size(expected) > 0)


def test_nan_and_overflow():
    case = qlinear_mul([1, 0], [1, 1], scales=(np.inf, 1, 1))
    equal(result(case), [127, -128])
    equal(result(case, "ort_cpu"), [-128, -128])
    equal(returned(case), [-128, -128])
    equal(result(case, "ort_cpu", "arm64"), [127, 0])
