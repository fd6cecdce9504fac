"""MatMulInteger: int32 sums of (A - a_zero_point)·(B - b_zero_point)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.matrices import is_pair_product, matrix_contraction, per_column, per_row
from qlab.ops.parameters import codes, zero_point
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    total = yield from scheme.accumulate(
        matrix_contraction(
            codes(call, "A"),
            codes(call, "B"),
            per_row(zero_point(call, "a_zero_point")),
            per_column(zero_point(call, "b_zero_point")),
            names=("A", "B"),
            pairs=is_pair_product(call, "A", "B"),
            constant_rhs=call.is_constant("B"),
        )
    )
    yield Step("output", "int32", total.astype(np.int32), tensor=call.output)


OPERATOR = Operator(
    "MatMulInteger",
    "",
    ("A", "B", "a_zero_point", "b_zero_point"),
    "ai.onnx MatMulInteger, opset 10",
    _steps,
)
