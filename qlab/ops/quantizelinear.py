"""QuantizeLinear: y = saturate(round(x / y_scale) + y_zero_point), per tensor, per axis or blocked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.ops import Call, Operator
from qlab.ops.parameters import output_dtype, target, type_attribute
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x = call["x"]
    dtype = output_dtype(call, "y_zero_point", type_attribute(call, "output_dtype") or "uint8")
    precision = ""
    if call.opset >= 23 and not call.node.domain:
        precision = type_attribute(call, "precision") or call.dtype("y_scale")
    axis, block_size = call.attribute("axis", 1), call.attribute("block_size", 0)
    saturate = bool(call.attribute("saturate", 1))
    yield from scheme.quantize(
        x,
        target(
            call, "y", dtype, x.shape, axis,
            block_size=block_size, precision=precision, saturate=saturate,
        ),
    )  # fmt: skip


OPERATOR = Operator(
    "QuantizeLinear",
    "",
    ("x", "y_scale", "y_zero_point"),
    "ai.onnx QuantizeLinear, opsets 10 to 25",
    _steps,
    elementwise=True,
)
MICROSOFT = Operator(
    "QuantizeLinear",
    "com.microsoft",
    ("x", "y_scale", "y_zero_point"),
    "com.microsoft QuantizeLinear, onnxruntime 1.32.0",
    _steps,
    elementwise=True,
)
