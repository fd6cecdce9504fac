"""Relu: max(0, x)."""

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import elementwise
from qlab.ops import Call, Operator
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def relu(x: Array) -> Array:
    """max(0, x); NaN and -0.0 stay, as in ONNX Runtime."""
    if x.dtype == object:
        return elementwise(lambda v: v if v > 0 or v != v else Fraction(0), x)
    return np.asarray(np.where(x < x.dtype.type(0), x.dtype.type(0), x))


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    yield Step("output", "max(0, X)", relu(call["X"]), tensor=call.output, dtype=call.dtype("X"))


OPERATOR = Operator("Relu", "", ("X",), "ai.onnx Relu, opsets 6 to 14", _steps, elementwise=True)
