"""QuantizeLinear: codes by hand. Zero points are added after rounding."""

import numpy as np
import pytest

from qlab.errors import TraceError
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.ops.calls import (
    SCHEMES,
    call,
    equal,
    evaluated,
    everywhere,
    f32,
    result,
    returned,
    step,
    tensor,
)


def quantize(x, y_scale, y_zero_point=None, **attributes):
    tensors = {"x": x, "y_scale": y_scale}
    if y_zero_point is not None:
        tensors["y_zero_point"] = y_zero_point
    return call("QuantizeLinear", tensors, **attributes)


TIES = [-3, -1, 1, 3, 5]  # over a scale of 2: -1.5, -0.5, 0.5, 1.5, 2.5


@pytest.mark.parametrize(
    ("zero_point", "expected"), [(0, [-2, 0, 0, 2, 2]), (1, [-1, 1, 1, 3, 3]), (-3, [-5, -3, -3, -1, -1])]
)  # fmt: skip
def test_ties_go_to_the_even_before_the_zero_point(zero_point, expected):
    everywhere(quantize(f32(TIES), f32(2), tensor("int8", zero_point)), expected, "int8")


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("int4", -8, 7),
        ("uint4", 0, 15),
        ("int8", -128, 127),
        ("uint8", 0, 255),
        ("int16", -32768, 32767),
        ("uint16", 0, 65535),
    ],
)
def test_saturates_at_both_ends(dtype, low, high):
    zero_point = (low + high + 1) // 2 + 1
    ends = f32([low - 2, low - 1, low, high, high + 1, high + 2]) - np.float32(zero_point)
    x = np.concatenate([ends, f32([-np.inf, np.inf, 3e38])])
    case = quantize(x, f32(1), tensor(dtype, zero_point))
    everywhere(case, [low, low, low, high, high, high, low, high, high], dtype)


def test_without_a_zero_point_uint8():
    everywhere(quantize(f32([-1, 2.5, 3.5, 300]), f32(1)), [0, 2, 4, 255], "uint8")


@pytest.mark.parametrize(("number", "dtype"), [(3, "int8"), (5, "int16"), (22, "int4")])
def test_output_dtype(number, dtype):
    case = quantize(f32([-1, 2.5]), f32(1), output_dtype=number)
    for name in SCHEMES:
        equal(result(case, name), [-1, 2], dtype)


def test_an_unknown_output_dtype():
    with pytest.raises(TraceError, match="output_dtype is 99, which is no data type of ONNX's"):
        result(quantize(f32([1]), f32(1), output_dtype=99))


def test_a_float_output_dtype():
    with pytest.raises(TraceError, match="quantizing to bfloat16 has no arithmetic here"):
        result(quantize(f32([1]), f32(1), output_dtype=16))


@pytest.mark.parametrize("axis", [1, -1])
def test_per_axis(axis):
    case = quantize(f32([[4, 4, 4], [-4, 3, 1]]), f32([1, 2, 8]), tensor("int8", [0, 1, -1]), axis=axis)  # fmt: skip
    everywhere(case, [[4, 3, -1], [-4, 3, -1]], "int8")


def test_the_default_axis_is_1():
    x = f32(np.arange(12).reshape(2, 3, 2))
    equal(result(quantize(x, f32([1, 2, 4]))), [[[0, 1], [1, 2], [1, 1]], [[6, 7], [4, 4], [2, 3]]])  # fmt: skip


def test_blocked():
    case = quantize(
        f32([[1, 2, 3], [4, 5, 6]]), f32([[1, 2], [0.5, 4]]), tensor("uint8", [[0, 1], [2, 3]]), axis=1, block_size=2
    )  # fmt: skip
    everywhere(case, [[1, 2, 3], [10, 12, 5]], "uint8")


def test_odd_scales():
    # 0 / 0 is NaN, the lowest code; x / 0 is infinite; a negative scale is a scale.
    everywhere(quantize(f32([0, 1, -1]), f32(0), tensor("int8", 5)), [-128, 127, -128], "int8")
    everywhere(quantize(f32([1, -2, 0]), f32(-1), tensor("int8", 5)), [4, 7, 5], "int8")
    everywhere(quantize(f32([1, -2]), f32(np.nan), tensor("uint8", 5)), [0, 0], "uint8")
    everywhere(quantize(f32([1, -2]), f32(np.inf), tensor("uint8", 5)), [5, 5], "uint8")
    everywhere(quantize(f32([0, 1e-45]), f32(1e-45), tensor("uint8", 5)), [5, 6], "uint8")


def test_float32_rounds_the_quotient_onto_a_tie():
    # 0.35 / 0.1 of the stored floats is 3.4999998…; in float32 it is exactly 3.5.
    case = quantize(f32([0.35]), f32(0.1))
    assert step(case, "scaled")[0] < 3.5
    equal(result(case), [3])
    equal(result(case, "float64"), [3])
    assert step(case, "scaled", "float32")[0] == 3.5
    equal(result(case, "float32"), [4])
    equal(result(case, "ort_cpu"), [4])
    equal(returned(case), [4])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_other_floats(dtype):
    case = quantize(tensor(dtype, [1.5, 2.5, -1]), tensor(dtype, 0.5), tensor("int8", 1))
    for name in ("exact", "float64", "float32"):
        equal(result(case, name), [4, 6, -1], "int8")
    if dtype == "float16":
        equal(result(case, "ort_cpu"), [4, 6, -1], "int8")
        equal(returned(case), [4, 6, -1], "int8")
    else:
        with pytest.raises(TraceError, match="bfloat16 has no proven arithmetic in ort_cpu"):
            result(case, "ort_cpu")


def test_the_domain_of_microsoft():
    tensors = {"x": f32([1, 3]), "y_scale": f32(2), "y_zero_point": tensor("uint8", 1)}
    everywhere(call("QuantizeLinear", tensors, domain="com.microsoft"), [1, 3], "uint8")


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_any_shape(shape):
    everywhere(quantize(np.full(shape, 2, np.float32), f32(1)), np.full(shape, 2), "uint8")


def test_agrees_with_the_reference_evaluator():
    # Not so for requantizing operators: there it adds the zero point before it rounds.
    case = quantize(f32(TIES), f32(2), tensor("int8", 1))
    equal(evaluated(case), result(case))


@pytest.mark.parametrize(
    ("scale", "zero_point", "words"),
    [
        (f32([1, 2]), tensor("int8", 0), "2 entries does not fit axis 1"),
        (f32(1), f32(0), "y_zero_point is float32"),
        (f32(1), np.asarray(0, np.int64), "y_zero_point is int64; only integers of up to 32 bits"),
    ],
)
def test_what_does_not_fit(scale, zero_point, words):
    with pytest.raises(TraceError, match=rf"^QuantizeLinear \(out\): .*{words}"):
        result(quantize(f32([[1, 2, 3]]), scale, zero_point))


def older(case, version, cpu="avx2"):
    return trace(case.graph, case.inputs, OrtCpu(cpu, version=version)).outputs["out"]


def test_float16_of_older_releases():
    """Up to 1.29 it is truncated; up to 1.31 what does not fit int32 becomes its smallest number, which wraps."""
    x = tensor("float16", [0.9, -1.9, 2.5, 60000, np.inf, -np.inf, np.nan])
    for zero_point, beyond in ((1, -128), (-1, 127)):
        case = quantize(x, tensor("float16", 1e-5), tensor("int8", zero_point))
        equal(older(case, "1.31.0")[3:], [beyond] * 4)
        case = quantize(x, tensor("float16", 1), tensor("int8", zero_point))
        equal(older(case, "1.29.0")[:3], np.array([0, -1, 2]) + zero_point)
        equal(older(case, "1.30.0")[:3], np.array([1, -2, 2]) + zero_point)
        equal(older(case, "1.32.0"), result(case, "ort_cpu"))


def test_blocks_of_older_releases():
    x = f32([[3e9, 3e9], [1, 1]])
    for axis, expected in ((0, -128), (1, 127)):
        case = quantize(x, f32([[1, 1]] if axis == 0 else [[1], [1]]), axis=axis, block_size=2, output_dtype=3)  # fmt: skip
        equal(older(case, "1.31.0")[0], [expected, expected])
        equal(result(case, "ort_cpu")[0], [127, 127])


def test_four_bits_that_share_a_byte_in_older_releases():
    case = quantize(f32([3e9] * 3), f32(1), output_dtype=22)
    equal(older(case, "1.31.0"), [7, 7, -8])
    case = quantize(f32([[3e9] * 3] * 2), f32([1, 1]), axis=0, output_dtype=22)
    equal(older(case, "1.31.0"), [[7, 7, -8], [-8, 7, 7]])


def test_what_is_not_known_of_older_releases():
    half = quantize(tensor("float16", [1]), tensor("float16", 1), opset=19)
    with pytest.raises(TraceError, match="in onnxruntime 1.15.1 is not modelled; from 1.16.0 on"):
        older(half, "1.15.1")
    equal(older(quantize(f32([1.5]), f32(1)), "1.15.1"), [2])
    case = quantize(f32([[1, 2]]), f32([1, 1]), opset=25, output_dtype=26)
    with pytest.raises(TraceError, match="2 bits per axis in onnxruntime 1.30.0 are not modelled"):
        older(case, "1.30.0")
    case = quantize(tensor("float16", [1]), tensor("float16", 1), tensor("int8", 0))
    with pytest.raises(TraceError, match="through int32 on arm64 is not modelled"):
        older(case, "1.31.0", "arm64")
