"""Softmax: exp(x) / Σ exp(x) along an axis; below opset 13 over the axis and all after it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.lowering import normalized_rows
from qlab.ops import Call, Operator
from qlab.ops.parameters import reals
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x = reals(call, "input")
    axis = call.attribute("axis", 1 if call.opset < 13 else -1)
    yield from scheme.softmax(
        x, normalized_rows(x.shape, axis, call.opset), call.output, call.dtype("input")
    )


OPERATOR = Operator("Softmax", "", ("input",), "ai.onnx Softmax, opsets 1 to 13", _steps)
