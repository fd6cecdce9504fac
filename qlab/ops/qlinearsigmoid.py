"""QLinearSigmoid: Y = sigmoid(X_scale · (X - X_zero_point)) / Y_scale + Y_zero_point."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.functions import SIGMOID
from qlab.ops import Call, Operator
from qlab.ops.tables import INPUTS, looked_up
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    yield from looked_up(call, scheme, SIGMOID)


OPERATOR = Operator(
    "QLinearSigmoid",
    "com.microsoft",
    INPUTS,
    "com.microsoft QLinearSigmoid, onnxruntime 1.32.0",
    _steps,
    elementwise=True,
    one_type=True,
)
