"""Expand: repeated along axes of one entry until the shape fits; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import refuse_large
from qlab.ops import Call, Operator
from qlab.ops.moving import moved
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data = call["input"]
    shape = np.broadcast_shapes(data.shape, tuple(int(n) for n in call["shape"]))
    refuse_large(shape)
    yield moved(call, "input", "input repeated", np.broadcast_to(data, shape).copy())


OPERATOR = Operator("Expand", "", ("input", "shape"), "ai.onnx Expand, opsets 8 to 13", _steps)
