"""What all convolutions share: from a call's x and w to a contraction in channels-first order."""

import dataclasses
import math

import numpy as np

from qlab.arithmetic import moved
from qlab.errors import TraceError
from qlab.lowering import Window, filters, patches, tap_positions, to_channels_first, window
from qlab.ops import Call
from qlab.qtypes import Array
from qlab.schemes import Contraction, Product
from qlab.trace import Index


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
        x: channels first. x_zero_point: shape (), also what padding holds. w_zero_point: one entry, or M.
        channels_last: arrange the result as (N, spatial…, M).
    """
    geometry = window(call.attribute, x.shape, w.shape)
    axes, positions = tap_positions(w.shape, channel_major=channel_major)
    m = w.shape[0]

    def arrange(result: Array) -> Array:
        first = to_channels_first(result, geometry)
        return np.moveaxis(first, 1, -1) if channels_last else first

    def padding(values: Array) -> Array:
        return x_zero_point if values.dtype == object else x_zero_point.astype(values.dtype)

    group = geometry.group
    zero_points = of_channels("w_zero_point", w_zero_point, m)
    if zero_points.ndim:
        zero_points = zero_points.reshape(1, group, 1, m // group)
    contraction = Contraction(
        moved(_narrow(x), lambda v: patches(v, padding(v), geometry, channel_major=channel_major)),
        moved(w, lambda v: filters(v, geometry, channel_major=channel_major)),
        x_zero_point,
        zero_points,
        arrange,
        axes,
        positions,
        names,
        product=Product(  # weights · patches
            m // group,
            math.prod(geometry.output),
            b_transposed=_rows_are_patches(x.shape, w.shape, geometry),
        ),
    )
    return Convolution(contraction, geometry, w.shape[1] == 1 and m == group)


def _narrow(x: Array) -> Array:
    """Codes of 8 bits as int16: patches hold each as often as the kernel has positions."""
    small = x.dtype == np.int64 and x.size and int(x.min()) > -256 and int(x.max()) < 256
    return x.astype(np.int16) if small else x


def _rows_are_patches(x: Index, w: Index, geometry: Window) -> bool:
    """True where the patches lie in x one after the other: the kernel is as wide as the only channel.

    MLAS (convolve.cpp) then multiplies with x itself, transposed.
    """
    whole = all(o == n - k + 1 for o, n, k in zip(geometry.output, x[2:], w[2:], strict=True))
    steps = set(geometry.strides) | set(geometry.dilations)
    plain = steps == {1} and not any(geometry.begins) and whole
    return len(x) <= 4 and w[1] == 1 and plain and w[-1] == x[-1]


def of_channels(name: str, parameter: Array, m: int) -> Array:
    """A parameter as () where it has one entry, else as (M,). Raises TraceError where it has neither 1 nor M."""
    if parameter.size not in (1, m):
        raise TraceError(
            f"{name} has {parameter.size} entries; 1 or w's {m} output channels are allowed"
        )
    return parameter.reshape(() if parameter.size == 1 else (m,))


def bias(parameter: Array, result: Array, *, channels_last: bool = False) -> Array:
    """B, of M entries, in a shape that broadcasts to a convolution's result. Raises TraceError for another size."""
    m = result.shape[-1 if channels_last else 1]
    if parameter.shape != (m,):
        raise TraceError(
            f"B has the shape {list(parameter.shape)}; it must be [{m}], w's output channels"
        )
    return per_channel("B", parameter, result, channels_last=channels_last)


def per_channel(
    name: str, parameter: Array, result: Array, *, channels_last: bool = False
) -> Array:
    """A parameter of one entry or M in a shape that broadcasts to a convolution's result (N, M, …) or (N, …, M)."""
    value = of_channels(name, parameter, result.shape[-1 if channels_last else 1])
    return (
        value if channels_last or not value.ndim else value.reshape(-1, *(1,) * (result.ndim - 2))
    )
