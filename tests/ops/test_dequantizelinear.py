"""DequantizeLinear: (x - zero point) · scale, by hand."""

import ml_dtypes
import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import (
    call,
    equal,
    evaluated,
    everywhere,
    f32,
    result,
    returned,
    tensor,
    traced,
)


def dequantize(x, x_scale, x_zero_point=None, **attributes):
    tensors = {"x": x, "x_scale": x_scale}
    if x_zero_point is not None:
        tensors["x_zero_point"] = x_zero_point
    return call("DequantizeLinear", tensors, **attributes)


@pytest.mark.parametrize(
    ("dtype", "codes", "zero_point", "expected"),
    [
        ("int4", [-8, 0, 7], -8, [0, 4, 7.5]),
        ("uint4", [0, 15], 15, [-7.5, 0]),
        ("int8", [-128, 127], 127, [-127.5, 0]),
        ("uint8", [0, 255], 255, [-127.5, 0]),
        ("int16", [-32768, 32767], 32767, [-32767.5, 0]),
        ("uint16", [0, 65535], 0, [0, 32767.5]),
        ("int32", [-(2**31), 2**31 - 1], 0, [-(2.0**30), 2.0**30 - 0.5]),
    ],
)
def test_both_ends(dtype, codes, zero_point, expected):
    case = dequantize(tensor(dtype, codes), f32(0.5), tensor(dtype, zero_point))
    everywhere(case, f32(expected), "float32")


def test_exact_keeps_the_product_and_rounds_the_output_once():
    case = dequantize(tensor("int32", 2**24 + 1), f32(3))
    trace = traced(case)
    assert trace.tensors["out"][()] == 3 * (2**24 + 1)
    equal(trace.outputs["out"], f32(3 * (2**24 + 1)))
    # The kernel rounds the code to float32 first.
    equal(result(case, "ort_cpu"), f32(3 * 2**24))
    equal(returned(case), f32(3 * 2**24))


@pytest.mark.parametrize("axis", [1, -1])
def test_per_axis(axis):
    case = dequantize(tensor("int8", [[1, 2], [3, 4]]), f32([1, 10]), tensor("int8", [1, 2]), axis=axis)  # fmt: skip
    everywhere(case, f32([[0, 0], [2, 20]]), "float32")


def test_blocked():
    case = dequantize(
        tensor("uint8", [[1, 2, 3]]), f32([[1, 10]]), tensor("uint8", [[1, 0]]), axis=1, block_size=2
    )  # fmt: skip
    everywhere(case, f32([[0, 1, 30]]))


def test_odd_scales():
    codes = tensor("int8", [0, 1, -1])
    everywhere(dequantize(codes, f32(np.inf)), f32([np.nan, np.inf, -np.inf]))
    everywhere(dequantize(codes, f32(np.nan)), f32([np.nan] * 3))
    everywhere(dequantize(codes, f32(-0.5)), f32([0, -0.5, 0.5]))
    everywhere(dequantize(codes, f32(1e-45)), f32([0, 1e-45, -1e-45]))
    everywhere(dequantize(tensor("int8", 100), f32(3e38)), f32(np.inf))


def test_float16_is_rounded_by_each_scheme():
    scale = np.float16(0.1)
    case = dequantize(tensor("int8", [3, -7]), np.asarray(scale))
    expected = (np.float64([3, -7]) * np.float64(scale)).astype(np.float16)
    everywhere(case, expected, "float16")


def test_bfloat16():
    scale = np.asarray(0.1, ml_dtypes.bfloat16)
    case = dequantize(tensor("int8", [3, -7]), scale)
    expected = (np.float64([3, -7]) * np.float64(scale)).astype(np.float32).astype(ml_dtypes.bfloat16)  # fmt: skip
    for name in ("exact", "float64", "float32"):
        equal(result(case, name), expected, "bfloat16")
    with pytest.raises(TraceError, match="bfloat16 has no proven arithmetic in ort_cpu"):
        result(case, "ort_cpu")


def test_output_dtype():
    case = dequantize(tensor("int8", [3]), f32(0.1), output_dtype=10, opset=23)
    equal(result(case), np.float16([np.float32(0.1) * np.float64(3)]), "float16")
    with pytest.raises(TraceError, match="dequantizing to float64 has no arithmetic"):
        result(dequantize(tensor("int8", [3]), f32(0.1), output_dtype=11))


def test_the_domain_of_microsoft():
    tensors = {"x": tensor("uint8", [0, 3]), "x_scale": f32(2), "x_zero_point": tensor("uint8", 1)}
    everywhere(call("DequantizeLinear", tensors, domain="com.microsoft"), f32([-2, 4]))


def test_agrees_with_the_reference_evaluator():
    case = dequantize(tensor("uint8", [0, 3]), f32(0.1), tensor("uint8", 1))
    equal(evaluated(case), result(case))


def test_reals_are_no_codes():
    with pytest.raises(TraceError, match="x is float32; only integers of up to 32 bits"):
        result(dequantize(f32([1]), f32(1)))
