"""QLinearSoftmax: y = softmax(X_scale · (X - X_zero_point)) / y_scale + y_zero_point along an axis."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.errors import TraceError
from qlab.lowering import normalized_rows
from qlab.ops import Call, Operator
from qlab.ops.parameters import eight_bits, per_tensor, target, zero_point
from qlab.schemes import Quantized
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

INPUTS = ("X", "X_scale", "x_zero_point", "y_scale", "y_zero_point")


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    opset = call.attribute("opset")
    if opset is None:
        raise TraceError("the required attribute opset is absent: it is that of the Softmax meant")
    call["y_zero_point"]  # required, unlike that of x
    codes = eight_bits(call, "X", "y_zero_point")
    q = Quantized(
        "X",
        codes,
        per_tensor("X_scale", call["X_scale"]),
        per_tensor("x_zero_point", zero_point(call, "x_zero_point")),
    )
    rows = normalized_rows(codes.shape, call.attribute("axis", -1), opset)
    per_tensor("y_scale", call["y_scale"])
    yield from scheme.quantized_softmax(q, rows, target(call, "y", call.dtype("X"), codes.shape))


OPERATOR = Operator(
    "QLinearSoftmax",
    "com.microsoft",
    INPUTS,
    "com.microsoft QLinearSoftmax, onnxruntime 1.32.0",
    _steps,
    one_type=True,
)
