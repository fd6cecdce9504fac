"""QLinearSoftmax: ties, both ends of the range, axes of both opset families, and what releases before 1.32 return."""

import dataclasses

import numpy as np
import pytest

from qlab.errors import TraceError
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, returned, step, tensor


def softmax(x, x_scale=1.0, y_scale=1 / 256, y_zero=0, dtype="uint8", x_zero=0, **attributes):
    tensors = {"X": tensor(dtype, x), "X_scale": f32(x_scale), "y_scale": f32(y_scale)}
    if x_zero is not None:
        tensors["x_zero_point"] = tensor(dtype, x_zero)
    if y_zero is not None:
        tensors["y_zero_point"] = tensor(dtype, y_zero)
    given = {k: v for k, v in {"opset": 13, **attributes}.items() if v is not None}
    case = call("QLinearSoftmax", tensors, domain="com.microsoft")
    node = dataclasses.replace(case.graph.nodes[0], attributes=given)
    return dataclasses.replace(case, graph=dataclasses.replace(case.graph, nodes=(node,)))


def of_release(case, version, cpu="avx2"):
    return trace(case.graph, case.inputs, OrtCpu(cpu, version=version)).outputs["out"].tolist()


@pytest.mark.parametrize("zero", [0, 1, 7])
def test_a_tie_is_even_before_the_zero_point(zero):
    everywhere(softmax([[5, 5]], y_scale=1.0, y_zero=zero), [[zero, zero]], "uint8")
    everywhere(
        softmax([[5, 5, 5, 5]], y_scale=0.5, y_zero=zero, dtype="int8"), [[zero] * 4], "int8"
    )


def test_both_ends_of_the_range():
    # e⁻⁵⁰ is nothing: 256 and 0.
    everywhere(softmax([[60, 10]], y_zero=0), [[255, 0]], "uint8")
    everywhere(softmax([[60, 10]], y_zero=3), [[255, 3]], "uint8")
    everywhere(softmax([[60, 10]], y_zero=-128, dtype="int8"), [[127, -128]], "int8")


def test_the_zero_points_of_x_cancel():
    for zero in (None, 0, 9, 255):
        everywhere(softmax([[200, 200, 190]], 0.0625, x_zero=zero), [[101, 101, 54]], "uint8")


def test_the_zero_point_of_y_is_required():
    with pytest.raises(TraceError, match="the required input y_zero_point is absent"):
        result(softmax([[3, 3]], y_zero=None))


X = np.array([[[0, 9], [4, 0]], [[7, 7], [0, 1]]])


@pytest.mark.parametrize(
    ("attributes", "axes"),
    [
        ({}, (2,)), ({"axis": 1}, (1,)), ({"axis": 0}, (0,)), ({"axis": -3}, (0,)),
        ({"opset": 12}, (2,)), ({"opset": 12, "axis": 1}, (1, 2)), ({"opset": 11, "axis": 2}, (2,)), ({"opset": 11, "axis": 0}, (0, 1, 2)),
        ({"opset": 1, "axis": -1}, (2,)),
    ],
)  # fmt: skip
def test_the_axis(attributes, axes):
    powers = np.exp((X - X.max(axes, keepdims=True)) * 0.5)
    expected = np.rint(powers / powers.sum(axes, keepdims=True) * 256).clip(0, 255)
    everywhere(softmax(X, 0.5, **attributes), expected, "uint8")


def test_the_reciprocal_of_the_scale_is_cut_off():
    """1 / f32(1 / 255) is 254.99998, and ONNX Runtime takes 254."""
    case = softmax([[60, 10]], y_scale=1 / 255)
    equal(result(case), [[255, 0]])
    equal(result(case, "ort_cpu"), [[254, 0]])
    equal(returned(case), [[254, 0]])
    assert step(case, "factor", "ort_cpu") == 254
    case = softmax([[60, 10]], y_scale=0.9, y_zero=2)
    equal(result(case, "ort_cpu"), returned(case))


def test_what_earlier_releases_return():
    case = softmax([[90, 0]], 0.05, dtype="int8")
    assert of_release(case, "1.28.0") == of_release(case, "1.15.0") == [[-3, 3]]
    assert of_release(case, "1.29.0") == of_release(case, "") == [[127, 3]]
    # A row of one entry overflows float32 up to 1.31; what a CPU makes of infinity then decides.
    one = {"uint8": softmax([[9]], y_zero=5), "int8": softmax([[9]], y_zero=-3, dtype="int8")}
    for version, cpu, unsigned, signed in (
        ("1.28.0", "avx2", 5, -1), ("1.28.0", "arm64", 4, -1),
        ("1.31.1", "sse", 5, 127), ("1.31.1", "arm64", 4, 127), ("1.32.0", "arm64", 255, 127),
    ):  # fmt: skip
        assert of_release(one["uint8"], version, cpu) == [[unsigned]], (version, cpu)
        assert of_release(one["int8"], version, cpu) == [[signed]], (version, cpu)


def test_no_entries():
    for shape in ((0, 3), (3, 0)):
        case = softmax(np.zeros(shape))
        for name in SCHEMES:
            assert result(case, name).shape == shape


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (softmax([[1]], axis=2), "axis 2 is outside a tensor of rank 2; -2 to 1 are allowed"),
        (softmax([1], opset=12, axis=1), "axis 1 is outside a tensor of rank 1"),
        (softmax([[1]], dtype="int16"), "X is int16; only integers of up to 8 bits"),
        (softmax([[1]], dtype="int4"), "X is int4; int8 and uint8 are allowed"),
        (softmax([[1]], y_scale=[1, 1]), "y_scale has 2 entries"),
        (softmax([[1]], x_scale=[1, 1]), "X_scale has 2 entries"),
        (softmax([[1]], opset=None), "the required attribute opset is absent"),
    ],
)
def test_what_is_no_call(case, words):
    with pytest.raises(TraceError, match=r"QLinearSoftmax \(out\): .*" + words):
        result(case)


def test_types_of_one_kind():
    case = softmax([[1]])
    case = dataclasses.replace(case, inputs={**case.inputs, "y_zero_point": tensor("int8", 0)})
    with pytest.raises(TraceError, match="y_zero_point is int8 and X is uint8; they have one type"):
        result(case)


@pytest.mark.parametrize("scales", [(0, 1), (-1, 1), (np.inf, 1), (1, 0), (1, -1), (1, np.nan), (1, 1e-45)])  # fmt: skip
def test_scales_that_the_kernel_does_not_guard_against(scales):
    with pytest.raises(TraceError, match="not modelled"):
        result(softmax([[1, 2]], *scales), "ort_cpu")


def test_rows_whose_logarithm_is_not_proven():
    for length in (60_594, 65_537):
        with pytest.raises(TraceError, match=f"rows of {length:,} entries are not modelled"):
            result(softmax(np.zeros((1, length))), "ort_cpu")
