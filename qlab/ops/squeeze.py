"""Squeeze: data without axes of one entry; moves values, changes none."""

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
        axes = tuple(i for i, n in enumerate(data.shape) if n == 1)
    else:
        axes = tuple(axis_of(a, data.ndim, "axes") for a in given)
    kept = [a for a in axes if data.shape[a] != 1]
    if kept:
        raise TraceError(
            f"axis {kept[0]} of data has {data.shape[kept[0]]} entries; it must have 1"
        )
    value = np.squeeze(data, axes)
    formula = "data without axes of one entry"
    yield Step("output", formula, value, tensor=call.output, dtype=call.dtype("data"))


OPERATOR = Operator("Squeeze", "", ("data", "axes"), "ai.onnx Squeeze, opsets 1 to 25", _steps)
