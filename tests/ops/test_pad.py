"""Pad takes entries away, then adds constants or the tensor's own entries."""

import numpy as np
import pytest

from qlab.case import Case
from qlab.errors import TraceError
from qlab.graph import Graph, Node
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, everywhere, f32, result, tensor

X = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    x = tensor(dtype, X)
    for name in SCHEMES:
        equal(
            result(call("Pad", {"data": x, "pads": np.array([0, 0, 1, 0])}, mode="edge"), name),
            X[[0, 1, 1]],
            dtype,
        )


def pad(pads, x=(1, 2, 3), dtype="int8", fill=None, **attributes):
    tensors = {"data": tensor(dtype, x), "pads": np.array(pads)}
    tensors |= {} if fill is None else {"constant_value": tensor(dtype, fill)}
    return call("Pad", tensors, **attributes)


@pytest.mark.parametrize(
    ("mode", "pads", "expected"),
    [
        ("constant", [1, 2], [0, 1, 2, 3, 0, 0]),
        ("constant", [-1, 2], [2, 3, 0, 0]),
        ("constant", [-4, 2], [0]),
        ("constant", [-2, -1], []),
        ("reflect", [2, 2], [3, 2, 1, 2, 3, 2, 1]),
        ("reflect", [-1, 1], [2, 3, 2]),
        ("edge", [1, 2], [1, 1, 2, 3, 3, 3]),
        ("edge", [-2, 4], [3, 3, 3, 3, 3]),
        ("wrap", [4, 2], [3, 1, 2, 3, 1, 2, 3, 1, 2]),
        ("wrap", [-1, 2], [2, 3, 2, 3]),
    ],
)
def test_modes(mode, pads, expected):
    everywhere(pad(pads, mode=mode), expected, "int8")
    everywhere(pad(pads, dtype="float32", mode=mode), expected, "float32")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32", "int32"])
def test_constants(dtype):
    everywhere(pad([1, 1], dtype=dtype, fill=7), [7, 1, 2, 3, 7], dtype)
    everywhere(pad([1, 0], x=[], dtype=dtype, fill=7), [7], dtype)


def test_some_axes():
    tensors = {"data": tensor("int8", X), "pads": np.array([1, 0]), "axes": np.array([-1])}
    everywhere(call("Pad", tensors), np.pad(X, ((0, 0), (1, 0))), "int8")


def test_attributes_before_opset_11():
    case = call("Pad", {"data": f32(X)}, opset=10, pads=(0, 1, 0, 0), value=0.5)
    everywhere(case, np.pad(f32(X), ((0, 0), (1, 0)), constant_values=0.5), "float32")


def test_the_constant_beside_dequantized_codes():
    """What is added is one of the scheme's numbers; 0 where it is absent."""
    nodes = (Node("DequantizeLinear", ("q", "s"), ("x",)), Node("Pad", ("x", "p", "k"), ("out",)))
    constants = {"s": f32(0.5), "p": np.array([1, 1]), "k": f32(0.25)}
    inputs = {"q": tensor("int8", [3, 4])}
    for used, expected in ((nodes, 0.25), ((nodes[0], Node("Pad", ("x", "p"), ("out",))), 0)):
        case = Case(Graph(used, constants, ("q",), ("out",), {"": 21}), inputs)
        everywhere(case, f32([expected, 1.5, 2, expected]), "float32")


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            pad([3, 0], mode="reflect"),
            "reflect of 3 entries on an axis of 3 is not modelled; at most 2",
        ),
        (pad([1, 0], x=[], mode="edge"), "edge has nothing to repeat"),
        (pad([1]), "pads has 1 entries; 2 are needed"),
        (pad([-2, -2]), "pads take more entries away"),
        (pad([1, 0], mode="mirror"), "mode 'mirror' is not one of constant, reflect, edge, wrap"),
        (pad([1, 0], fill=[1, 2]), "constant_value has 2 entries; one is allowed"),
        (pad([10**9, 0]), "at most 20,000,000 are traced"),
    ],
)
def test_bad_calls(case, message):
    with pytest.raises(TraceError, match=rf"^Pad \(out\): .*{message}"):
        result(case)
