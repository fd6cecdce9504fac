"""Where: X where the condition holds, else Y, with broadcasting."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import of_one_type
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def condition(call: Call) -> Array:
    """The condition. Raises TraceError where it is not bool."""
    if call.dtype("condition") != "bool":
        raise TraceError(f"condition is {call.dtype('condition')}; bool is needed")
    return call["condition"]


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x, y = of_one_type(call, ("X", "Y"))
    yield from scheme.select(condition(call), x, y, call.output, call.dtype("X"))


OPERATOR = Operator("Where", "", ("condition", "X", "Y"), "ai.onnx Where, opsets 9 to 16", _steps)
