"""Softmax over reals: rational in exact, infinities, axes of both opset families, the kernel's last bits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from qlab.arithmetic import round_to
from qlab.errors import TraceError
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, returned, tensor, traced

X = np.arange(12).reshape(2, 3, 2) % 5


def softmax(x, dtype="float32", opset=21, **attributes):
    return call("Softmax", {"input": tensor(dtype, x)}, opset=opset, **attributes)


def test_rational_results_are_exact():
    value = traced(softmax([[3, 3, 3]])).tensors["out"]
    assert value.tolist() == [[Fraction(1, 3)] * 3]
    everywhere(softmax([[7, 7], [1e30, 1e30]]), f32([[0.5, 0.5], [0.5, 0.5]]), "float32")
    everywhere(softmax([5.0]), f32([1]), "float32")


def test_exact_is_correctly_rounded():
    x = f32([0.1, -3.7, 12.5, 12.25])
    context = mpmath.mp.clone()
    context.prec = 400
    values = [context.exp(context.mpf(float(v))) for v in x]
    got = result(softmax(x))
    for actual, value in zip(got, values, strict=True):
        share = value / sum(values)
        mantissa, exponent = share.man_exp
        assert actual == round_to(Fraction(int(mantissa)) * Fraction(2) ** int(exponent), "float32")


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([0, -np.inf], [1, 0]), ([0, np.inf], [np.nan, np.nan]), ([np.inf, np.inf], [np.nan] * 2),
        ([1e30, 0, -1e30], [1, 0, 0]),
    ],
)  # fmt: skip
def test_infinities_and_enormous_values(x, expected):
    everywhere(softmax(x), f32(expected), "float32")


def test_a_row_without_any_number():
    """The real line has no value; ONNX Runtime's maximum starts at the lowest float32, so it sees equal entries."""
    case = softmax([-np.inf, -np.inf])
    for name in ("exact", "float64", "float32"):
        assert np.isnan(result(case, name)).all()
    case = softmax([-np.inf, -np.inf, 1])
    everywhere(case, f32([0, 0, 1]), "float32")


def test_nan():
    case = softmax([[0, np.nan, 1], [2, 2, -np.inf]])
    for name in ("exact", "float64", "float32"):
        equal(result(case, name), [[np.nan] * 3, [0.5, 0.5, 0]])
    with pytest.raises(TraceError, match="NaN in x: .*not modelled"):
        result(case, "ort_cpu")


@pytest.mark.parametrize(
    ("attributes", "axes"),
    [
        ({}, (2,)), ({"axis": 1}, (1,)), ({"axis": 0}, (0,)), ({"axis": -2}, (1,)),
        ({"opset": 11}, (1, 2)), ({"opset": 12, "axis": 0}, (0, 1, 2)), ({"opset": 11, "axis": -1}, (2,)),
    ],
)  # fmt: skip
def test_the_axis(attributes, axes):
    powers = np.exp(X - X.max(axes, keepdims=True).astype(np.float64))
    expected = powers / powers.sum(axes, keepdims=True)
    case = softmax(X, **attributes)
    for actual in (*(result(case, name) for name in SCHEMES), returned(case)):
        np.testing.assert_allclose(actual, expected, rtol=3e-7)


def test_float64_is_the_sum_one_by_one():
    x = np.array([0.5, -1, 3, 0.25])
    powers = [math.exp(v - 3) for v in x]
    total = ((powers[0] + powers[1]) + powers[2]) + powers[3]
    case = softmax(x, "float64")
    assert result(case, "float64").tolist() == [p / total for p in powers]
    assert result(softmax(x), "float32").dtype == np.float32


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_types(dtype):
    case = softmax([[1, 1]], dtype)
    for name in ("exact", "float64", "float32"):
        equal(result(case, name), [[0.5, 0.5]], dtype)
    with pytest.raises(TraceError, match="no proven arithmetic in ort_cpu"):
        result(case, "ort_cpu")


def test_no_entries():
    for shape in ((0, 3), (3, 0)):
        for name in SCHEMES:
            assert result(softmax(np.zeros(shape)), name).shape == shape


def test_arm64_is_not_modelled():
    with pytest.raises(TraceError, match="ARM64 depends on the release and on SVE; not modelled"):
        result(softmax([1, 2]), "ort_cpu", "arm64")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (softmax(X, axis=3), "axis 3 is outside a tensor of rank 3; -3 to 2 are allowed"),
        (softmax([1], opset=11), "axis 1 is outside a tensor of rank 1"),
        (softmax(1.0), "axis -1 is outside a tensor of rank 0"),
        (softmax([1], "int32"), "input is int32; only float16"),
    ],
)
def test_what_is_no_call(case, words):
    with pytest.raises(TraceError, match=r"^Softmax \(out\): " + words):
        result(case)
