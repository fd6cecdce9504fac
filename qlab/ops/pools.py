"""What all pools share: from a call's attributes to windows over a channels-first tensor."""

import numpy as np

from qlab.errors import TraceError
from qlab.lowering import Window, pool_window
from qlab.ops import Call
from qlab.ops.parameters import codes, output_dtype, per_tensor, zero_point
from qlab.qtypes import Array
from qlab.schemes import Pool, Quantized, Target
from qlab.trace import Index

QLINEAR_INPUTS = ("X", "x_scale", "x_zero_point", "y_scale", "y_zero_point")


def channels_first(call: Call, x: Array) -> Array:
    """X as (N, C, spatial…), whatever ``channels_last`` says."""
    if x.ndim < 3:
        raise TraceError(f"X has the shape {list(x.shape)}; a pool needs at least 3 axes")
    return np.moveaxis(x, -1, 1) if call.attribute("channels_last", 0) else x


def sliding(call: Call, shape: Index, *, mlas: bool = False, channels_last: bool = False) -> Pool:
    """The windows that the attributes describe; ``shape`` is X's, channels first."""
    if call.attribute("storage_order", 0):
        raise TraceError("storage_order 1 is not modelled; 0 is")
    if len(call.node.outputs) > 1 and any(call.node.outputs[1:]):
        raise TraceError(f"the second output {call.node.outputs[1]!r} (Indices) is not modelled")
    return Pool(
        pool_window(call.attribute, shape),
        shape,
        bool(call.attribute("count_include_pad", 0)),
        channels_last,
        mlas,
    )


def whole(shape: Index, *, channels_last: bool = False) -> Pool:
    """One window: the image."""
    spatial = shape[2:]
    if 0 in spatial:
        raise TraceError(f"X has the shape {list(shape)}; a mean needs at least one element")
    ones, zeros = (1,) * len(spatial), (0,) * len(spatial)
    geometry = Window(spatial, ones, ones, zeros, zeros, ones, shape[1])
    return Pool(geometry, shape, channels_last=channels_last, mlas=True)


def quantized(call: Call) -> tuple[Quantized, Target]:
    """X, channels first, and what the mean is quantized to, of QLinearAveragePool and QLinearGlobalAveragePool."""
    x = channels_first(call, codes(call, "X", bits=8))
    return (
        Quantized(
            "x",
            x,
            per_tensor("x_scale", call["x_scale"]),
            per_tensor("x_zero_point", zero_point(call, "x_zero_point")),
        ),
        Target(
            "y",
            per_tensor("y_scale", call["y_scale"]),
            per_tensor("y_zero_point", zero_point(call, "y_zero_point")),
            output_dtype(call, "y_zero_point", call.dtype("X")),
            call.output,
        ),
    )
