"""Relu: NaN stays."""

import numpy as np
import pytest

from tests.ops.calls import call, everywhere, f32, result, returned, tensor


def relu(x):
    return call("Relu", {"X": x})


def test_reals():
    everywhere(relu(f32([[-1, 0], [0.5, np.inf], [-np.inf, np.nan]])), f32([[0, 0], [0.5, np.inf], [0, np.nan]]))  # fmt: skip
    everywhere(relu(f32(-2)), f32(0))


def test_the_sign_of_zero_stays_in_the_kernel():
    case = relu(f32([-0.0]))
    assert np.signbit(result(case, "ort_cpu")[0]) == np.signbit(returned(case)[0]) == True  # noqa: E712


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_integers(dtype):
    everywhere(relu(tensor(dtype, [-3, 0, 5])), [0, 0, 5], dtype)


def test_other_floats():
    for name in ("exact", "float64", "float32", "ort_cpu"):
        assert result(relu(tensor("bfloat16", [-1, 2])), name).tolist() == [0, 2]
