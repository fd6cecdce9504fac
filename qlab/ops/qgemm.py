"""com.microsoft QGemm: alpha·A·B + C (C in int32 steps of a_scale·b_scale), requantized or left in float32."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.matrices import is_pair_product, matrix_contraction, per_column, transposed
from qlab.ops.parameters import codes, output_dtype, per_tensor, spread, zero_point
from qlab.qtypes import Array
from qlab.schemes import Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    a = transposed(call, "transA", "A", codes(call, "A"))
    b = transposed(call, "transB", "B", codes(call, "B"))
    total = yield from scheme.accumulate(
        matrix_contraction(
            a,
            b,
            per_tensor("a_zero_point", zero_point(call, "a_zero_point")),
            per_column(zero_point(call, "b_zero_point")),
            names=("A", "B"),
            pairs=is_pair_product(call, "A", "B"),
            constant_rhs=call.is_constant("B"),
        )
    )
    if call.optional("C") is not None:
        total = np.asarray(total + spread("C", codes(call, "C", bits=32), total.shape))
        yield Step(
            "with_bias", "accumulator + C", total, note="C is taken in steps of a_scale · b_scale"
        )
    alpha = np.asarray(call.attribute("alpha", 1.0), np.float32)
    a_scale = per_tensor("a_scale", call["a_scale"])
    b_scale = spread("b_scale", per_column(call["b_scale"]), total.shape)
    scales: tuple[tuple[str, Array], ...] = (("a_scale", a_scale), ("b_scale", b_scale))
    if alpha != 1:
        scales = (("alpha", alpha), *scales)
    y_scale = call.optional("y_scale")
    if y_scale is None:
        yield from scheme.rescale(total, scales, call.output)
        return
    if call.optional("y_zero_point") is None:
        # ONNX Runtime then returns float32, divided by y_scale all the same.
        raise TraceError(
            "y_scale is given without y_zero_point; the schema quantizes with both, or leaves out both"
        )
    dtype = output_dtype(call, "y_zero_point", call.dtype("A"))
    target = Target(
        "y",
        per_tensor("y_scale", y_scale),
        per_tensor("y_zero_point", zero_point(call, "y_zero_point")),
        dtype,
        call.output,
    )
    yield from scheme.requantize(total, scales, target)


OPERATOR = Operator(
    "QGemm",
    "com.microsoft",
    (
        "A",
        "a_scale",
        "a_zero_point",
        "B",
        "b_scale",
        "b_zero_point",
        "C",
        "y_scale",
        "y_zero_point",
    ),
    "com.microsoft QGemm, onnxruntime 1.32.0",
    _steps,
)
