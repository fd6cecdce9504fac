"""Resize: positions in float32; linear as a sum of four or eight products, or in integers of 2^-10 for bytes in NHWC.

Source: onnxruntime 1.32.0, core/providers/cpu/tensor/{upsamplebase.h,upsample.h,upsample.cc}. It is compiled
for SSE2, so its bits are the same on all x86-64. Linear Resize is the same from 1.15.0 on; nearest takes for a half
what is one from 1.15.0 to 1.26.0, and from 1.27.0 on also what is within 10^-6 of one.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import FLOAT32
from qlab.errors import TraceError
from qlab.interpolation import (
    Neighbours,
    Resampling,
    along,
    beyond,
    filled,
    inside,
    nearest_entries,
    neighbours,
    position_steps,
    positions,
    truncated,
    weighted,
)
from qlab.kernels.numbers import f32
from qlab.ops import Steps
from qlab.qtypes import DTYPES, Array, is_integer
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

HALF_TOLERANCE = float(np.float32(1e-6))  # in entries of the axis, from 1.27.0 on
ONE = 1024  # of the weights of bytes in NHWC


def resize(scheme: "OrtCpu", x: Array, how: Resampling, tensor: str, dtype: str) -> Steps:
    """Resize on x86-64."""
    if how.sizes == how.outputs:
        note = "nothing is computed where no length changes"
        yield Step("output", "X", x, tensor=tensor, dtype=dtype, note=note)
        return x
    if how.mode == "nearest":
        axes = tuple(a for a in range(x.ndim) if _scale(how, a) != 1)
    else:
        axes = _linear_axes(scheme, how, dtype)
    places = {axis: _position(how, axis) for axis in axes}
    yield from position_steps(places, how, "in float32: {}")
    where = beyond(places, how) if how.extrapolates else np.asarray(False)
    note, formula = "", "X at the indices"
    if how.mode == "nearest":
        tolerance = 0.0 if scheme.before((1, 27)) else HALF_TOLERANCE
        value = yield from nearest_entries(x, places, how, tolerance)
    elif is_integer(dtype) and axes == (1, 2) and x.ndim == 4:
        value = yield from _integers(x, places, how, dtype)
        formula, note = "trunc(total / 2^20)", "towards zero"
    else:
        around = {axis: with_weights(p, how.sizes[axis]) for axis, p in places.items()}
        yield from _weights(around, x.ndim)
        value = weighted(scheme.real(x), around)
        formula = f"the sum of {2 ** len(axes)} products f32(f32(weight · weight) · X), each step rounded to float32"
        if is_integer(dtype):
            yield Step("interpolated", formula, value)
            value, formula, note = truncated(value, dtype), "trunc(interpolated)", "towards zero"
    value = filled(value, where, how, FLOAT32)
    if where.any():
        note = "extrapolation_value where the position is outside"
    yield Step("output", formula, value, tensor=tensor, dtype=dtype, note=note)
    return value


def _scale(how: Resampling, axis: int) -> np.float32:
    return np.float32(how.scale(FLOAT32, axis)[0])


def _position(how: Resampling, axis: int) -> Array:
    """The position of each element along an axis, in float32."""
    scale = _scale(how, axis)
    if scale == 1:
        return np.arange(how.outputs[axis]).astype(np.float32)
    if how.coordinates != "half_pixel_symmetric":
        return positions(FLOAT32, how, axis)
    n, m = np.float32(how.sizes[axis]), np.float32(how.outputs[axis])
    offset = (n / np.float32(2)) * (np.float32(1) - m / (scale * n))
    i = np.arange(how.outputs[axis]).astype(np.float64)
    return f32(np.float64(offset) + (i + 0.5) / np.float64(scale) - 0.5)


def _linear_axes(scheme: "OrtCpu", how: Resampling, dtype: str) -> tuple[int, ...]:
    """The axes between which the kernel interpolates: two, or three."""
    if dtype not in ("float32", "int8", "uint8"):
        raise TraceError(
            f"linear Resize of {dtype} is not modelled; of float32, int8 and uint8 it is"
        )
    if scheme.cpu == "arm64":
        raise TraceError("linear Resize on ARM64 is not modelled: its products may be fused")
    rank = len(how.sizes)
    one = [_scale(how, axis) == 1 for axis in range(rank)]
    if rank in (2, 3):
        return tuple(range(rank))
    if rank in (4, 5) and one[0] and one[1]:
        return tuple(range(2, rank))
    if rank == 4 and one[0] and one[3]:
        return (1, 2)
    raise TraceError(
        f"linear Resize from {list(how.sizes)} to {list(how.outputs)} has no kernel in ort_cpu; of 2 and 3 axes, "
        "and of 4 and 5 where the outermost two have the scale 1 (of 4 also the first and the last) it has"
    )


def with_weights(position: Array, size: int) -> Neighbours:
    """The entries around each position, weighted in float32. Both weights are a half at the last entry, where both entries are that one."""
    n = neighbours(FLOAT32, position, size)
    within = inside(position, size)
    same = n.lower == n.upper
    half = np.float32(0.5)
    lower = np.where(same, half, np.abs(within - f32(n.upper)))
    return dataclasses.replace(
        n, lower_weight=f32(lower), upper_weight=f32(np.where(same, half, n.upper_weight))
    )


def _weights(around: dict[int, Neighbours], rank: int) -> Steps:
    """A step for the upper weight of each axis."""
    for axis, n in around.items():
        formula = f"position{axis} - floor(position{axis})"
        yield Step(f"weight{axis}", formula, along(n.upper_weight, axis, rank))
    return np.zeros(())


def _integers(x: Array, places: dict[int, Array], how: Resampling, dtype: str) -> Steps:
    """Bytes in NHWC: weights in whole 1024ths, exact sums, truncated."""
    around = {}
    for axis, position in places.items():
        within = inside(position, how.sizes[axis])
        n = neighbours(FLOAT32, position, how.sizes[axis])
        whole = np.trunc(f32(within * np.float32(ONE))).astype(np.int64)
        upper = np.where(n.lower == n.upper, ONE // 2, whole - n.lower * ONE)
        around[axis] = dataclasses.replace(n, lower_weight=ONE - upper, upper_weight=upper)
        formula = f"trunc(1024 · position{axis}) - 1024 · floor(position{axis})"
        yield Step(f"weight{axis}", formula, along(upper, axis, x.ndim))
    total = weighted(x.astype(np.int64), around)
    yield Step("total", "Σ weight · weight · X over the four corners", total)
    return np.asarray(np.sign(total) * (np.abs(total) // ONE**2)).astype(DTYPES[dtype])
