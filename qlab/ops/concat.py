"""Concat: tensors one after the other along an axis; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.moving import of_one_type
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    values = of_one_type(call, call.names)
    value = np.concatenate(values, axis=call.attribute("axis", 1))
    formula = f"{', '.join(call.names)} along the axis"
    yield Step("output", formula, value, tensor=call.output, dtype=call.dtype(call.names[0]))


OPERATOR = Operator(
    "Concat", "", (), "ai.onnx Concat, opsets 4 to 13", _steps, variadic=("input{}",)
)
