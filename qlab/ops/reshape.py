"""Reshape: the same values in another shape; 0 keeps a dimension, -1 is what remains."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    value = call["data"]
    wanted = [int(n) for n in call["shape"].reshape(-1)]
    if any(n < -1 for n in wanted):
        raise TraceError(f"shape {wanted} has an entry below -1")
    if not call.attribute("allowzero", 0):
        wanted = [value.shape[i] if n == 0 and i < value.ndim else n for i, n in enumerate(wanted)]
    yield Step(
        "output",
        "data in another shape",
        value.reshape(wanted),
        tensor=call.output,
        dtype=call.dtype("data"),
    )


OPERATOR = Operator("Reshape", "", ("data", "shape"), "ai.onnx Reshape, opsets 5 to 23", _steps)
