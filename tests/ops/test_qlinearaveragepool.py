"""QLinearAveragePool."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, everywhere, f32, result, returned, step, tensor


def pool(x, kernel, x_scale, x_zero, y_scale, y_zero, dtype="uint8", **attributes):
    tensors = {"X": tensor(dtype, x), "x_scale": f32(x_scale), "y_scale": f32(y_scale)}
    if x_zero is not None:
        tensors["x_zero_point"] = tensor(dtype, x_zero)
    if y_zero is not None:
        tensors["y_zero_point"] = tensor(dtype, y_zero)
    return call("QLinearAveragePool", tensors, domain="com.microsoft", kernel_shape=kernel, **attributes)  # fmt: skip


def test_by_hand():
    x = [[[10, 20, 30, 60]]]
    everywhere(pool(x, (2,), 0.5, 10, 0.25, 3), [[[13, 33, 73]]], "uint8")
    everywhere(pool(x, (2,), 0.5, 10, 0.25, 3, strides=(2,)), [[[13, 73]]], "uint8")
    everywhere(pool(x, (2,), 0.5, 10, 0.25, 3, pads=(0, 1)), [[[13, 33, 73, 103]]], "uint8")
    everywhere(pool(x, (2,), 0.5, 10, 0.25, 3, pads=(0, 1), count_include_pad=1), [[[13, 33, 73, 53]]], "uint8")  # fmt: skip
    everywhere(pool([[[-10, -20, 30, 60]]], (2,), 0.5, -10, 0.25, -3, "int8"), [[[-13, 27, 107]]], "int8")  # fmt: skip
    # Absent zero points are 0; ONNX Runtime 1.32.0 refuses a model without them.
    everywhere(pool(x, (2,), 1, None, 1, None), [[[15, 25, 45]]], "uint8", ort=False)


def test_both_ends_of_the_range():
    x = [[[0, 0, 255, 255]]]
    everywhere(pool(x, (2,), 1, 128, 0.5, 128, strides=(2,)), [[[0, 255]]], "uint8")
    x = [[[-128, -128, 127, 127]]]
    everywhere(pool(x, (2,), 1, 0, 0.5, 5, "int8", strides=(2,)), [[[-128, 127]]], "int8")


def test_ties_with_an_odd_zero_point():
    """Means 0.5, 1.5, 2.5: the schema rounds, then adds 3; ONNX Runtime adds 3, then rounds."""
    case = pool([[[0, 1, 1, 2, 2, 3]]], (2,), 1, 0, 1, 3, strides=(2,))
    equal(result(case), [[[3, 5, 5]]], "uint8")
    equal(result(case, "ort_cpu"), [[[4, 4, 6]]], "uint8")
    equal(returned(case), result(case, "ort_cpu"))


def test_the_whole_image_takes_the_global_pools_formula():
    """So the tie goes to the other side than in a window."""
    case = pool([[[0, 1], [1, 2], [2, 3]]], (2,), 1, 0, 1, 3)
    everywhere(case, [[[3], [5], [5]]], "uint8")
    assert step(case, "accumulator", "ort_cpu").tolist() == [[[1], [3], [5]]]
    # With a padding it does not, even where only padding is added.
    padded = pool([[[0, 1], [1, 2], [2, 3]]], (2,), 1, 0, 1, 3, pads=(0, 1), strides=(2,))
    equal(result(padded, "ort_cpu"), [[[4], [4], [6]]], "uint8")
    equal(returned(padded), result(padded, "ort_cpu"))


def test_overflow_is_the_lowest_code():
    """Float to int32 overflows to its minimum on x86-64, to its maximum on ARM64."""
    case = pool([[[0, 0, 255, 255]]], (2,), 2.0**20, 128, 2.0**-20, 128, strides=(2,))
    equal(result(case), [[[0, 255]]], "uint8")
    equal(result(case, "ort_cpu"), [[[0, 0]]], "uint8")
    equal(result(case, "ort_cpu", "arm64"), [[[0, 255]]], "uint8")
    equal(returned(case), result(case, "ort_cpu"))


def test_channels_last():
    x = np.arange(24).reshape(1, 3, 4, 2)
    first = pool(np.moveaxis(x, -1, 1), (2, 3), 0.5, 3, 0.25, 1)
    last = pool(x, (2, 3), 0.5, 3, 0.25, 1, channels_last=1)
    for name in ("exact", "ort_cpu"):
        equal(result(last, name), np.moveaxis(result(first, name), 1, -1))
    equal(returned(last), result(last, "ort_cpu"))


def test_three_axes():
    everywhere(pool(np.arange(8).reshape(1, 1, 2, 2, 2), (1, 2, 2), 1, 0, 0.5, 0), [[[[[3]], [[11]]]]])  # fmt: skip


def test_a_last_window_over_the_end_is_divided_by_the_whole_kernel():
    """8 over 1 element; ONNX Runtime divides by 2, unlike its float AveragePool."""
    attributes = {"strides": (2,), "ceil_mode": 1, "count_include_pad": 1}
    case = pool([[[1, 3, 3, 5, 8]]], (2,), 1, 0, 1, 0, **attributes)
    equal(result(case), [[[2, 4, 8]]], "uint8")
    equal(result(case, "ort_cpu"), [[[2, 4, 4]]], "uint8")
    equal(returned(case), result(case, "ort_cpu"))


def test_a_trace_shows_sum_count_and_mean():
    case = pool([[[10, 20, 30]]], (2,), 0.5, 10, 0.25, 3)
    assert step(case, "accumulator").tolist() == [[[10, 30]]]
    assert step(case, "real_sum", "ort_cpu").tolist() == [[[5, 15]]]
    for name in ("exact", "ort_cpu"):
        assert step(case, "count", name).tolist() == [[[2, 2]]]
        assert step(case, "mean", name).astype(float).tolist() == [[[2.5, 7.5]]]
        assert step(case, "biased", name).tolist() == [[[13, 33]]]


def test_what_is_refused():
    with pytest.raises(TraceError, match="dilations is not one of QLinearAveragePool's"):
        result(pool([[[1, 2, 3]]], (2,), 1, 0, 1, 0, dilations=(2,)))
    with pytest.raises(TraceError, match="x_scale has 2 entries; one for the whole tensor"):
        result(pool([[[1, 2, 3]]], (2,), [1, 1], 0, 1, 0))
    with pytest.raises(TraceError, match="X is int16; only integers of up to 8 bits"):
        result(pool([[[1, 2, 3]]], (2,), 1, 0, 1, 0, "int16"))
