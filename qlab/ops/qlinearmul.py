"""QLinearMul: C = (A - A_zp)·(B - B_zp)·(A_scale·B_scale) / C_scale + C_zp, with broadcasting."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.parameters import quantized, target
from qlab.ops.qlinearadd import INPUTS
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    a, b = quantized(call, "A", "A", 0), quantized(call, "B", "B", 0)
    shape = np.broadcast_shapes(a.codes.shape, b.codes.shape)
    yield from scheme.multiply(a, b, target(call, "C", call.dtype("A"), shape, 0))


OPERATOR = Operator(
    "QLinearMul",
    "com.microsoft",
    INPUTS,
    "com.microsoft QLinearMul, onnxruntime 1.32.0",
    _steps,
    elementwise=True,
    one_type=True,
)
