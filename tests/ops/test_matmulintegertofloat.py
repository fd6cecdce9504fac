"""com.microsoft MatMulIntegerToFloat: sums times scales, plus a bias of reals."""

from fractions import Fraction

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, everywhere, f32, result, returned, tensor, traced


def to_float(a, b, a_scale, b_scale, bias=None, zero_points=(0, 0), types=("uint8", "uint8")):
    tensors = {
        "A": tensor(types[0], a),
        "B": tensor(types[1], b),
        "a_scale": f32(a_scale),
        "b_scale": f32(b_scale),
        "a_zero_point": tensor(types[0], zero_points[0]),
        "b_zero_point": tensor(types[1], zero_points[1]),
    }
    if bias is not None:
        tensors["bias"] = f32(bias)
    return call("MatMulIntegerToFloat", tensors, domain="com.microsoft")


def test_by_hand():
    case = to_float([[3, 5]], [[4, 1], [6, 1]], 0.5, [0.25, 2], [10, -1], (1, 0))
    everywhere(case, f32([[4 + 10, 6 - 1]]), "float32")
    everywhere(to_float([[3, 5]], [[4], [6]], 0.5, 0.25), f32([[5.25]]), "float32")


def test_the_bias_is_added_after_a_rounding():
    # 3 · 0.1·0.1 and the bias: exact keeps the product, the kernel rounds it, the multiplier too.
    case = to_float([[3]], [[1]], 0.1, 0.1, [-0.03])
    tenth = Fraction(float(np.float32(0.1)))
    assert traced(case).tensors["out"][0, 0] == 3 * tenth * tenth - Fraction(float(np.float32(0.03)))  # fmt: skip
    multiplier = np.float32(0.1) * np.float32(0.1)
    expected = np.float32(np.float32(3) * multiplier) - np.float32(0.03)
    assert result(case, "ort_cpu")[0, 0] == expected
    assert result(case)[0, 0] != expected


def test_pairs_saturate_on_avx2():
    case = to_float([[255, 255]], [[127], [127]], 1, 1, types=("uint8", "int8"))
    equal(result(case), [[64_770]])
    equal(result(case, "ort_cpu", "avx2"), [[32_767]])
    equal(result(case, "ort_cpu", "vnni"), [[64_770]])


def test_a_scale_that_the_kernel_does_not_take_multiplies_the_bias_too():
    """A bug of ONNX Runtime's: B of three axes with b_scale (N,); (1, 1, N) is as it should be."""
    a, b = [[[3]]], [[[4, 1]]]
    everywhere(to_float(a, b, 0.5, [[[2, 4]]], [10, 10]), f32([[[12 + 10, 6 + 10]]]))
    case = to_float(a, b, 0.5, [2, 4], [10, 10])
    for name in ("exact", "float64", "float32"):
        equal(result(case, name), [[[22, 16]]])
    for actual in (result(case, "ort_cpu"), returned(case)):
        equal(actual, [[[12 + 20, 6 + 40]]])


def test_what_does_not_fit():
    with pytest.raises(TraceError, match=r"bias of the shape \[3\] does not fit"):
        result(to_float([[3]], [[4]], 1, 1, [1, 2, 3]))
    with pytest.raises(TraceError, match=r"b_scale of the shape \[3\] does not fit"):
        result(to_float([[3]], [[4]], 1, [1, 2, 3]))
    with pytest.raises(
        TraceError, match="a_scale has 2 entries; one for the whole tensor is allowed"
    ):
        result(to_float([[3], [4]], [[4]], [1, 2], 1))
