"""Gemm, and FusedGemm with its activation."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, evaluated, everywhere, f32, result

A, B = f32([[1, 2], [3, 4]]), f32([[1, -1], [0.5, 2]])  # A·B = [[2, 3], [5, 5]]


def gemm(a=A, b=B, c=None, **attributes):
    tensors = {"A": a, "B": b} | ({} if c is None else {"C": c})
    return call("Gemm", tensors, **attributes)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, A @ B),
        ({"transA": 1}, A.T @ B),
        ({"transB": 1}, A @ B.T),
        ({"transA": 1, "transB": 1}, A.T @ B.T),
        ({"alpha": 0.5}, A @ B / 2),
        ({"alpha": 0.0}, A @ B * 0),
    ],
)
def test_products(attributes, expected):
    everywhere(gemm(**attributes), expected, "float32")


@pytest.mark.parametrize("c", [f32([1, 2]), f32([[1], [2]]), f32([[1, 2], [3, 4]]), f32(3), f32([3])])  # fmt: skip
@pytest.mark.parametrize("beta", [1.0, 0.25, 0.0])
def test_bias(c, beta):
    case = gemm(c=c, alpha=2.0, beta=beta)
    everywhere(case, 2 * (A @ B) + np.float32(beta) * c, "float32")
    equal(evaluated(case), result(case))


def test_fused_gemm():
    def fused(**attributes):
        tensors = {"A": A, "B": B, "C": f32([-4, 0])}
        return call("FusedGemm", tensors, domain="com.microsoft", **attributes)

    everywhere(fused(activation="Relu"), f32([[0, 3], [1, 5]]))
    equal(result(fused(activation="Clip", activation_params=(-1.0, 4.0))), f32([[-1, 3], [1, 4]]))
    with pytest.raises(TraceError, match="the fused activation 'Tanh' has no arithmetic here"):
        result(fused(activation="Tanh"))


def test_nothing_to_add():
    everywhere(gemm(f32(np.ones((2, 0))), f32(np.ones((0, 2))), f32([1, 2])), [[1, 2], [1, 2]])


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (gemm(f32([1, 2])), r"A has the shape \[2\]; it must have two axes"),
        (gemm(c=f32(np.ones((1, 2, 2)))), r"C of the shape \[1, 2, 2\] does not fit"),
        (gemm(f32([[1]])), "A has 1 columns and B 2 rows"),
    ],
)
def test_what_does_not_fit(case, words):
    with pytest.raises(TraceError, match=rf"^Gemm \(out\): {words}"):
        result(case)
