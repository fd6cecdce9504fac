"""com.microsoft MatMulIntegerToFloat: a matrix product of codes as float32, plus a float32 bias.

ONNX Runtime makes it of a QDQ MatMul that ends without QuantizeLinear.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.ops import Call, Operator
from qlab.ops.matrices import is_pair_product, matrix_contraction, per_column
from qlab.ops.parameters import codes, per_tensor, reals, spread, zero_point
from qlab.qtypes import Array
from qlab.trace import Index, Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def product_as_floats(
    call: Call,
    scheme: "Scheme",
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    *,
    pairs: bool,
) -> Iterator[Step]:
    """The codes ``a`` times the call's B, B's zero point, scale and the bias taken from the call.

    Args:
        a, a_zero_point: int64; a_zero_point and a_scale of shape (). pairs: as in `Contraction`.
    """
    total = yield from scheme.accumulate(
        matrix_contraction(
            a,
            codes(call, "B"),
            a_zero_point,
            per_column(zero_point(call, "b_zero_point")),
            names=("A", "B"),
            pairs=pairs,
            constant_rhs=call.is_constant("B"),
        )
    )
    scales = (
        ("a_scale", a_scale),
        ("b_scale", spread("b_scale", _without_rows(call["b_scale"], total.ndim), total.shape)),
    )
    bias = None
    if call.optional("bias") is not None:
        bias = spread("bias", reals(call, "bias"), total.shape)
    separate = not _is_taken_by_the_kernel(call["b_scale"].shape, call["B"].shape)
    yield from scheme.rescale_with_bias(total, scales, bias, call.output, separate=separate)


def _without_rows(b_scale: Array, rank: int) -> Array:
    """The scale of B for a result of this rank: (1, N) is (N,) where a vector A leaves a vector."""
    value = per_column(b_scale)
    while value.ndim > rank and value.shape[0] == 1:
        value = value[0]
    return value


def _is_taken_by_the_kernel(parameter: Index, b: Index) -> bool:
    """True where the scale of B is one, one for each column of a matrix, or (…, 1, N) for B (…, K, N)."""
    if parameter in ((), (1,)) or (len(parameter) == 1 and len(b) == 2):
        return True
    return len(b) > 1 and parameter == (*b[:-2], 1, b[-1])


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    yield from product_as_floats(
        call,
        scheme,
        codes(call, "A"),
        per_tensor("a_scale", call["a_scale"]),
        per_tensor("a_zero_point", zero_point(call, "a_zero_point")),
        pairs=is_pair_product(call, "A", "B"),
    )


OPERATOR = Operator(
    "MatMulIntegerToFloat",
    "com.microsoft",
    ("A", "B", "a_scale", "b_scale", "a_zero_point", "b_zero_point", "bias"),
    "com.microsoft MatMulIntegerToFloat, onnxruntime 1.32.0",
    _steps,
)
