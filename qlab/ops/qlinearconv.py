"""QLinearConv, of ai.onnx and of com.microsoft (``channels_last``): a convolution of codes, requantized."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.ops import Call, Operator
from qlab.ops.convolutions import bias, convolution, per_channel
from qlab.ops.matrices import is_pair_product
from qlab.ops.parameters import codes, output_dtype, per_tensor, zero_point
from qlab.schemes import Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

INPUTS = (
    "x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B",
)  # fmt: skip


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x, w = codes(call, "x"), codes(call, "w")
    last = bool(call.attribute("channels_last", 0))
    if last:
        x = np.moveaxis(x, -1, 1)
    w_zero_point = zero_point(call, "w_zero_point")
    lowered = convolution(
        call,
        x,
        w,
        per_tensor("x_zero_point", zero_point(call, "x_zero_point")),
        w_zero_point,
        names=("x", "w"),
        channel_major=False,
        channels_last=last,
    )
    # A depthwise convolution has kernels of its own that do not multiply pairs, unless zero points differ by channel.
    paired = not lowered.depthwise or np.unique(w_zero_point).size > 1
    contraction = dataclasses.replace(
        lowered.contraction,
        pairs=paired and is_pair_product(call, "x", "w"),
        constant_rhs=call.is_constant("w"),
    )
    total = yield from scheme.accumulate(contraction)
    if call.optional("B") is not None:
        total = np.asarray(total + bias(codes(call, "B", bits=32), total, channels_last=last))
        note = "B is taken in steps of x_scale · w_scale"
        yield Step("with_bias", "accumulator + B", total, note=note)
    scales = (
        ("x_scale", per_tensor("x_scale", call["x_scale"])),
        ("w_scale", per_channel("w_scale", call["w_scale"], total, channels_last=last)),
    )
    target = Target(
        "y",
        per_tensor("y_scale", call["y_scale"]),
        per_tensor("y_zero_point", zero_point(call, "y_zero_point")),
        output_dtype(call, "y_zero_point", call.dtype("x")),
        call.output,
    )
    yield from scheme.requantize(total, scales, target)


OPERATOR = Operator("QLinearConv", "", INPUTS, "ai.onnx QLinearConv, opset 10", _steps)
MICROSOFT = Operator(
    "QLinearConv", "com.microsoft", INPUTS, "com.microsoft QLinearConv, onnxruntime 1.32.0", _steps
)
