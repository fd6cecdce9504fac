"""Reading scales and zero points of a call: shapes to broadcast, zero points that are absent."""

import numpy as np

from qlab.lowering import along_axis
from qlab.ops import Call
from qlab.qtypes import Array
from qlab.schemes import Quantized, Target
from qlab.trace import Index


def zero_point(call: Call, name: str) -> Array:
    """A zero point input as int64; 0 where it is absent."""
    value = call.optional(name)
    return np.asarray(0, np.int64) if value is None else value.astype(np.int64)


def quantized(call: Call, codes: str, prefix: str, axis: int, *, block_size: int = 0) -> Quantized:
    """The operand ``codes`` with ``prefix``_scale and ``prefix``_zero_point, spread along ``axis``."""
    values = call[codes].astype(np.int64)
    return Quantized(
        prefix,
        values,
        along_axis(call[f"{prefix}_scale"], axis, values.shape, block_size),
        along_axis(zero_point(call, f"{prefix}_zero_point"), axis, values.shape, block_size),
    )


def target(
    call: Call, prefix: str, dtype: str, shape: Index, axis: int = 1, *, block_size: int = 0
) -> Target:
    """What the call's first output is quantized to: ``prefix``_scale and ``prefix``_zero_point."""
    return Target(
        prefix,
        along_axis(call[f"{prefix}_scale"], axis, shape, block_size),
        along_axis(zero_point(call, f"{prefix}_zero_point"), axis, shape, block_size),
        dtype,
        call.output,
    )


def output_dtype(call: Call, zero_point_name: str, default: str = "uint8") -> str:
    """The dtype of codes that a zero point input decides."""
    return call.dtype(zero_point_name) if call.optional(zero_point_name) is not None else default
