"""LeakyRelu over reals: the slope as float32, the sign of zero, infinities, NaN."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, returned, tensor


def leaky(x, dtype="float32", **attributes):
    return call("LeakyRelu", {"X": tensor(dtype, x)}, **attributes)


def test_reals():
    everywhere(leaky([-2, -0.5, 0, 3], alpha=0.25), f32([-0.5, -0.125, 0, 3]), "float32")
    everywhere(
        leaky([-np.inf, np.inf, np.nan], alpha=0.5), f32([-np.inf, np.inf, np.nan]), "float32"
    )
    everywhere(leaky([-4, 4], alpha=-0.5), f32([2, 4]), "float32")
    everywhere(leaky([-4, 4], alpha=0.0), f32([0, 4]), "float32")


def test_the_default_slope_is_a_float32():
    everywhere(leaky([-3.0]), f32([np.float32(-3) * np.float32(0.01)]), "float32")
    assert result(leaky([-1.0], "float64"), "float64")[0] == -float(np.float32(0.01))


def test_the_sign_of_zero_stays_in_the_kernel():
    case = leaky([-0.0])
    assert np.signbit(result(case, "ort_cpu")[0])
    assert np.signbit(returned(case)[0])


def test_enormous_values():
    everywhere(leaky([-3e38], alpha=2.0), f32([-np.inf]), "float32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_types(dtype):
    for name in ("exact", "float64", "float32"):
        equal(result(leaky([-4, 1], dtype, alpha=0.5), name), [-2, 1], dtype)
    with pytest.raises(TraceError, match="no proven arithmetic in ort_cpu"):
        result(leaky([1], dtype), "ort_cpu")


def test_integers():
    for name in SCHEMES:
        with pytest.raises(TraceError, match=r"^LeakyRelu \(out\): X is int32; only float16"):
            result(leaky([0], "int32"), name)
