"""DequantizeLinear: y = (x - x_zero_point) · x_scale, per tensor, per axis or blocked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.parameters import dequantized, type_attribute
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    axis, block_size = call.attribute("axis", 1), call.attribute("block_size", 0)
    q = dequantized(call, "x", "x", axis, block_size=block_size)
    dtype = type_attribute(call, "output_dtype") or call.dtype("x_scale")
    if dtype not in ("float16", "bfloat16", "float32"):
        raise TraceError(
            f"dequantizing to {dtype} has no arithmetic; float16, bfloat16, float32 have"
        )
    yield from scheme.dequantize(q, call.output, dtype)


OPERATOR = Operator(
    "DequantizeLinear",
    "",
    ("x", "x_scale", "x_zero_point"),
    "ai.onnx DequantizeLinear, opsets 10 to 25",
    _steps,
    elementwise=True,
)
MICROSOFT = Operator(
    "DequantizeLinear",
    "com.microsoft",
    ("x", "x_scale", "x_zero_point"),
    "com.microsoft DequantizeLinear, onnxruntime 1.32.0",
    _steps,
    elementwise=True,
)
