"""DynamicQuantizeLinear: scale and zero point from the range of x, then QuantizeLinear to uint8."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.ops import Call, Operator
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    outputs = (*call.node.outputs, "", "")
    yield from scheme.dynamic_quantize(call["x"], (outputs[0], outputs[1], outputs[2]))


OPERATOR = Operator(
    "DynamicQuantizeLinear", "", ("x",), "ai.onnx DynamicQuantizeLinear, opset 11", _steps
)
