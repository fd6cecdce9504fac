"""Conv, and com.microsoft FusedConv with its activation: a convolution of reals."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import add
from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.convolutions import convolution, per_channel
from qlab.ops.relu import relu
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    zero = scheme.real(np.zeros((), np.int64))
    x, w = scheme.real(call["X"]), scheme.real(call["W"])
    lowered = convolution(call, x, w, zero, zero, names=("X", "W"), channel_major=True)
    value = yield from scheme.contract(lowered.contraction)
    formula = "accumulator"
    bias = call.optional("B")
    if bias is not None:
        value = add(value, per_channel(scheme.real(bias), value.ndim))
        formula = "accumulator + B"
        yield Step("with_bias", formula, value)
    activation = call.attribute("activation", "")
    if activation == "Relu":
        value, formula = relu(value), "max(0, with_bias)"
    elif activation:
        raise TraceError(
            f"the activation {activation!r} of FusedConv has no arithmetic here; Relu has"
        )
    yield Step("output", formula, value, tensor=call.output, dtype=call.dtype("X"))


OPERATOR = Operator("Conv", "", ("X", "W", "B"), "ai.onnx Conv, opsets 1 to 22", _steps)
FUSED = Operator(
    "FusedConv",
    "com.microsoft",
    ("X", "W", "B"),
    "com.microsoft FusedConv, onnxruntime 1.32.0",
    _steps,
)
