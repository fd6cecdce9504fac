"""What the com.microsoft operators with a table of 256 entries share: their inputs, read and checked."""

from typing import TYPE_CHECKING

from qlab.functions import Function
from qlab.ops import Call, Steps
from qlab.ops.parameters import eight_bits, per_tensor, target, zero_point
from qlab.schemes import Quantized

if TYPE_CHECKING:
    from qlab.schemes import Scheme

INPUTS = ("X", "X_scale", "X_zero_point", "Y_scale", "Y_zero_point")


def looked_up(call: Call, scheme: "Scheme", function: Function) -> Steps:
    """The function of what X stands for, quantized. Raises TraceError for other types than of 8 bits."""
    codes = eight_bits(call, "X", "Y_zero_point")
    q = Quantized(
        "X",
        codes,
        per_tensor("X_scale", call["X_scale"]),
        per_tensor("X_zero_point", zero_point(call, "X_zero_point")),
    )
    per_tensor("Y_scale", call["Y_scale"])
    return (yield from scheme.lookup(q, function, target(call, "Y", call.dtype("X"), codes.shape)))
