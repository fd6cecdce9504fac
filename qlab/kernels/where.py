"""Where: both sides are chosen apart, with 0 where the other is; then one of them is taken where it is not 0.

So -0.0 of that one becomes 0.0: of X, or of Y where Y is the scalar of the broadcasting loop. Nothing else changes.
Source: onnxruntime 1.32.0, core/providers/cpu/tensor/where_op.cc.
"""

import numpy as np

from qlab.kernels.qlinearadd import first_is_scalar
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.trace import Step


def select(condition: Array, x: Array, y: Array, tensor: str, dtype: str) -> Steps:
    """X where the condition holds, else Y."""
    value = np.asarray(np.where(condition, x, y))
    shapes = [np.broadcast_shapes(condition.shape, side.shape) for side in (x, y)]
    y_is_scalar = first_is_scalar(shapes[1], shapes[0]) and not first_is_scalar(*shapes)
    asked = ~condition if y_is_scalar else condition
    lost = asked & (value == 0) & np.signbit(value.astype(np.float64))
    note = ""
    if lost.any():
        value = np.asarray(np.where(lost, value.dtype.type(0), value))
        note = "-0.0 becomes 0.0: it is taken for nothing chosen"
    formula = "X where condition, else Y"
    yield Step("output", formula, value, tensor=tensor, dtype=dtype, note=note)
    return value
