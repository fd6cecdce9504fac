"""Split: parts of a tensor along an axis; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, integers
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _lengths(call: Call, size: int) -> tuple[int, ...]:
    """The length of each part: as given, else equal, from opset 18 on with a shorter last one."""
    count = len(call.node.outputs)
    lengths = integers(call, "split", since=13)
    if lengths is None:
        if size % count and call.opset < 18:
            raise TraceError(f"{size} entries do not make {count} equal parts")
        each = -(-size // count)
        lengths = (*(each,) * (count - 1), size - each * (count - 1))
    if len(lengths) != count or sum(lengths) != size or min(lengths) < 0:
        raise TraceError(
            f"split {list(lengths)} does not make {count} parts of an axis of {size} entries"
        )
    return lengths


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data = call["input"]
    axis = axis_of(call.attribute("axis", 0), data.ndim)
    ends = np.cumsum(_lengths(call, data.shape[axis]))
    parts = np.split(data, ends[:-1], axis=axis)
    for number, (name, value) in enumerate(zip(call.node.outputs, parts, strict=True)):
        formula = f"part {number} of input along axis {axis}"
        if name:
            yield Step("output", formula, value, tensor=name, dtype=call.dtype("input"))


OPERATOR = Operator("Split", "", ("input", "split"), "ai.onnx Split, opsets 2 to 18", _steps)
