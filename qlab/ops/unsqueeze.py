"""Unsqueeze: data with axes of one entry more; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, integers
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data = call["data"]
    given = integers(call, "axes", since=13)
    if given is None:
        raise TraceError("the required axes are absent")
    rank = data.ndim + len(given)
    axes = tuple(axis_of(a, rank, "axes") for a in given)
    if len(set(axes)) != len(axes):
        raise TraceError(f"axes {list(given)} name an axis twice")
    value = np.expand_dims(data, axes)
    formula = "data with axes of one entry more"
    yield Step("output", formula, value, tensor=call.output, dtype=call.dtype("data"))


OPERATOR = Operator("Unsqueeze", "", ("data", "axes"), "ai.onnx Unsqueeze, opsets 1 to 25", _steps)
