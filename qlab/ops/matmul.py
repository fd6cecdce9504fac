"""MatMul: a matrix product of reals."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.matrices import matrix_contraction
from qlab.ops.parameters import reals
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    zero = np.zeros((), np.int64)
    contraction = matrix_contraction(
        reals(call, "A"), reals(call, "B"), zero, zero, names=("A", "B")
    )
    value = yield from scheme.contract(contraction)
    yield Step("output", "accumulator", value, tensor=call.output, dtype=call.dtype("A"))


OPERATOR = Operator("MatMul", "", ("A", "B"), "ai.onnx MatMul, opsets 1 to 13", _steps)
