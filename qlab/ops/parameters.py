"""Reading scales and zero points of a call: shapes to broadcast, zero points that are absent."""

import numpy as np
import onnx

from qlab.errors import TraceError
from qlab.lowering import along_axis
from qlab.ops import Call
from qlab.qtypes import ALIASES, Array, is_float, is_integer
from qlab.schemes import Quantized, Target
from qlab.trace import Index


def codes(call: Call, name: str) -> Array:
    """An input of codes as int64. Raises TraceError where it has no integer type."""
    value = call[name]
    if not is_integer(value.dtype):
        raise TraceError(f"{name} is {call.dtype(name)}; only integer codes have arithmetic here")
    return value.astype(np.int64)


def reals(call: Call, name: str) -> Array:
    """An input of reals as the scheme's numbers. Raises TraceError where it has an integer type."""
    if not is_float(call.dtype(name)):
        raise TraceError(f"{name} is {call.dtype(name)}; only float types have arithmetic here")
    return call.scheme.real(call[name])


def zero_point(call: Call, name: str) -> Array:
    """A zero point input as int64; 0 where it is absent."""
    return np.asarray(0, np.int64) if call.optional(name) is None else codes(call, name)


def per_tensor(name: str, parameter: Array) -> Array:
    """A scale or zero point of one entry, as shape (). Raises TraceError where it has more, or none."""
    if parameter.size != 1:
        raise TraceError(f"{name} has {parameter.size} entries; one for the whole tensor is allowed")
    return parameter.reshape(())


def quantized(call: Call, name: str, prefix: str, axis: int, *, block_size: int = 0) -> Quantized:
    """The operand ``name`` with ``prefix``_scale and ``prefix``_zero_point, spread along ``axis``."""
    values = codes(call, name)
    return Quantized(
        prefix,
        values,
        along_axis(call[f"{prefix}_scale"], axis, values.shape, block_size),
        along_axis(zero_point(call, f"{prefix}_zero_point"), axis, values.shape, block_size),
    )


def target(
    call: Call,
    prefix: str,
    dtype: str,
    shape: Index,
    axis: int = 1,
    *,
    block_size: int = 0,
    precision: str = "",
) -> Target:
    """What the call's first output is quantized to: ``prefix``_scale and ``prefix``_zero_point."""
    return Target(
        prefix,
        along_axis(call[f"{prefix}_scale"], axis, shape, block_size),
        along_axis(zero_point(call, f"{prefix}_zero_point"), axis, shape, block_size),
        dtype,
        call.output,
        precision,
    )


def type_attribute(call: Call, name: str) -> str:
    """An attribute that holds ONNX's number of a data type, as its name; "" where it is absent or 0."""
    number = call.attribute(name, 0)
    if not number:
        return ""
    dtype = str(onnx.TensorProto.DataType.Name(number)).lower()
    return ALIASES.get(dtype, dtype)


def output_dtype(call: Call, zero_point_name: str, default: str = "uint8") -> str:
    """The dtype of codes that a zero point input decides."""
    return call.dtype(zero_point_name) if call.optional(zero_point_name) is not None else default
