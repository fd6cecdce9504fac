"""DynamicQuantizeLinear: scale and zero point from the range of x."""

import math
from fractions import Fraction

import numpy as np
import pytest

from qlab.errors import TraceError
from qlab.graph import Node
from tests.ops.calls import SCHEMES, call, equal, evaluated, f32, result, returned, traced

OUTPUTS = ("y", "y_scale", "y_zero_point")


def dynamic(x):
    return call("DynamicQuantizeLinear", {"x": f32(x)}, outputs=OUTPUTS)


@pytest.mark.parametrize(
    ("x", "scale", "zero_point", "codes"),
    [
        ([-1, 0, 254], 1, 1, [0, 1, 255]),
        ([1, 2, 255], 1, 0, [1, 2, 255]),  # zero is always in the range
        ([-255, -2, -1], 1, 255, [0, 253, 254]),
        ([-127.5, 127.5, 0.5], 1, 128, [0, 255, 128]),  # the zero point 127.5 is a tie, and so are all x
        ([-0.5, 509.5, 1], 2, 0, [0, 255, 0]),  # the zero point 0.25 rounds away: -0.5 has no code
        ([[5]], 5 / 255, 0, [[255]]),
    ],
)  # fmt: skip
def test_by_hand(x, scale, zero_point, codes):
    case = dynamic(x)
    for name in SCHEMES:
        trace = traced(case, name)
        equal(trace.outputs["y_scale"], f32(scale), "float32")
        equal(trace.outputs["y_zero_point"], zero_point, "uint8")
        equal(trace.outputs["y"], codes, "uint8")
    equal(returned(case), codes, "uint8")


@pytest.mark.parametrize("shape", [(3,), (0,), (2, 0)])
def test_nothing_but_zeros(shape):
    case = dynamic(np.zeros(shape))
    exact, ort = traced(case), traced(case, "ort_cpu")
    # The specification's function body gives 0 / 0; ONNX Runtime takes 1.
    assert exact.tensors["y_scale"][()] == 0
    assert "0 / 0" in next(s.note for s in exact.nodes[0].steps if s.name == "real_zero_point")
    assert ort.outputs["y_scale"] == 1
    assert (exact.outputs["y_zero_point"], ort.outputs["y_zero_point"]) == (0, 0)
    equal(ort.outputs["y"], np.zeros(shape), "uint8")
    equal(returned(case), np.zeros(shape), "uint8")


def test_exact_keeps_the_scale_as_a_fraction():
    assert traced(dynamic([0, 1])).tensors["y_scale"][()] == Fraction(1, 255)


def test_an_infinite_range():
    for name in SCHEMES:
        trace = traced(dynamic([np.inf, 1, -2]), name)
        assert trace.outputs["y_scale"] == math.inf
        equal(trace.outputs["y"], [0, 0, 0])  # inf / inf is NaN, 1 / inf is 0
    equal(returned(dynamic([np.inf, 1, -2])), [0, 0, 0])


@pytest.mark.parametrize("x", [[3e38, -np.inf, -0.0], [np.inf, -np.inf, 1]])
def test_an_infinite_minimum_has_the_zero_point_255_in_the_kernel(x):
    found = traced(dynamic(x), "ort_cpu").outputs
    assert found["y_zero_point"] == 255
    equal(returned(dynamic(x)), found["y"])


@pytest.mark.parametrize("x", [[3e38, -3e38, 1], [1e-45, 0, -1e-45], [1e-40, 0]])
def test_extreme_ranges(x):
    equal(returned(dynamic(x)), traced(dynamic(x), "ort_cpu").outputs["y"])


def test_not_a_number():
    assert traced(dynamic([np.nan, 255, 0])).outputs["y"].tolist() == [0, 255, 0]
    with pytest.raises(TraceError, match="NaN in x: which lane it erases"):
        traced(dynamic([np.nan, 1]), "ort_cpu")


def test_outputs_may_be_left_out():
    case = dynamic([-1, 0, 254])
    node = Node("DynamicQuantizeLinear", ("x",), ("y",))
    graph = case.graph.__class__((node,), {}, ("x",), ("y",), case.graph.opset)
    equal(result(case.__class__(graph, case.inputs)), [0, 1, 255])


def test_agrees_with_the_reference_evaluator():
    case = dynamic([-1.5, 0.25, 3, 2])
    equal(evaluated(case), result(case))
