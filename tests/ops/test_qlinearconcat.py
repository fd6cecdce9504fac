"""QLinearConcat: each tensor converted to the result's scale and zero point; the zero point after rounding."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, step, tensor


def concat(parts, scale=1.0, zero_point=0, dtype="int8", **attributes):
    """Parts: codes, scale, zero point of each tensor."""
    tensors = {"Y_scale": f32(scale), "Y_zero_point": tensor(dtype, zero_point)}
    for i, (codes, of, zero) in enumerate(parts):
        tensors |= {f"X{i}": tensor(dtype, codes), f"X{i}_scale": f32(of)}
        tensors[f"X{i}_zero_point"] = tensor(dtype, zero)
    attributes = {"axis": 0, **attributes}
    return call("QLinearConcat", tensors, domain="com.microsoft", **attributes)


@pytest.mark.parametrize("zero_point", [0, 1, -3])
def test_ties_go_to_the_even_code_before_the_zero_point(zero_point):
    case = concat([([1, 3, 5, -1, -3], 1, 0)], 2, zero_point)
    everywhere(case, np.array([0, 2, 2, 0, -2]) + zero_point, "int8")


def test_each_tensor_has_its_own_parameters():
    # (10 - 2)·0.5 = 4 and (-2 - 2)·0.5 = -2; (7 + 1)·3 = 24; over 2, plus 5.
    everywhere(concat([([10, -2], 0.5, 2), ([7], 3, -1)], 2, 5), [7, 4, 17], "int8")


@pytest.mark.parametrize(("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255)])
def test_saturates_at_both_ends(dtype, low, high):
    middle = (low + high + 1) // 2
    everywhere(concat([([low, high], 4, middle)], 1, middle, dtype), [low, high], dtype)
    everywhere(concat([([low, high], 1, high)], 1, low, dtype), [low, low], dtype)


def test_axes_and_shapes():
    parts = [(np.ones((2, 1)), 1, 0), (np.full((2, 2), 3), 2, 0)]
    everywhere(concat(parts, axis=1), [[1, 6, 6]] * 2, "int8")
    everywhere(concat(parts, axis=-1), [[1, 6, 6]] * 2, "int8")


def test_codes_of_equal_parameters_are_copied():
    """0 / 0 is no number, but nothing is divided; the specification divides."""
    case = concat([([5, -7], 0, 3), ([5, -7], 0, 4)], 0, 3)
    everywhere_in_the_kernel = result(case, "ort_cpu")
    equal(everywhere_in_the_kernel, [5, -7, -128, -128], "int8")
    equal(result(case), [-128] * 4, "int8")


def test_two_roundings():
    """f32(15 · f32(0.1)) is 1.5 and a tie; exactly it is above, since float32 0.1 is above 0.1."""
    case = concat([([15], 0.1, 0), ([25], 0.1, 0)])
    assert step(case, "scaled", "ort_cpu").tolist() == [1.5, 2.5]
    equal(result(case, "ort_cpu"), [2, 2], "int8")
    equal(result(case), [2, 3], "int8")


def test_bad_calls():
    with pytest.raises(TraceError, match="X0_scale has 2 entries; one for the whole tensor"):
        result(concat([([1, 2], (1, 1), 0)]))
    with pytest.raises(TraceError, match="axis 3 is outside a tensor of rank 1"):
        result(concat([([1], 1, 0)], axis=3))
    case = concat([([1], 1, 0)])
    tensors = {**case.inputs, "X0": tensor("uint8", [1])}
    with pytest.raises(TraceError, match="Y_zero_point is int8 and X0 uint8"):
        result(call("QLinearConcat", tensors, domain="com.microsoft", axis=0))
    del tensors["X0_zero_point"]
    with pytest.raises(TraceError, match="it has 4 inputs; Y_scale, Y_zero_point, and codes"):
        result(call("QLinearConcat", tensors, domain="com.microsoft", axis=0))
    for name in SCHEMES:
        with pytest.raises(TraceError, match="only integers of up to 8 bits"):
            result(concat([([1], 1, 0)], dtype="int16"), name)
