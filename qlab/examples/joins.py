"""Tensors of codes put together, each converted to the scale and zero point of the result."""

import numpy as np

from qlab.case import Case
from qlab.examples import Example, Examples, codes, one_node, scale, zero_point
from qlab.graph import Graph, Node


def _concat(dtype: str, _: str) -> Case:
    inputs = {"X0": codes(dtype, -90, -1, 4), "X1": codes(dtype, 77, 3, -2, 50)}
    constants = {
        "Y_scale": scale(0.04),
        "Y_zero_point": zero_point(dtype, 1),
        "X0_scale": scale(0.02),
        "X0_zero_point": zero_point(dtype, 3),
        "X1_scale": scale(0.03),
        "X1_zero_point": zero_point(dtype, -5),
    }
    names = ["Y_scale", "Y_zero_point"]
    names += [f"X{i}{suffix}" for i in range(2) for suffix in ("", "_scale", "_zero_point")]
    node = Node("QLinearConcat", tuple(names), ("Y",), "com.microsoft", {"axis": 0})
    graph = Graph((node,), constants, tuple(inputs), ("Y",), {"": 13, "com.microsoft": 1})
    return Case(graph, inputs)


def _where(dtype: str, _: str) -> Case:
    constants = {
        "x_scale": scale(0.02),
        "x_zero_point": zero_point(dtype, 3),
        "y_scale": scale(0.03),
        "y_zero_point": zero_point(dtype, -5),
        "z_scale": scale(0.04),
        "z_zero_point": zero_point(dtype, 1),
    }
    inputs = {
        "condition": np.asarray([True, False, True, False]),
        "X": codes(dtype, -90, -1, 4, 100),
        "Y": codes(dtype, 77, 3, -2, 50),
    }
    return one_node("QLinearWhere", inputs, constants, outputs=("Z",))


EXAMPLES = Examples((Example("QLinearConcat", _concat), Example("QLinearWhere", _where)))
