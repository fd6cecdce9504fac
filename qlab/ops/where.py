"""Where: X where the condition holds, else Y, with broadcasting; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import of_one_type
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

FORMULA = "X where condition, else Y"


def condition(call: Call) -> Array:
    """The condition. Raises TraceError where it is not bool."""
    if call.dtype("condition") != "bool":
        raise TraceError(f"condition is {call.dtype('condition')}; bool is needed")
    return call["condition"]


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    value = np.asarray(np.where(condition(call), *of_one_type(call, ("X", "Y"))))
    yield Step("output", FORMULA, value, tensor=call.output, dtype=call.dtype("X"))


OPERATOR = Operator("Where", "", ("condition", "X", "Y"), "ai.onnx Where, opsets 9 to 16", _steps)
