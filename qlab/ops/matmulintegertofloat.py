"""com.microsoft MatMulIntegerToFloat: a matrix product of codes as float32, plus a float32 bias.

ONNX Runtime makes it of a QDQ MatMul that ends without QuantizeLinear.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.arithmetic import add
from qlab.ops import Call, Operator
from qlab.ops.matrices import is_pair_product, matrix_contraction, per_column
from qlab.ops.parameters import codes, per_tensor, reals, spread, zero_point
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    total = yield from scheme.accumulate(
        matrix_contraction(
            codes(call, "A"),
            codes(call, "B"),
            per_tensor("a_zero_point", zero_point(call, "a_zero_point")),
            per_column(zero_point(call, "b_zero_point")),
            names=("A", "B"),
            pairs=is_pair_product(call, "A", "B"),
            constant_rhs=call.is_constant("B"),
        )
    )
    scales = (
        ("a_scale", per_tensor("a_scale", call["a_scale"])),
        ("b_scale", spread("b_scale", per_column(call["b_scale"]), total.shape)),
    )
    bias = call.optional("bias")
    value = yield from scheme.rescale(total, scales, "" if bias is not None else call.output)
    if bias is not None:
        value = add(value, spread("bias", reals(call, "bias"), value.shape))
        yield Step("output", "scaled + bias", value, tensor=call.output)


OPERATOR = Operator(
    "MatMulIntegerToFloat",
    "com.microsoft",
    ("A", "B", "a_scale", "b_scale", "a_zero_point", "b_zero_point", "bias"),
    "com.microsoft MatMulIntegerToFloat, onnxruntime 1.32.0",
    _steps,
)
