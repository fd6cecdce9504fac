"""Where moves codes, floats and fractions alike, with broadcasting."""

import numpy as np
import pytest

from qlab.case import Case
from qlab.errors import TraceError
from qlab.graph import Graph, Node
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, everywhere, f32, result, tensor


def where(condition, x, y, dtype="int8"):
    tensors = {"condition": np.asarray(condition), "X": tensor(dtype, x), "Y": tensor(dtype, y)}
    return call("Where", tensors)


@pytest.mark.parametrize(
    ("condition", "x", "y", "expected"),
    [
        ([True, False], [1, 2], [3, 4], [1, 4]),
        (True, [1, 2], [3, 4], [1, 2]),
        ([[True], [False]], [1, 2], 9, [[1, 2], [9, 9]]),
        (False, 1, 2, 2),
    ],
)
def test_broadcasts(condition, x, y, expected):
    everywhere(where(condition, x, y), expected, "int8")


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    for name in SCHEMES:
        equal(result(where([True, False], [1, 2], [3, 4], dtype), name), [1, 4], dtype)


def test_a_constant_beside_dequantized_codes():
    """In exact arithmetic one is a fraction, the other a stored float32."""
    nodes = (
        Node("DequantizeLinear", ("q", "s"), ("x",)),
        Node("Where", ("c", "x", "k"), ("out",)),
    )
    constants = {"s": f32(0.1), "k": f32([0.25, 0.5])}
    inputs = {"q": tensor("int8", [3, 4]), "c": np.array([True, False])}
    case = Case(Graph(nodes, constants, tuple(inputs), ("out",), {"": 21}), inputs)
    everywhere(case, f32([np.float32(0.1) * np.float32(3), 0.5]), "float32")


def test_what_does_not_fit():
    with pytest.raises(TraceError, match="condition is int8; bool is needed"):
        result(call("Where", dict.fromkeys(("condition", "X", "Y"), tensor("int8", [1]))))
    with pytest.raises(TraceError, match=r"^Where \(out\): "):
        result(where([True], [1, 2], [1, 2, 3]))
