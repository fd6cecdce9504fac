"""Tensor data types by their ONNX names: numpy dtypes, ranges, saturation. The only copy of each.

int2 to uint4, bfloat16 and the float8 types come from ml_dtypes, as in the onnx package.
"""

import functools
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(getattr(ml_dtypes, name, None) or getattr(np, name, None) or name)
    for name in [
        "int2",
        "uint2",
        "int4",
        "uint4",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "bool",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
    ]
}
ALIASES = {"float": "float32", "double": "float64", "half": "float16"}


@functools.cache  # asked for at every step
def dtype_name(dtype: Any) -> str:
    """ONNX's lower-case name of a numpy dtype: ``int8``, ``uint4``, ``bfloat16`` …"""
    return str(np.dtype(dtype).name)


def is_integer(dtype: Any) -> bool:
    """True for every code type, int2 to uint4 included (numpy calls those "void")."""
    return dtype_name(dtype).startswith(("int", "uint"))


def is_float(dtype: Any) -> bool:
    """True for float64 down to float8."""
    return dtype_name(dtype).startswith(("float", "bfloat"))


def is_float8(dtype: Any) -> bool:
    """True for the four float8 types, which are formats to quantize to."""
    return dtype_name(dtype).startswith("float8")


@functools.cache
def bounds(dtype: Any) -> tuple[int, int]:
    """Smallest and largest code of an integer type: (-8, 7) for int4."""
    info = ml_dtypes.iinfo(np.dtype(dtype))  # type: ignore[no-untyped-call]
    return int(info.min), int(info.max)


def saturate(codes: Array, dtype: Any) -> Array:
    """Clamp integers (int64 or Python ints) to the range of ``dtype`` and cast to it."""
    low, high = bounds(dtype)
    clamped = np.asarray(np.minimum(np.maximum(codes, low), high))  # of no axes it is a bare number
    return clamped.astype(np.int64).astype(np.dtype(dtype))
