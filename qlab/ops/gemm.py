"""Gemm, and com.microsoft FusedGemm with its activation: alpha·A·B + beta·C over reals."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import add, mul
from qlab.ops import Call, Operator
from qlab.ops.activations import activated
from qlab.ops.matrices import matrix_contraction, transposed
from qlab.ops.parameters import reals, spread
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    a = transposed(call, "transA", "A", reals(call, "A"))
    b = transposed(call, "transB", "B", reals(call, "B"))
    zero = np.zeros((), np.int64)
    value = yield from scheme.contract(matrix_contraction(a, b, zero, zero, names=("A", "B")))
    alpha = scheme.real(np.asarray(call.attribute("alpha", 1.0), np.float32))
    formula = "accumulator"
    if alpha[()] != 1:
        value, formula = mul(alpha, value), "alpha · accumulator"
        yield Step("scaled_by_alpha", formula, value)
    if call.optional("C") is not None:
        term = spread("C", reals(call, "C"), value.shape)
        beta = scheme.real(np.asarray(call.attribute("beta", 1.0), np.float32))
        if beta[()] != 1:
            term = mul(beta, term)
        value = add(value, term)
        formula += " + C" if beta[()] == 1 else " + beta · C"
        yield Step("with_bias", formula, value)
    value, formula = activated(call, value, formula)
    yield Step("output", formula, value, tensor=call.output, dtype=call.dtype("A"))


OPERATOR = Operator("Gemm", "", ("A", "B", "C"), "ai.onnx Gemm, opsets 7 to 13", _steps)
FUSED = Operator(
    "FusedGemm",
    "com.microsoft",
    ("A", "B", "C"),
    "com.microsoft FusedGemm, onnxruntime 1.32.0",
    _steps,
)
