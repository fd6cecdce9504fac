"""Clip: min(max(input, min), max); the limits are inputs from opset 11, attributes before."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import elementwise
from qlab.ops import Call, Operator
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _limit(call: Call, name: str) -> Array | None:
    value = call.optional(name)
    if value is None and name in call.node.attributes:
        value = np.asarray(call.attribute(name), np.float32)
    return value


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    value, dtype = call["input"], call.dtype("input")
    for name, choose, larger in (("min", max, np.maximum), ("max", min, np.minimum)):
        limit = _limit(call, name)
        if limit is None:
            continue
        if value.dtype == object:
            bound = scheme.real(limit)
            value = elementwise(lambda v, b, pick=choose: v if v != v else pick(v, b), value, bound)
        else:
            value = np.asarray(larger(value, limit.astype(value.dtype)))
    yield Step("output", "min(max(input, min), max)", value, tensor=call.output, dtype=dtype)


OPERATOR = Operator("Clip", "", ("input", "min", "max"), "ai.onnx Clip, opsets 6 to 13", _steps)
