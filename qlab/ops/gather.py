"""Gather: the entries of data along an axis that the indices name; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data, indices = call["data"], call["indices"].astype(np.int64)
    axis = axis_of(call.attribute("axis", 0), data.ndim)
    size = data.shape[axis]
    wrong = indices[(indices < -size) | (indices >= size)]
    if wrong.size:
        raise TraceError(
            f"the index {wrong.reshape(-1)[0]} is outside axis {axis} of data, which has {size} entries"
        )
    value = np.asarray(np.take(data, indices, axis))
    formula = f"data at the indices along axis {axis}"
    yield Step("output", formula, value, tensor=call.output, dtype=call.dtype("data"))


OPERATOR = Operator("Gather", "", ("data", "indices"), "ai.onnx Gather, opsets 1 to 13", _steps)
