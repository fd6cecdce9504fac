"""Add: A + B over reals, or codes, with broadcasting."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.arithmetic import add
from qlab.ops import Call, Operator
from qlab.qtypes import DTYPES, is_integer
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    dtype = call.dtype("A")
    if is_integer(dtype):
        value = (call["A"] + call["B"]).astype(DTYPES[dtype])
    else:
        value = add(scheme.real(call["A"]), scheme.real(call["B"]))
    yield Step("output", "A + B", value, tensor=call.output, dtype=dtype)


OPERATOR = Operator("Add", "", ("A", "B"), "ai.onnx Add, opsets 7 to 14", _steps)
