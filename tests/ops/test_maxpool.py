"""MaxPool, and com.microsoft NhwcMaxPool."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, everywhere, f32, result, returned, tensor, traced

NAN, INF = np.nan, np.inf


def pool(x, kernel, dtype="float32", opset=21, **attributes):
    return call("MaxPool", {"X": tensor(dtype, x)}, opset=opset, kernel_shape=kernel, **attributes)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
def test_by_hand(dtype):
    x = [[[1, 4, 3, 6]]]
    everywhere(pool(x, (2,), dtype), [[[4, 4, 6]]], dtype)
    everywhere(pool(x, (2,), dtype, strides=(3,), ceil_mode=1), [[[4, 6]]], dtype)
    everywhere(pool(x, (2,), dtype, dilations=(2,)), [[[3, 6]]], dtype)
    everywhere(pool(x, (2,), dtype, pads=(1, 1)), [[[1, 4, 4, 6, 6]]], dtype)
    everywhere(pool([[[[1, 4], [3, 6]], [[9, 8], [7, 6]]]], (2, 2), dtype), [[[[6]], [[9]]]], dtype)
    everywhere(pool(np.arange(8).reshape(1, 1, 2, 2, 2), (2, 1, 2), dtype), [[[[[5], [7]]]]], dtype)


def test_padding_is_less_than_every_number():
    everywhere(pool([[[-128, -127]]], (2,), "int8", pads=(1, 1)), [[[-128, -127, -127]]], "int8")
    everywhere(pool([[[-3, -2]]], (2,), pads=(1, 1)), f32([[[-3, -2, -2]]]))


def test_nhwc():
    x = tensor("int8", np.arange(12).reshape(1, 2, 3, 2))
    case = call("NhwcMaxPool", {"x": x}, domain="com.microsoft", kernel_shape=(2, 2))
    everywhere(case, [[[[8, 9], [10, 11]]]], "int8")
    wrong = call("NhwcMaxPool", {"x": f32(x)}, domain="com.microsoft", kernel_shape=(2, 2))
    with pytest.raises(TraceError, match="x is float32; NhwcMaxPool has int8 and uint8"):
        result(wrong)


def test_nan_depends_on_the_kernel():
    """A specification would have it stay. The loop of one axis drops it; the other keeps it where it comes last."""
    one_axis = pool([[[NAN, 1, NAN, 1, 2]]], (3,))
    assert np.isnan(result(one_axis)).all()
    equal(result(one_axis, "ort_cpu"), f32([[[1, 1, 2]]]))
    two_axes = pool([[[[NAN, 1, NAN, 1, 2]]]], (1, 3))
    equal(result(two_axes, "ort_cpu"), f32([[[[NAN, 1, 2]]]]))
    equal(result(two_axes, "ort_cpu", "arm64"), f32([[[[NAN, NAN, NAN]]]]))
    for case in (one_axis, two_axes):
        equal(returned(case), result(case, "ort_cpu"))
        assert "NaN in X" in traced(case, "ort_cpu").nodes[0].steps[-1].note


def test_minus_infinity_becomes_the_lowest_number():
    case = pool([[[-INF, -INF]]], (1,))
    assert (result(case) == -INF).all()
    equal(result(case, "ort_cpu"), np.full((1, 1, 2), np.finfo(np.float32).min))
    equal(returned(case), result(case, "ort_cpu"))


@pytest.mark.parametrize(("dtype", "lowest"), [("int8", -128), ("float32", -3.4028234663852886e38)])
def test_a_window_of_padding_only(dtype, lowest):
    case = pool([[[1, 2, 3, 6]]], (2,), dtype, dilations=(5,), pads=(1, 1))
    equal(result(case, "ort_cpu"), tensor(dtype, [[[lowest]]]))
    equal(returned(case), result(case, "ort_cpu"))
    assert "without an element" in traced(case, "ort_cpu").nodes[0].steps[-1].note


def test_what_is_not_modelled():
    with pytest.raises(TraceError, match="storage_order 1 is not modelled; 0 is"):
        result(pool([[[1, 2]]], (2,), storage_order=1))
    x = {"X": f32([[[1, 2]]])}
    indices = call("MaxPool", x, outputs=("out", "where"), kernel_shape=(2,))
    with pytest.raises(TraceError, match=r"the second output 'where' \(Indices\) is not modelled"):
        result(indices)
    with pytest.raises(TraceError, match="X is int32; of the integers int8 and uint8 have a MaxPool"):  # fmt: skip
        result(pool([[[1, 2]]], (2,), "int32"))
    with pytest.raises(TraceError, match="a pool needs at least 3 axes"):
        result(pool([[1, 2]], (2,)))
