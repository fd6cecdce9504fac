"""QLinearWhere: codes of X where the condition holds, else of Y, converted to Z's scale and zero point."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.moving import of_one_type
from qlab.ops.parameters import codes, per_tensor, target, zero_point
from qlab.ops.where import condition
from qlab.schemes import Quantized
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

INPUTS = (
    "condition", "X", "x_scale", "x_zero_point", "Y", "y_scale", "y_zero_point", "z_scale", "z_zero_point",
)  # fmt: skip


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    of_one_type(call, ("X", "Y", "x_zero_point", "y_zero_point", "z_zero_point"))
    chosen = condition(call)
    selected = np.asarray(np.where(chosen, codes(call, "X", bits=8), codes(call, "Y", bits=8)))
    yield Step("selected", "X where condition, else Y", selected)
    scales = (per_tensor(n, call[n]) for n in ("x_scale", "y_scale"))
    scale = np.asarray(np.where(chosen, *scales))
    yield Step("selected_scale", "x_scale where condition, else y_scale", scale)
    zeros = (per_tensor(n, zero_point(call, n)) for n in ("x_zero_point", "y_zero_point"))
    zero = np.asarray(np.where(chosen, *zeros))
    yield Step("selected_zero_point", "x_zero_point where condition, else y_zero_point", zero)
    per_tensor("z_scale", call["z_scale"])
    made = target(call, "z", call.dtype("X"), selected.shape)
    yield from scheme.convert(Quantized("selected", selected, scale, zero), made)


OPERATOR = Operator(
    "QLinearWhere",
    "com.microsoft",
    INPUTS,
    "com.microsoft QLinearWhere, onnxruntime 1.32.0",
    _steps,
    one_type=True,
)
