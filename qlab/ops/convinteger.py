"""ConvInteger: int32 sums of (x - x_zero_point)·(w - w_zero_point)."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.convolutions import convolution
from qlab.ops.matrices import is_pair_product
from qlab.ops.parameters import codes, per_tensor, zero_point
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    lowered = convolution(
        call,
        codes(call, "x"),
        codes(call, "w"),
        per_tensor("x_zero_point", zero_point(call, "x_zero_point")),
        zero_point(call, "w_zero_point"),
        names=("x", "w"),
        channel_major=True,
    )
    # ONNX Runtime has the weights as the first operand here, so only uint8 weights with int8 x are multiplied in pairs.
    contraction = dataclasses.replace(lowered.contraction, pairs=is_pair_product(call, "w", "x"))
    total = yield from scheme.accumulate(contraction)
    yield Step("output", "int32", total.astype(np.int32), tensor=call.output)


OPERATOR = Operator(
    "ConvInteger",
    "",
    ("x", "w", "x_zero_point", "w_zero_point"),
    "ai.onnx ConvInteger, opset 10",
    _steps,
)
