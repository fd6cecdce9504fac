"""QLinearSigmoid: a tie, both ends of the range, absent zero points, what is no call."""

import dataclasses

import pytest

from qlab.engines.ort import run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.errors import TraceError
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.ops.calls import call, everywhere, f32, result, tensor


def sigmoid(x, x_scale=1.0, y_scale=1 / 256, y_zero=0, dtype="uint8", x_zero=0, op="QLinearSigmoid", **attributes):  # fmt: skip
    tensors = {"X": tensor(dtype, x), "X_scale": f32(x_scale), "Y_scale": f32(y_scale)}
    if x_zero is not None:
        tensors["X_zero_point"] = tensor(dtype, x_zero)
    if y_zero is not None:
        tensors["Y_zero_point"] = tensor(dtype, y_zero)
    return call(op, tensors, domain="com.microsoft", **attributes)


@pytest.mark.parametrize("zero", [0, 1, 7])
def test_a_tie_is_even_before_the_zero_point(zero):
    everywhere(sigmoid([[9]], y_scale=1.0, y_zero=zero, x_zero=9), [[zero]], "uint8")


def test_both_ends_of_the_range():
    everywhere(sigmoid([0, 127, 255], 0.5, y_zero=0, x_zero=127), [0, 128, 255], "uint8")
    everywhere(sigmoid([-128, 0, 127], 0.5, y_zero=-128, dtype="int8"), [-128, 0, 127], "int8")
    everywhere(sigmoid([0], y_scale=1 / 1024), [255], "uint8")


def test_shapes():
    everywhere(sigmoid(5, x_zero=5), 128, "uint8")
    everywhere(sigmoid([[[]]]), [[[]]], "uint8")


def test_absent_zero_points_are_zero():
    """Of Y an empty name: ONNX Runtime aborts where the node has four inputs, in each release from 1.15.0 on."""
    for dtype, x, y_scale, expected in (("uint8", [0, 1], 1 / 256, [128, 255]), ("int8", [-1, 1], 0.25, [0, 4])):  # fmt: skip
        case = sigmoid(x, 100.0, y_scale, x_zero=None, y_zero=None, dtype=dtype)
        everywhere(case, expected, dtype, ort=False)
        assert run_ort(case, SessionConfig("ORT_DISABLE_ALL")).status is RunStatus.CRASHED
        node = case.graph.nodes[0]
        node = dataclasses.replace(node, inputs=(*node.inputs, ""))
        graph = dataclasses.replace(case.graph, nodes=(node,))
        everywhere(dataclasses.replace(case, graph=graph), expected, dtype)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (sigmoid([1], dtype="int16"), "X is int16; only integers of up to 8 bits"),
        (sigmoid([1], dtype="uint4"), "X is uint4; int8 and uint8 are allowed"),
        (sigmoid([1], x_scale=[1, 1]), "X_scale has 2 entries; one for the whole tensor"),
        (sigmoid([1], y_scale=[1, 1]), "Y_scale has 2 entries; one for the whole tensor"),
        (sigmoid([1], x_zero=[1, 1]), "X_zero_point has 2 entries; one for the whole tensor"),
    ],
)
def test_what_is_no_call(case, words):
    with pytest.raises(TraceError, match=r"QLinearSigmoid \(out\): .*" + words):
        result(case)


def test_types_of_one_kind():
    tensors = {"X": tensor("int8", [1]), "X_scale": f32(1), "Y_scale": f32(1), "Y_zero_point": tensor("uint8", 0)}  # fmt: skip
    with pytest.raises(TraceError, match="Y_zero_point is uint8 and X is int8; they have one type"):
        result(call("QLinearSigmoid", tensors, domain="com.microsoft"))


def test_arm64_before_1_24():
    case = sigmoid([1])
    with pytest.raises(TraceError, match=r"Sigmoid on ARM64 up to 1\.23 .* not modelled"):
        trace(case.graph, case.inputs, OrtCpu("arm64", version="1.23.2"))
    assert trace(case.graph, case.inputs, OrtCpu("arm64", version="1.24.4")).outputs["out"].size
