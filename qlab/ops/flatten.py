"""Flatten: to a matrix, the axes before ``axis`` as rows; moves values, changes none."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    value = call["input"]
    axis = call.attribute("axis", 1)
    if not -value.ndim <= axis <= value.ndim:
        raise TraceError(f"axis {axis} is outside an input of rank {value.ndim}")
    axis = axis + value.ndim if axis < 0 else axis
    rows, columns = math.prod(value.shape[:axis]), math.prod(value.shape[axis:])
    flat = value.reshape(rows, columns)
    yield Step("output", "input as a matrix", flat, tensor=call.output, dtype=call.dtype("input"))


OPERATOR = Operator("Flatten", "", ("input",), "ai.onnx Flatten, opsets 1 to 23", _steps)
