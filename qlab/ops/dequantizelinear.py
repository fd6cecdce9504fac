"""DequantizeLinear: y = (x - x_zero_point) · x_scale, per tensor, per axis or blocked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import onnx

from qlab.ops import Call, Operator
from qlab.ops.parameters import quantized
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    q = quantized(
        call, "x", "x", call.attribute("axis", 1), block_size=call.attribute("block_size", 0)
    )
    dtype = call.dtype("x_scale")
    if number := call.attribute("output_dtype", 0):
        dtype = onnx.TensorProto.DataType.Name(number).lower()
        dtype = {"float": "float32", "double": "float64"}.get(dtype, dtype)
    yield from scheme.dequantize(q, call.output, dtype)


OPERATOR = Operator(
    "DequantizeLinear",
    "",
    ("x", "x_scale", "x_zero_point"),
    "ai.onnx DequantizeLinear, opsets 10 to 23",
    _steps,
)
MICROSOFT = Operator(
    "DequantizeLinear",
    "com.microsoft",
    ("x", "x_scale", "x_zero_point"),
    "com.microsoft DequantizeLinear, onnxruntime 1.32.0",
    _steps,
)
