"""Gather: the entries of an axis that the indices name; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, moved
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data, indices = call["data"], call["indices"]
    axis = axis_of(call.attribute("axis", 0), data.ndim)
    if call.dtype("indices") not in ("int32", "int64"):
        raise TraceError(f"indices is {call.dtype('indices')}; int32 or int64 is needed")
    size = data.shape[axis]
    if indices.size and not -size <= indices.min() <= indices.max() < size:
        raise TraceError(
            f"indices go from {indices.min()} to {indices.max()}; axis {axis} has {size} entries"
        )
    value = np.take(data, indices, axis=axis)
    yield moved(call, "data", f"data at the indices of axis {axis}", value)


OPERATOR = Operator("Gather", "", ("data", "indices"), "ai.onnx Gather, opsets 1 to 13", _steps)
