"""Mul: A · B over reals, or codes, with broadcasting."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import mul
from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.parameters import reals
from qlab.qtypes import DTYPES, is_integer
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    dtype = call.dtype("A")
    if call.dtype("B") != dtype:
        raise TraceError(f"A is {dtype} and B {call.dtype('B')}; both must have one type")
    if is_integer(dtype):
        value = np.asarray(call["A"] * call["B"]).astype(DTYPES[dtype])
    else:
        value = mul(reals(call, "A"), reals(call, "B"))
    yield Step("output", "A · B", value, tensor=call.output, dtype=dtype)


OPERATOR = Operator("Mul", "", ("A", "B"), "ai.onnx Mul, opsets 7 to 14", _steps, elementwise=True)
