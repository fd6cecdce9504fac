"""Case: its model, and one tensor replaced."""

import numpy as np
import onnx
import pytest

from qlab.case import Case
from qlab.graph import Graph, Node

NODE = Node("QuantizeLinear", ("x", "y_scale", "y_zero_point"), ("y",))
CONSTANTS = {"y_scale": np.array(0.5, np.float32), "y_zero_point": np.array(3, np.uint8)}
GRAPH = Graph((NODE,), CONSTANTS, ("x",), ("y",), {"": 21})
X = np.float32([[1.25, -2]])


@pytest.fixture
def case():
    return Case(GRAPH, {"x": X}, expected={"y": np.uint8([[5, 0]])})


def test_the_model_declares_the_inputs(case):
    model = case.model({"y": np.zeros((1, 2), np.uint8)})
    onnx.checker.check_model(model, full_check=True)
    (given,) = model.graph.input
    assert given.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    assert [d.dim_value for d in given.type.tensor_type.shape.dim] == [1, 2]
    assert model.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.UINT8


def test_tensor(case):
    assert case.tensor("x") is case.inputs["x"]
    assert case.tensor("y_scale") is CONSTANTS["y_scale"]
    assert case.tensor("y") is None


@pytest.mark.parametrize("name", ["x", "y_scale"])
def test_with_tensor_replaces_one_and_forgets_what_was_expected(case, name):
    new = np.float32([7])
    changed = case.with_tensor(name, new)
    assert changed.tensor(name) is new
    assert not changed.expected
    assert case.tensor(name) is not new
    assert case.expected


def test_with_tensor_keeps_inputs_inputs_and_constants_constants(case):
    assert set(case.with_tensor("x", X).inputs) == {"x"}
    assert set(case.with_tensor("y_scale", X).graph.constants) == set(CONSTANTS)
