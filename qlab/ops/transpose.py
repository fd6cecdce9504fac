"""Transpose: data with its axes permuted; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    value = np.transpose(call["data"], call.attribute("perm"))
    yield Step(
        "output", "data with its axes permuted", value, tensor=call.output, dtype=call.dtype("data")
    )


OPERATOR = Operator("Transpose", "", ("data",), "ai.onnx Transpose, opsets 1 to 23", _steps)
