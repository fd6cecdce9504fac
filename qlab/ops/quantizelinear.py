"""QuantizeLinear: y = saturate(round(x / y_scale) + y_zero_point), per tensor, per axis or blocked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import onnx

from qlab.ops import Call, Operator
from qlab.ops.parameters import output_dtype, target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x = scheme.real(call["x"])
    default = "uint8"
    if number := call.attribute("output_dtype", 0):
        default = onnx.TensorProto.DataType.Name(number).lower()
    dtype = output_dtype(call, "y_zero_point", default)
    block_size = call.attribute("block_size", 0)
    yield from scheme.quantize(
        x, target(call, "y", dtype, x.shape, call.attribute("axis", 1), block_size=block_size)
    )


OPERATOR = Operator(
    "QuantizeLinear",
    "",
    ("x", "y_scale", "y_zero_point"),
    "ai.onnx QuantizeLinear, opsets 10 to 23",
    _steps,
)
MICROSOFT = Operator(
    "QuantizeLinear",
    "com.microsoft",
    ("x", "y_scale", "y_zero_point"),
    "com.microsoft QuantizeLinear, onnxruntime 1.32.0",
    _steps,
)
