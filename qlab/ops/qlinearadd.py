"""QLinearAdd: C = (A_scale·(A - A_zp) + B_scale·(B - B_zp)) / C_scale + C_zp, with broadcasting."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.parameters import quantized, target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

INPUTS = ("A", "A_scale", "A_zero_point", "B", "B_scale", "B_zero_point", "C_scale", "C_zero_point")


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    a, b = quantized(call, "A", "A", 0), quantized(call, "B", "B", 0)
    shape = np.broadcast_shapes(a.codes.shape, b.codes.shape)
    yield from scheme.add(a, b, target(call, "C", call.dtype("A"), shape, 0))


OPERATOR = Operator(
    "QLinearAdd",
    "com.microsoft",
    INPUTS,
    "com.microsoft QLinearAdd, onnxruntime 1.32.0",
    _steps,
    elementwise=True,
    one_type=True,
)
