"""QLinearMatMul: a matrix product of codes, requantized."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.ops import Call, Operator
from qlab.ops.matrices import is_pair_product, matrix_contraction, per_column, per_row
from qlab.ops.parameters import codes, output_dtype, spread, zero_point
from qlab.schemes import Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    total = yield from scheme.accumulate(
        matrix_contraction(
            codes(call, "a"),
            codes(call, "b"),
            per_row(zero_point(call, "a_zero_point")),
            per_column(zero_point(call, "b_zero_point")),
            names=("a", "b"),
            pairs=is_pair_product(call, "a", "b"),
            constant_rhs=call.is_constant("b"),
        )
    )
    scales = (
        ("a_scale", spread("a_scale", per_row(call["a_scale"]), total.shape)),
        ("b_scale", spread("b_scale", per_column(call["b_scale"]), total.shape)),
    )
    target = Target(
        "y",
        spread("y_scale", per_row(call["y_scale"]), total.shape),
        spread("y_zero_point", per_row(zero_point(call, "y_zero_point")), total.shape),
        output_dtype(call, "y_zero_point", call.dtype("a")),
        call.output,
    )
    yield from scheme.requantize(total, scales, target)


OPERATOR = Operator(
    "QLinearMatMul",
    "",
    ("a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale", "y_zero_point"),
    "ai.onnx QLinearMatMul, opsets 10 and 21",
    _steps,
)
