"""MatMul of reals."""

import math
from fractions import Fraction

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, evaluated, everywhere, f32, result, tensor, traced


def product(a, b):
    return call("MatMul", {"A": a, "B": b})


@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 1, 2, 3), (4, 3, 2)), ((2, 0), (0, 3)),
     ((0, 2), (2, 3))],
)  # fmt: skip
def test_shapes_as_numpy_has_them(a, b):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, shape).astype(np.float32) / 4 for shape in (a, b))
    everywhere(product(a, b), np.matmul(a, b), "float32")


def test_how_each_scheme_adds():
    # In this order float32 loses 2^-24 at each step; the exact sum is 1 + 2^-22.
    a, b = f32([[1, 2**-12, 2**-12, 2**-12, 2**-12]]), f32([1, *[2**-12] * 4])
    assert traced(product(a, b)).tensors["out"][0] == 1 + Fraction(1, 2**22)
    equal(result(product(a, b)), f32([1 + 2**-22]))
    equal(result(product(a, b), "float64"), f32([1 + 2**-22]))
    equal(result(product(a, b), "float32"), f32([1]))
    equal(result(product(a, b), "ort_cpu"), f32([1]))


def test_the_kernel_fuses_where_the_cpu_can():
    # Two rows and columns: one alone has a kernel without fused multiply-add.
    a, b = f32([[-1, 1 + 2**-23]] * 2), f32([[1, 1], [1 - 2**-23] * 2])
    equal(result(product(a, b), "ort_cpu", "avx2"), np.full((2, 2), f32(-(2.0**-46))))
    equal(result(product(a, b), "ort_cpu", "sse"), np.zeros((2, 2)))
    equal(result(product(a[:1], b), "ort_cpu", "avx2"), np.zeros((1, 2)))


def test_infinities_and_nan():
    case = product(f32([[np.inf, 1], [np.nan, 0], [0, 1]]), f32([[1], [np.inf]]))
    everywhere(case, f32([[np.inf], [np.nan], [np.inf]]))
    assert math.isnan(result(product(f32([0, 1]), f32([np.inf, 1])))[()])


def test_other_floats():
    case = product(tensor("float16", [[1.5]]), tensor("float16", [[1.5]]))
    equal(result(case), [[2.25]], "float16")
    with pytest.raises(TraceError, match="float16 has no proven arithmetic in ort_cpu"):
        result(case, "ort_cpu")


def test_agrees_with_the_reference_evaluator():
    case = product(f32([[1, 2], [3, 4]]), f32([[0.5, 1], [2, 4]]))
    equal(evaluated(case), result(case))


def test_codes_are_no_reals():
    with pytest.raises(TraceError, match="A is int32; only float16, bfloat16, float32, float64"):
        result(product(tensor("int32", [[1]]), tensor("int32", [[1]])))
