"""MatMul: a matrix product of reals."""

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.matrices import matrix_contraction
from qlab.ops.parameters import reals
from qlab.schemes import Product
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    zero = np.zeros((), np.int64)
    a, b = reals(call, "A"), reals(call, "B")
    contraction = matrix_contraction(a, b, zero, zero, names=("A", "B"))
    *batch, rows, columns = contraction.result_shape
    # ONNX Runtime takes all matrices that share B as one, and a vector B as a matrix whose A is transposed.
    if math.prod(b.shape[:-2]) == 1:
        rows *= math.prod(batch)
    product = Product(
        rows,
        columns,
        a_transposed=b.ndim == 1,
        packed=call.is_constant("B") and b.ndim == 2,
    )
    value = yield from scheme.contract(dataclasses.replace(contraction, product=product))
    yield Step("output", "accumulator", value, tensor=call.output, dtype=call.dtype("A"))


OPERATOR = Operator("MatMul", "", ("A", "B"), "ai.onnx MatMul, opsets 1 to 13", _steps)
