"""com.microsoft MatMulNBits: A times weights of 2, 4 or 8 bits in blocks, each with a scale and a zero point.

ONNX Runtime makes it of a DequantizeLinear of constant weights before a MatMul.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.parameters import reals
from qlab.qtypes import Array
from qlab.schemes import BlockedWeights
from qlab.trace import Index, Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    if call.optional("g_idx") is not None:
        raise TraceError("g_idx moves rows of B between blocks: not modelled")
    weights = _weights(call)
    a = reals(call, "A")
    if a.ndim == 0 or a.shape[-1] != weights.k:
        raise TraceError(
            f"A has the shape {list(a.shape)}; its last axis must have K = {weights.k}"
        )
    bias = None
    if call.optional("bias") is not None:
        bias = _sized("bias", reals(call, "bias"), (weights.codes.shape[0],))
    yield from scheme.multiply_blocks(
        a, weights, bias, call.output, accuracy_level=int(call.attribute("accuracy_level", 0))
    )


def _weights(call: Call) -> BlockedWeights:
    """B with its scales and zero points, unpacked. Raises TraceError where sizes do not fit the attributes."""
    k, n, block_size = (_positive(call, name) for name in ("K", "N", "block_size"))
    bits = int(call.attribute("bits", 4))
    if bits not in (2, 4, 8):
        raise TraceError(f"bits is {bits}; 2, 4 and 8 are allowed")
    if block_size < 16 or block_size & (block_size - 1):
        raise TraceError(f"block_size is {block_size}; a power of two from 16 on is allowed")
    blocks = -(-k // block_size)
    scale = _sized("scales", call["scales"], (n, blocks))
    zero_point = np.full((n, blocks), 1 << (bits - 1), np.int64)
    given = call.optional("zero_points") is not None
    if given:
        if call.dtype("zero_points") != "uint8":
            raise TraceError(
                f"zero_points is {call.dtype('zero_points')}: not modelled; packed uint8 is"
            )
        packed = _sized("zero_points", call["zero_points"], (n, -(-blocks * bits // 8)))
        zero_point = _unpacked(packed, bits)[:, :blocks]
    if call.dtype("B") != "uint8":
        raise TraceError(f"B is {call.dtype('B')}; packed uint8 is allowed")
    packed = _sized("B", call["B"], (n, blocks * block_size * bits // 8))
    return BlockedWeights(
        _unpacked(packed, bits),
        scale,
        zero_point,
        k,
        block_size,
        bits,
        explicit=given,
        constant=frozenset(
            name
            for name in ("B", "scales", "zero_points")
            if call.optional(name) is not None and call.is_constant(name)
        ),
    )


def _positive(call: Call, name: str) -> int:
    value = int(call.attribute(name, 0))
    if value < 1:
        raise TraceError(f"{name} is {value}; it must be at least 1")
    return value


def _sized(name: str, value: Array, shape: Index) -> Array:
    """The value in this shape. Raises TraceError where it has another size."""
    if value.size != np.prod(shape):
        raise TraceError(
            f"{name} has the shape {list(value.shape)}; {' × '.join(map(str, shape))} entries are needed"
        )
    return value.reshape(shape)


def _unpacked(packed: Array, bits: int) -> Array:
    """Bytes (…, count) → int64 codes (…, count · 8 / bits); the first code is in the lowest bits."""
    shifts = np.arange(0, 8, bits)
    codes = (packed.astype(np.int64)[..., None] >> shifts) & ((1 << bits) - 1)
    return codes.reshape(*packed.shape[:-1], -1)


OPERATOR = Operator(
    "MatMulNBits",
    "com.microsoft",
    ("A", "B", "scales", "zero_points", "g_idx", "bias"),
    "com.microsoft MatMulNBits, onnxruntime 1.32.0",
    _steps,
)
