"""Clip: min(max(input, min), max); the limits are inputs from opset 11, attributes before.

By default they are the lowest and the largest finite value of the type, so that infinities are clipped too.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from qlab.arithmetic import EXACT, elementwise
from qlab.ops import Call, Operator
from qlab.ops.parameters import per_tensor
from qlab.qtypes import DTYPES, Array, is_float
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _limit(call: Call, name: str) -> Array:
    value = call.optional(name)
    if value is not None:
        return per_tensor(name, value)
    dtype = DTYPES[call.dtype("input")]
    if name in call.node.attributes:
        return np.asarray(call.attribute(name), dtype)
    info = ml_dtypes.finfo(dtype) if is_float(dtype) else ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return np.asarray(getattr(info, name), dtype)


def clip(value: Array, low: Array, high: Array) -> Array:
    """min(max(value, low), high); NaN and -0.0 stay, and a limit that is NaN does not limit."""
    for limit, choose, beyond in ((low, max, np.less), (high, min, np.greater)):
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


OPERATOR = Operator(
    "Clip", "", ("input", "min", "max"), "ai.onnx Clip, opsets 6 to 13", _steps, elementwise=True
)
