"""Reading scales and zero points of a call: shapes to broadcast, zero points that are absent."""

import numpy as np
import onnx

from qlab.errors import TraceError
from qlab.lowering import along_axis
from qlab.ops import Call
from qlab.qtypes import Array, dtype_name, is_float8, is_integer
from qlab.schemes import Quantized, Target
from qlab.trace import Index, broadcasts

REALS = ("float16", "bfloat16", "float32", "float64")


def codes(call: Call, name: str, *, bits: int = 16) -> Array:
    """An input of codes as int64. Raises TraceError where it is no integer of at most ``bits`` bits.

    With 16 bits no sum of products can leave int64; biases and what DequantizeLinear reads have 32.
    """
    value = call[name]
    if not is_integer(value.dtype) or 8 * value.dtype.itemsize > bits:
        raise TraceError(
            f"{name} is {call.dtype(name)}; only integers of up to {bits} bits have arithmetic here"
        )
    return value.astype(np.int64)


def eight_bits(call: Call, name: str, output_zero_point: str) -> Array:
    """An input of int8 or uint8 codes as int64. Raises TraceError where the output's zero point has another type."""
    values = codes(call, name, bits=8)
    if call.dtype(name) not in ("int8", "uint8"):
        raise TraceError(f"{name} is {call.dtype(name)}; int8 and uint8 are allowed")
    if call.optional(output_zero_point) is not None and call.dtype(output_zero_point) != call.dtype(
        name
    ):
        raise TraceError(
            f"{output_zero_point} is {call.dtype(output_zero_point)} and {name} is {call.dtype(name)}; "
            "they have one type"
        )
    return values


def reals(call: Call, name: str) -> Array:
    """An input of reals as the scheme's numbers. Raises TraceError where it has an integer type."""
    if call.dtype(name) not in REALS:
        raise TraceError(
            f"{name} is {call.dtype(name)}; only {', '.join(REALS)} have arithmetic here"
        )
    return call.scheme.real(call[name])


def zero_point(call: Call, name: str, *, bits: int = 16) -> Array:
    """A zero point input as int64; 0 where it is absent. Raises TraceError for a float8 one that is not 0."""
    if call.optional(name) is not None and is_float8(call[name].dtype):
        if (call[name].astype(np.float32) != 0).any():
            raise TraceError(
                f"{name} of {call.dtype(name)} is not 0; a zero point of a float8 type must be"
            )
        return np.zeros(call[name].shape, np.int64)
    return np.asarray(0, np.int64) if call.optional(name) is None else codes(call, name, bits=bits)


def spread(name: str, parameter: Array, shape: Index) -> Array:
    """The parameter itself. Raises TraceError where it does not broadcast to a tensor of ``shape`` as it is.

    numpy would let a parameter of more entries widen the result instead.
    """
    if not broadcasts(parameter.shape, shape):
        raise TraceError(
            f"{name} of the shape {list(parameter.shape)} does not fit a tensor of the shape {list(shape)}"
        )
    return parameter


def per_tensor(name: str, parameter: Array) -> Array:
    """A scale or zero point of one entry, as shape (). Raises TraceError where it has more, or none."""
    if parameter.size != 1:
        raise TraceError(
            f"{name} has {parameter.size} entries; one for the whole tensor is allowed"
        )
    return parameter.reshape(())


def quantized(
    call: Call, name: str, prefix: str, axis: int, *, block_size: int = 0, bits: int = 16
) -> Quantized:
    """The operand ``name`` with ``prefix``_scale and ``prefix``_zero_point, spread along ``axis``."""
    values = codes(call, name, bits=bits)
    return _operand(call, values, prefix, axis, block_size, bits)


def dequantized(call: Call, name: str, prefix: str, axis: int, *, block_size: int = 0) -> Quantized:
    """The operand of DequantizeLinear: codes of up to 32 bits, or numbers of a float8 type as they are stored."""
    value = call[name]
    if not is_float8(value.dtype):
        return quantized(call, name, prefix, axis, block_size=block_size, bits=32)
    return _operand(call, value, prefix, axis, block_size, 32)


def _operand(
    call: Call, values: Array, prefix: str, axis: int, block_size: int, bits: int
) -> Quantized:
    return Quantized(
        prefix,
        values,
        along_axis(call[f"{prefix}_scale"], axis, values.shape, block_size),
        along_axis(
            zero_point(call, f"{prefix}_zero_point", bits=bits), axis, values.shape, block_size
        ),
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
    saturate: bool = True,
) -> Target:
    """What the call's first output is quantized to: ``prefix``_scale and ``prefix``_zero_point."""
    return Target(
        prefix,
        along_axis(call[f"{prefix}_scale"], axis, shape, block_size),
        along_axis(zero_point(call, f"{prefix}_zero_point", bits=32), axis, shape, block_size),
        dtype,
        call.output,
        precision,
        saturate,
        axis,
        block_size,
    )


def type_attribute(call: Call, name: str) -> str:
    """An attribute that holds ONNX's number of a data type, as its name; "" where it is absent or 0."""
    number = call.attribute(name, 0)
    if not number:
        return ""
    try:
        return dtype_name(onnx.helper.tensor_dtype_to_np_dtype(number))
    except (KeyError, TypeError):
        raise TraceError(f"{name} is {number!r}, which is no data type of ONNX's") from None


def output_dtype(call: Call, zero_point_name: str, default: str = "uint8") -> str:
    """The dtype of codes that a zero point input decides."""
    return call.dtype(zero_point_name) if call.optional(zero_point_name) is not None else default
