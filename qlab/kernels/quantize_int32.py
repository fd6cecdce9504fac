"""QuantizeLinear up to 1.31: where it went through int32 before it clamped, so that an overflow became the wrong end.

Float32 does so in blocks along another axis than the last, with 4 bits also in each byte that a run of one scale shares
with another, and with 2 bits everywhere; float16 does so everywhere, and up to 1.29 it truncates where it has no
blocks. From 1.32.0 on every path clamps first.

Source: onnxruntime 1.30.0, core/util/qmath.h (ParQuantizeLinearStd, BlockedQuantizeLinear).
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.kernels.numbers import wrap32
from qlab.ops import Steps
from qlab.qtypes import Array, bounds, saturate
from qlab.schemes import Target
from qlab.trace import Index, Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

OLDEST = (1, 16)  # of the releases that this was compared with
BEYOND = -(2**31)  # what CVTTSS2SI makes of NaN and of all that does not fit int32


def through_int32(scheme: "OrtCpu", x: Array, target: Target) -> Array | None:
    """True for each element that goes through int32; None where none does.

    Raises:
        TraceError: a release or a CPU for which that is not known.
    """
    if not scheme.before((1, 32)):
        return None
    low, high = bounds(target.dtype)
    bits = (high - low).bit_length()
    if bits == 2 and scheme.before((1, 31)) and target.scale.ndim and not target.block_size:
        raise TraceError(
            f"2 bits per axis in onnxruntime {scheme.version} are not modelled; from 1.31.0 on they are"
        )
    not_last = bool(target.block_size) and target.axis % x.ndim != x.ndim - 1
    if x.dtype == np.float16 or bits == 2 or not_last:
        mask = np.ones(x.shape, bool)
    elif bits == 4:
        mask = _in_shared_bytes(x.shape, target)
    else:
        mask = np.zeros(x.shape, bool)
    if mask.any() and scheme.before(OLDEST):
        raise TraceError(
            f"quantizing like this in onnxruntime {scheme.version} is not modelled; from {OLDEST[0]}.{OLDEST[1]}.0 on it is"
        )
    if mask.any() and scheme.cpu == "arm64":
        raise TraceError("quantizing through int32 on arm64 is not modelled")
    return mask if mask.any() else None


def _in_shared_bytes(shape: Index, target: Target) -> Array:
    """True where an element's byte, of two 4-bit codes, reaches beyond its run of elements with one scale."""
    size = math.prod(shape)
    position = np.arange(size)
    if target.block_size:
        row = position - position % shape[-1]
        start = position - (position - row) % target.block_size
        end = np.minimum(start + target.block_size, row + shape[-1])
    else:
        run = size if target.scale.ndim == 0 else math.prod(shape[target.axis % len(shape) + 1 :])
        start = position - position % max(run, 1)
        end = start + run
    first = position - position % 2
    return np.asarray((first < start) | (first + 2 > end)).reshape(shape)


def to_codes(scheme: "OrtCpu", scaled: Array, mask: Array, target: Target, *, half: bool) -> Steps:
    """To int32, plus the zero point, clamp; elements outside the mask are clamped first.

    Args:
        half: x is float16.
    """
    low, high = bounds(target.dtype)
    truncates = half and scheme.before((1, 30)) and not target.block_size
    rounded = (np.trunc if truncates else np.rint)(scaled)
    fits = (rounded >= -(2.0**31)) & (rounded < 2.0**31)
    whole = np.where(fits, rounded, BEYOND).astype(np.int64)
    clamped = np.where(np.isnan(scaled), low - target.zero_point, np.rint(scaled))
    clamped = np.clip(clamped, low - target.zero_point, high - target.zero_point).astype(np.int64)
    value = np.where(mask, whole, clamped)
    name = "trunc" if truncates else "rint"
    note = "what does not fit int32 becomes its smallest number" if (mask & ~fits).any() else ""
    yield Step("rounded", f"int32({name}(scaled))", value, note=note)
    biased = wrap32(value + target.zero_point)
    yield Step("biased", f"rounded + {target.zero_point_name}", biased)
    codes = saturate(biased, target.dtype)
    yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
    return codes
