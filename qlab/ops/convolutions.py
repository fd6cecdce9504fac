"""What all convolutions share: from a call's x and w to a contraction in channels-first order."""

import dataclasses

import numpy as np

from qlab.lowering import Window, filters, patches, tap_positions, to_channels_first, window
from qlab.ops import Call
from qlab.qtypes import Array
from qlab.schemes import Contraction


@dataclasses.dataclass(frozen=True)
class Convolution:
    """x (N, C, spatial…), w (M, C / group, kernel…) and what follows from them."""

    contraction: Contraction
    geometry: Window
    depthwise: bool


def convolution(
    call: Call,
    x: Array,
    w: Array,
    x_zero_point: Array,
    w_zero_point: Array,
    *,
    names: tuple[str, str],
    channel_major: bool,
    channels_last: bool = False,
) -> Convolution:
    """Lower a convolution.

    Args:
        x: channels first. x_zero_point: shape (), also what padding holds. w_zero_point: () or (M,).
        channels_last: arrange the result as (N, spatial…, M).
    """
    geometry = window(call.attribute, x.shape, w.shape)
    axes, positions = tap_positions(w.shape, channel_major=channel_major)
    m = w.shape[0]

    def arrange(result: Array) -> Array:
        first = to_channels_first(result, geometry)
        return np.moveaxis(first, 1, -1) if channels_last else first

    group = geometry.group
    zero_points = w_zero_point
    if w_zero_point.size == m and w_zero_point.ndim == 1:
        zero_points = w_zero_point.reshape(1, group, 1, m // group)
    contraction = Contraction(
        patches(x, x_zero_point, geometry, channel_major=channel_major),
        filters(w, geometry, channel_major=channel_major),
        x_zero_point,
        zero_points,
        arrange,
        axes,
        positions,
        names,
    )
    return Convolution(contraction, geometry, w.shape[1] == 1 and m == group)


def per_channel(parameter: Array, rank: int, *, channels_last: bool = False) -> Array:
    """(M,) → (M, 1, …) beside a channels-first tensor of ``rank`` axes; one entry stays a scalar."""
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter if channels_last else parameter.reshape(-1, *(1,) * (rank - 2))
