"""Conv, and com.microsoft FusedConv with its activation: a convolution of reals."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import add
from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.activations import activated
from qlab.ops.convolutions import bias, convolution
from qlab.ops.parameters import reals
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    zero = scheme.real(np.zeros((), np.int64))
    x, w = reals(call, "X"), reals(call, "W")
    if "Z" in call.operator.inputs and call.optional("Z") is not None:
        raise TraceError("a FusedConv that adds Z has no arithmetic here")
    lowered = convolution(call, x, w, zero, zero, names=("X", "W"), channel_major=True)
    value = yield from scheme.contract(lowered.contraction)
    formula = "accumulator"
    if call.optional("B") is not None:
        value = add(value, bias(reals(call, "B"), value))
        formula = "accumulator + B"
        yield Step("with_bias", formula, value)
    value, formula = activated(call, value, formula)
    yield Step("output", formula, value, tensor=call.output, dtype=call.dtype("X"))


OPERATOR = Operator("Conv", "", ("X", "W", "B"), "ai.onnx Conv, opsets 1 to 22", _steps)
FUSED = Operator(
    "FusedConv",
    "com.microsoft",
    ("X", "W", "B", "Z"),
    "com.microsoft FusedConv, onnxruntime 1.32.0",
    _steps,
)
