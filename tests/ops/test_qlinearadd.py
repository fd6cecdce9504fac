"""QLinearAdd: the zero point is inside the rounded sum, so with an odd one a tie goes the other way."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import (
    SCHEMES,
    call,
    equal,
    everywhere,
    f32,
    result,
    returned,
    step,
    tensor,
)


def qlinear_add(a, b, zero_points=(0, 0, 0), scales=(1, 1, 1), dtype="int8"):
    tensors = {"A": tensor(dtype, a), "B": tensor(dtype, b)}
    for name, zero_point, scale in zip("ABC", zero_points, scales, strict=True):
        tensors[f"{name}_scale"] = np.asarray(scale, np.float32)
        tensors[f"{name}_zero_point"] = tensor(dtype, zero_point)
    return call("QLinearAdd", tensors, domain="com.microsoft")


A = [1, 3, 5, -1, -3]  # sums with B = 0 over a scale of 2: 0.5, 1.5, 2.5, -0.5, -1.5


@pytest.mark.parametrize(
    ("zero_point", "expected"),
    [
        (0, [0, 2, 2, 0, -2]),
        (1, [2, 2, 4, 0, 0]),
        (-3, [-2, -2, 0, -4, -4]),
        (2, [2, 4, 4, 2, 0]),
    ],
)
def test_ties_go_to_the_even_sum_with_the_zero_point(zero_point, expected):
    everywhere(qlinear_add(A, [0] * 5, (0, 0, zero_point), (1, 1, 2)), expected, "int8")


def test_ties_on_arm64_go_away_from_zero_before_the_zero_point():
    case = qlinear_add(A, [0] * 5, (0, 0, 1), (1, 1, 2))
    equal(result(case, "ort_cpu", "arm64"), [2, 3, 4, 0, -1])


@pytest.mark.parametrize(("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255)])
def test_saturates_at_both_ends(dtype, low, high):
    case = qlinear_add([low, high, low, high], [low, high, high, low], (low, low, low), (1, 1, 1), dtype)  # fmt: skip
    everywhere(case, [low, high, high, high], dtype)
    case = qlinear_add([low, high], [low, high], (high, high, high), (1, 1, 1), dtype)
    everywhere(case, [low, high], dtype)
    for cpu in ("sse", "vnni", "arm64"):
        equal(result(case, "ort_cpu", cpu), [low, high])


def test_scales_and_zero_points_by_hand():
    # 0.5·(10 - 2) + 2·(-3 + 1) = 0; 0.5·(4 - 2) + 2·(5 + 1) = 13; over 4, plus 7.
    everywhere(qlinear_add([10, 4], [-3, 5], (2, -1, 7), (0.5, 2, 4)), [7, 10], "int8")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (3, 4, 7),
        ([3], [1, 2], [4, 5]),
        ([1, 2], 5, [6, 7]),
        ([[1], [2]], [10, 20], [[11, 21], [12, 22]]),
        (np.zeros((0,)), 5, np.zeros((0,))),
        (np.zeros((2, 0)), np.zeros((1, 1)), np.zeros((2, 0))),
    ],
)
def test_broadcasts(a, b, expected):
    everywhere(qlinear_add(a, b), expected, "int8", ort=np.size(expected) > 0)


OFF_BY_ONE = qlinear_add(
    [-8], [-64], (7, -128, -128), (0.008010663092136383, 0.00622713053599, 0.006873490754514933)
)


def test_the_report_off_by_one():
    # Exact -87.49999529…, in float32 exactly -87.5.
    assert -87.5 < step(OFF_BY_ONE, "sum")[0] < -87.4999
    assert step(OFF_BY_ONE, "sum", "ort_cpu")[0] == -87.5
    expected = {"exact": -87, "float64": -87, "float32": -88, "ort_cpu": -88}
    for name, code in expected.items():
        equal(result(OFF_BY_ONE, name), [code], "int8")
    equal(result(OFF_BY_ONE, "ort_cpu", "sse"), [-88])
    equal(result(OFF_BY_ONE, "ort_cpu", "arm64"), [-87])
    equal(returned(OFF_BY_ONE), [-88])


def test_absent_zero_points_are_zero():
    tensors = {"A": tensor("uint8", [7]), "B": tensor("uint8", [9])}
    tensors |= {"A_scale": f32(1), "B_scale": f32(1), "C_scale": f32(2)}
    for name in SCHEMES:
        equal(result(call("QLinearAdd", tensors, domain="com.microsoft"), name), [8], "uint8")


def test_nan_and_overflow():
    case = qlinear_add([1, 0], [1, 1], scales=(np.inf, 1, 1))
    equal(result(case), [127, -128])  # 0 · inf is NaN, the lowest code
    # CVTPS2DQ gives INT32_MIN for what does not fit, so the highest sum ends at the lowest code.
    equal(result(case, "ort_cpu"), [-128, -128])
    equal(returned(case), [-128, -128])


def test_parameters_are_per_tensor_in_the_kernel():
    case = qlinear_add([[1, 2], [3, 4]], [[0, 0], [0, 0]], ((0, 1), 0, 0), ((1, 2), 1, 1))
    equal(result(case), [[1, 2], [4, 6]])
    with pytest.raises(TraceError, match="one scale and zero point for each whole tensor"):
        result(case, "ort_cpu")
    with pytest.raises(TraceError, match="3 entries does not fit axis 0"):
        result(qlinear_add([1, 2], [0, 0], scales=((1, 1, 1), 1, 1)))
