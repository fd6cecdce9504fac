"""AveragePool."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, everywhere, f32, result, returned, step


def pool(x, kernel, opset=21, **attributes):
    return call("AveragePool", {"X": f32(x)}, opset=opset, kernel_shape=kernel, **attributes)


@pytest.mark.parametrize("opset", [11, 21])
def test_by_hand(opset):
    x = [[[1, 2, 3, 6]]]
    everywhere(pool(x, (2,), opset), f32([[[1.5, 2.5, 4.5]]]))
    everywhere(pool(x, (2,), opset, strides=(2,)), f32([[[1.5, 4.5]]]))
    everywhere(pool(x, (2,), opset, pads=(1, 0)), f32([[[1, 1.5, 2.5, 4.5]]]))
    everywhere(pool(x, (2,), opset, pads=(1, 0), count_include_pad=1), f32([[[0.5, 1.5, 2.5, 4.5]]]))  # fmt: skip
    everywhere(pool(x, (2,), opset, auto_pad="SAME_UPPER"), f32([[[1.5, 2.5, 4.5, 6]]]))
    everywhere(pool(x, (2,), opset, auto_pad="SAME_LOWER"), f32([[[1, 1.5, 2.5, 4.5]]]))
    everywhere(pool(x, (2,), opset, auto_pad="VALID", strides=(2,)), f32([[[1.5, 4.5]]]))
    everywhere(pool([[[[1, 2], [3, 6]]]], (2, 2), opset), f32([[[[3]]]]))
    everywhere(pool([[[[1, 2], [3, 6]]]], (1, 2), opset), f32([[[[1.5], [4.5]]]]))
    everywhere(pool(np.arange(8).reshape(1, 1, 2, 2, 2), (2, 1, 2), opset), f32([[[[[2.5], [4.5]]]]]))  # fmt: skip


def test_dilations():
    everywhere(pool([[[1, 2, 3, 6]]], (2,), dilations=(2,)), f32([[[2, 4]]]))
    everywhere(pool([[[1, 2, 3, 6]]], (2,), dilations=(3,), pads=(1, 0)), f32([[[3, 3.5]]]))


@pytest.mark.parametrize("opset", [11, 21])
def test_a_last_window_over_the_end(opset):
    """It is divided by what it has, the padding included where that counts, but nothing behind."""
    x = [[[1, 2, 3, 6, 8]]]
    everywhere(pool(x, (2,), opset, strides=(2,), ceil_mode=1), f32([[[1.5, 4.5, 8]]]))
    everywhere(pool(x, (2,), opset, strides=(2,), ceil_mode=1, count_include_pad=1), f32([[[1.5, 4.5, 8]]]))  # fmt: skip
    # A window that would begin behind X is left out.
    everywhere(pool([[[1, 2, 3, 6]]], (1,), opset, strides=(4,), ceil_mode=1), f32([[[1]]]))


def test_a_window_of_padding_only():
    """Nothing divided by nothing; ONNX Runtime gives 0."""
    case = pool([[[1, 2, 3, 6]]], (2,), dilations=(5,), pads=(1, 1))
    assert np.isnan(result(case)).all()
    equal(result(case, "ort_cpu"), f32([[[0]]]))
    equal(returned(case), f32([[[0]]]))


def test_the_order_of_the_sum():
    """1e8 takes 1 away when they meet first: MLAS adds columns first, the loop from opset 19 on rows."""
    x = [[[[1e8, 1, 0], [-1e8, 1, 0], [0, 0, 0]]]]
    by_rows, by_columns = pool(x, (2, 2)), pool(x, (2, 2), 17)
    assert result(by_rows, "ort_cpu")[0, 0, 0, 0] == 0.25
    assert result(by_columns, "ort_cpu")[0, 0, 0, 0] == 0.5
    assert result(by_columns)[0, 0, 0, 0] == 0.5
    for case in (by_rows, by_columns):
        equal(returned(case), result(case, "ort_cpu"))


def test_a_trace_shows_sum_and_count():
    case = pool([[[1, 2, 3, 6]]], (2,), pads=(1, 0))
    for name in ("exact", "ort_cpu"):
        assert step(case, "sum", name).astype(float).tolist() == [[[1, 3, 5, 9]]]
        assert step(case, "count", name).tolist() == [[[1, 2, 2, 2]]]


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"kernel_shape": (2, 2)}, "kernel_shape has 2 entries, 1 are needed"),
        ({"kernel_shape": (9,)}, r"the kernel \[9\] with dilations \[1\] reaches over \[9\]"),
        ({"kernel_shape": (2,), "strides": (0,)}, r"strides \[0\] and dilations \[1\]: each must be at least 1"),
        ({"kernel_shape": (2,), "pads": (1,)}, "pads has 1 entries, 2 are needed"),
        ({"kernel_shape": (2,), "auto_pad": "SAME"}, "auto_pad 'SAME' is not NOTSET"),
        ({"kernel_shape": (2,), "auto_pad": "SAME_UPPER", "dilations": (2,)}, "SAME_UPPER with dilations is not modelled"),
        ({"kernel_shape": (2,), "auto_pad": "VALID", "ceil_mode": 1}, "VALID with ceil_mode is not modelled"),
        ({"kernel_shape": (1,), "auto_pad": "SAME_UPPER", "strides": (4,)}, "strides beyond the kernel is not modelled"),
        ({}, "the attribute kernel_shape is absent"),
    ],
)  # fmt: skip
def test_what_does_not_fit(attributes, words):
    with pytest.raises(TraceError, match=rf"^AveragePool \(out\): .*{words}"):
        result(call("AveragePool", {"X": f32([[[1, 2, 3, 6]]])}, **attributes))


def test_a_matrix_and_codes_are_refused():
    with pytest.raises(TraceError, match=r"X has the shape \[1, 2\]; a pool needs at least 3 axes"):
        result(pool([[1, 2]], (2,)))
    with pytest.raises(TraceError, match="X is int8; only float16"):
        result(call("AveragePool", {"X": np.ones((1, 1, 2), np.int8)}, kernel_shape=(2,)))
