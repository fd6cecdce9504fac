"""What ONNX Runtime fuses into the node before it: an activation, named by an attribute."""

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call
from qlab.ops.clip import clip
from qlab.ops.relu import relu
from qlab.qtypes import Array


def activated(call: Call, value: Array, formula: str) -> tuple[Array, str]:
    """A result after the node's ``activation``, and its formula. Raises TraceError for one without arithmetic."""
    activation = call.attribute("activation", "")
    if not activation:
        return value, formula
    if activation == "Relu":
        return relu(value), f"max(0, {formula})"
    limits = call.attribute("activation_params", ())
    if activation == "Clip" and len(limits) == 2:
        low, high = (np.asarray(limit, np.float32) for limit in limits)
        return clip(value, low, high), f"min(max({formula}, {low}), {high})"
    raise TraceError(
        f"the fused activation {activation!r} has no arithmetic here; Relu and Clip have"
    )
