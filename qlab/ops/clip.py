"""Clip: min(max(input, min), max); the limits are inputs from opset 11, attributes before."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import EXACT, elementwise
from qlab.ops import Call, Operator
from qlab.ops.parameters import per_tensor
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _limit(call: Call, name: str) -> Array | None:
    value = call.optional(name)
    if value is None and name in call.node.attributes:
        value = np.asarray(call.attribute(name), np.float32)
    return None if value is None else per_tensor(name, value)


def clip(value: Array, low: Array | None, high: Array | None) -> Array:
    """min(max(value, low), high); NaN and -0.0 stay; a limit that is None does not limit."""
    for limit, choose, beyond in ((low, max, np.less), (high, min, np.greater)):
        if limit is None:
            continue
        if value.dtype == object:
            bound = EXACT.real(limit)
            value = elementwise(lambda v, b, pick=choose: v if v != v else pick(v, b), value, bound)
        else:
            bound = limit.astype(value.dtype)
            value = np.asarray(np.where(beyond(value, bound), bound, value))
    return value


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    dtype = call.dtype("input")
    value = clip(call["input"], _limit(call, "min"), _limit(call, "max"))
    yield Step("output", "min(max(input, min), max)", value, tensor=call.output, dtype=dtype)


OPERATOR = Operator("Clip", "", ("input", "min", "max"), "ai.onnx Clip, opsets 6 to 13", _steps)
