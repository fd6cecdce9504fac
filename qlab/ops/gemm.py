"""Gemm, and com.microsoft FusedGemm with its activation: alpha·A·B + beta·C over reals."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.activations import activated
from qlab.ops.matrices import matrix_contraction, transposed
from qlab.ops.parameters import reals, spread
from qlab.schemes import Affine, Product
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    a = transposed(call, "transA", "A", reals(call, "A"))
    b = transposed(call, "transB", "B", reals(call, "B"))
    zero = np.zeros((), np.int64)
    contraction = matrix_contraction(a, b, zero, zero, names=("A", "B"))
    addend = None
    if call.optional("C") is not None:
        addend = spread("C", reals(call, "C"), contraction.result_shape)
    rows, columns = contraction.result_shape
    product = Product(
        rows,
        columns,
        a_transposed=bool(call.attribute("transA", 0)),
        b_transposed=bool(call.attribute("transB", 0)),
        packed=call.is_constant("B"),
    )
    alpha, beta = (np.asarray(call.attribute(n, 1.0), np.float32) for n in ("alpha", "beta"))
    affine = Affine(alpha, beta, addend)
    steps = list(scheme.contract(dataclasses.replace(contraction, product=product), affine))
    yield from steps
    value, formula = activated(call, steps[-1].value, steps[-1].name)
    yield Step("output", formula, value, tensor=call.output, dtype=call.dtype("A"))


OPERATOR = Operator("Gemm", "", ("A", "B", "C"), "ai.onnx Gemm, opsets 7 to 13", _steps)
FUSED = Operator(
    "FusedGemm",
    "com.microsoft",
    ("A", "B", "C"),
    "com.microsoft FusedGemm, onnxruntime 1.32.0",
    _steps,
)
