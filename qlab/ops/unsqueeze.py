"""Unsqueeze: with further axes of one entry; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, integers, moved
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data = call["data"]
    given = integers(call, "axes", since=13)
    if given is None:
        raise TraceError("axes is needed")
    rank = data.ndim + len(given)
    axes = tuple(axis_of(axis, rank, "axes") for axis in given)
    if len(set(axes)) < len(axes):
        raise TraceError(f"axes {list(given)} names an axis twice")
    yield moved(call, "data", "data with axes of one entry", np.expand_dims(data, axes))


OPERATOR = Operator("Unsqueeze", "", ("data", "axes"), "ai.onnx Unsqueeze, opsets 1 to 23", _steps)
