"""Registers of the kernels: one rounding to float32 or float16, int32 that wraps."""

import numpy as np

from qlab.qtypes import Array


def f32(values: Array) -> Array:
    """Round to float32 once."""
    return np.asarray(values).astype(np.float32)


def f16(values: Array) -> Array:
    """Round to float16 once, kept as float32."""
    return np.asarray(values).astype(np.float16).astype(np.float32)


def wrap32(values: Array) -> Array:
    """int64 → what an int32 register holds of it."""
    return np.asarray(values).astype(np.int64).astype(np.int32).astype(np.int64)
