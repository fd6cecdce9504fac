"""Identity: the input itself."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.ops import Call, Operator
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    value = call["input"]
    yield Step("output", "input", value, tensor=call.output, dtype=call.dtype("input"))


OPERATOR = Operator(
    "Identity", "", ("input",), "ai.onnx Identity, opsets 1 to 23", _steps, elementwise=True
)
