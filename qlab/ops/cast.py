"""Cast: to another type; to integers towards zero, to bool what is not 0."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import elementwise
from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.parameters import type_attribute
from qlab.qtypes import DTYPES, Array, bounds, is_float, is_integer
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def whole(x: Array, dtype: str) -> Array:
    """Reals towards zero. Raises TraceError where one is outside ``dtype``: the specification leaves that open."""
    low, high = bounds(dtype)
    if not all(low - 1 < v < high + 1 for v in x.reshape(-1).tolist()):
        raise TraceError(f"a value has no code in {dtype}: what it becomes is not modelled")
    if x.dtype == object:
        return elementwise(math.trunc, x).astype(np.int64).astype(DTYPES[dtype])
    return np.trunc(x).astype(DTYPES[dtype])


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x, given, to = call["input"], call.dtype("input"), type_attribute(call, "to")
    if not to or to.startswith("float8") or given.startswith("float8"):
        raise TraceError(f"casting from {given} to {to or 'nothing'} is not modelled")
    if is_float(to):
        yield from scheme.cast(x, call.output, to)
    elif to == "bool":
        yield Step("output", "input is not 0", np.asarray(x != 0).astype(bool), tensor=call.output)
    elif is_float(given):
        yield Step("output", f"trunc(input) as {to}", whole(x, to), tensor=call.output)
    else:
        note = ""
        value = x.astype(DTYPES[to])
        if is_integer(given) and not np.array_equal(value.astype(np.int64), x.astype(np.int64)):
            note = f"codes outside {to} wrap"
        yield Step("output", f"input as {to}", value, tensor=call.output, note=note)


OPERATOR = Operator("Cast", "", ("input",), "ai.onnx Cast, opsets 6 to 23", _steps)
