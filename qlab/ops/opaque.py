"""Any operator without arithmetic of its own: one opaque step, computed by the ONNX reference evaluator."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.arithmetic import to_float
from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.qtypes import Array, dtype_name, is_float
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    from qlab.engines.onnx_reference import opaque

    arrays: list[Array | None] = []
    for name in call.node.inputs:
        if not name:
            arrays.append(None)
            continue
        if name not in call.tensors:
            raise TraceError(f"it reads {name!r}, which nothing defines")
        value = call.tensors[name]
        real = value.dtype == object or is_float(value.dtype)
        arrays.append(to_float(value, call.dtypes[name]) if real else value)
    results = opaque(call.node, arrays, call.graph.opset)
    for name, result in zip(call.node.outputs, results, strict=False):
        if not name:
            continue
        yield Step(
            name="output",
            formula=f"{call.node.op_type}({', '.join(n for n in call.node.inputs if n)})",
            value=result,
            tensor=name,
            dtype=dtype_name(result.dtype),
            note="one opaque step: computed by the ONNX reference evaluator, not by this scheme",
        )


OPAQUE = Operator("", "", (), "the ONNX reference evaluator, onnx 1.23.2", _steps, opaque=True)
