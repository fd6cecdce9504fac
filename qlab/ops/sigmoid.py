"""Sigmoid: y = 1 / (1 + exp(-x))."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.functions import SIGMOID
from qlab.ops import Call, Operator
from qlab.ops.parameters import reals
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    yield from scheme.evaluate(reals(call, "X"), SIGMOID, call.output, call.dtype("X"))


OPERATOR = Operator(
    "Sigmoid", "", ("X",), "ai.onnx Sigmoid, opsets 6 to 13", _steps, elementwise=True
)
