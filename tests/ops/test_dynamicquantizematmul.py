"""com.microsoft DynamicQuantizeMatMul: A over its own range, then a product of codes as float32."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, returned, step, tensor


def product(a, b, b_scale, b_zero_point=None, bias=None, dtype="uint8"):
    tensors = {"A": f32(a), "B": tensor(dtype, b), "b_scale": f32(b_scale)}
    if b_zero_point is not None:
        tensors["b_zero_point"] = tensor(dtype, b_zero_point)
    if bias is not None:
        tensors["bias"] = f32(bias)
    return call("DynamicQuantizeMatMul", tensors, domain="com.microsoft")


def test_by_hand():
    # The range is [-127.5, 127.5]: scale 1, real zero point 127.5, which goes to the even 128.
    a = [[-127.5, 127.5], [1.5, 2.5]]
    case = product(a, [[3, 2], [1, 5]], 0.5, 1)
    for name in SCHEMES:
        assert step(case, "a_scale", name) == 1
        assert step(case, "a_zero_point", name) == 128
        # -127.5 is a tie: -128 + 128; 127.5 + 128 saturates at 255; 1.5 and 2.5 go to 2.
        equal(step(case, "A_codes", name), [[0, 255], [130, 130]])
    everywhere(case, f32([[-128.0, 127 * 2 - 64], [2.0, 5.0]]), "float32")


def test_int8_weights_bias_and_one_scale_for_each_column():
    case = product([[0, 255]], [[9, 9], [-2, 3]], [0.5, 2], [0, 1], [10, -1], "int8")
    everywhere(case, f32([[-255 + 10, 1020 - 1]]), "float32")


def test_all_of_a_zero():
    case = product([[0, 0]], [[3], [4]], 2.0, 1, [7])
    assert step(case, "a_scale", "ort_cpu") == 1
    equal(result(case, "ort_cpu"), f32([[7]]))
    equal(returned(case), f32([[7]]))


def test_pairs_saturate_on_avx2():
    case = product([[255, 255]], [[127], [127]], 1, dtype="int8")
    equal(result(case), [[64_770]])
    equal(result(case, "ort_cpu", "avx2"), [[32_767]])
    equal(result(case, "ort_cpu", "vnni"), [[64_770]])


def test_a_scale_that_the_kernel_does_not_take_multiplies_the_bias_too():
    """A bug of ONNX Runtime's: B of three axes with b_scale (N,). Right is 255 · 2 + 10."""
    case = product([[[0, 255]]], [[[9], [1]]], [2], bias=[10])
    equal(returned(case), [[[520]]])  # one entry counts as one scale for all
    case = product([[[0, 255]]], [[[9, 9], [1, 1]]], [2, 4], bias=[10, 10])
    for name in ("exact", "float64", "float32"):
        equal(result(case, name), [[[520, 1030]]])
    for actual in (result(case, "ort_cpu"), returned(case)):
        equal(actual, [[[255 * 2 + 10 * 2, 255 * 4 + 10 * 4]]])


def test_vectors_and_batches():
    everywhere(product([0, 255], [[9, 9], [1, 1]], [[2, 4]]), f32([510, 1020]))
    everywhere(product([0, 255], [9, 1], 2), f32(510))
    everywhere(product([[[0, 255]], [[255, 0]]], [[9], [1]], 1), f32([[[255]], [[2295]]]))


def test_what_does_not_fit():
    with pytest.raises(TraceError, match="A is int8; only float16, bfloat16, float32"):
        bad = {"A": tensor("int8", [[1]]), "B": tensor("int8", [[1]]), "b_scale": f32(1)}
        result(call("DynamicQuantizeMatMul", bad, domain="com.microsoft"))
    with pytest.raises(TraceError, match=r"bias of the shape \[3\] does not fit"):
        result(product([[1]], [[1]], 1, bias=[1, 2, 3]))
    with pytest.raises(TraceError, match="A has 1 columns and B 2 rows"):
        result(product([[1]], [[1], [2]], 1))
    with pytest.raises(TraceError, match="NaN in x: which lane it erases"):
        result(product([[np.nan]], [[1]], 1), "ort_cpu")
