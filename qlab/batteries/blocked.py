"""MatMulNBits: block sizes, one row and more, columns that are left over, K that fills no block; weights in blocks before MatMul."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS
from qlab.batteries.inputs import OPSET, one_node, scale
from qlab.case import Case
from qlab.graph import AttributeValue, Graph, Node
from qlab.qtypes import DTYPES, Array, bounds

Rng = np.random.Generator
NAMES = ("A", "B", "scales", "zero_points", "g_idx", "bias")


def packed(codes: Array, bits: int) -> Array:
    """Codes (…, count) → bytes, the first in the lowest bits; 0 fills up the last byte."""
    per_byte = 8 // bits
    fill = [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % per_byte)]
    parts = np.pad(codes, fill).reshape(*codes.shape[:-1], -1, per_byte)
    return np.asarray((parts << np.arange(0, 8, bits)).sum(-1)).astype(np.uint8)


def activations(rng: Rng, shape: tuple[int, ...], block_size: int) -> Array:
    """Normal values of all sizes; some blocks are zero, some whole numbers of steps and halves of them."""
    values = rng.normal(0, 1, shape) * 2.0 ** rng.integers(-6, 7)
    k = shape[-1]
    start = int(rng.integers(0, k)) // block_size * block_size
    values[..., start : start + block_size] = 0
    if k > 2 * block_size:
        # A largest value of 127 makes the step 1: halves are ties.
        other = 0 if start else block_size
        ties = rng.integers(-253, 254, (*shape[:-1], block_size)) / 2
        ties[..., 0] = 127
        values[..., other : other + block_size] = ties
    return values.astype(np.float32)


def call(
    rng: Rng, a_shape: tuple[int, ...], n: int, *, block_size: int, bits: int, level: int, zero_points: bool, bias: bool,
    fed: tuple[str, ...] = (),
) -> Case:  # fmt: skip
    """One MatMulNBits; all but A and ``fed`` are constants."""
    k = a_shape[-1]
    blocks = -(-k // block_size)
    codes = rng.integers(0, 1 << bits, (n, blocks, block_size))
    codes[rng.random(codes.shape) < 0.1] = (1 << bits) - 1
    tensors: dict[str, Array] = {
        "A": activations(rng, a_shape, block_size),
        "B": packed(codes, bits),
        "scales": scale(rng, (n, blocks), -8, -3) * rng.choice([-1, 1], (n, blocks), p=(0.1, 0.9)).astype(np.float32),
    }  # fmt: skip
    if zero_points:
        tensors["zero_points"] = packed(rng.integers(0, 1 << bits, (n, blocks)), bits)
    if bias:
        tensors["bias"] = rng.normal(0, 1, n).astype(np.float32)
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block_size, "accuracy_level": level}
    return one_node(
        "MatMulNBits",
        NAMES,
        tensors,
        ("A", *fed),
        domain="com.microsoft",
        attributes=dict(attributes),
    )


# Rows of A, K over the block size, columns: full and part groups of blocks, of rows and of columns.
SHAPES = (((1,), 1, 3), ((1,), 11.4, 2500), ((1,), 8, 1201), ((2,), 2.9, 70), ((37,), 3.5, 135), ((24,), 10.2, 130), ((3, 5), 7, 9),
          ((), 4.1, 30), ((1, 1), 5, 18))  # fmt: skip


def nbits_cases(bits: int, level: int, seed: int) -> Iterator[Case]:
    """Each block size with shapes in turn; zero points and bias there or not."""
    rng = np.random.default_rng(seed)
    for turn, block_size in enumerate((16, 32, 64, 128, 256, 512)):
        for number, (rows, blocks, n) in enumerate(SHAPES):
            k = max(1, int(blocks * block_size))
            if k > 1200:
                k = max(1200 // block_size, 1) * block_size + k % block_size
            flags = number + turn + seed
            yield call(
                rng, (*rows, k), n, block_size=block_size, bits=bits, level=level,
                zero_points=bool(flags % 2), bias=bool(flags // 2 % 2),
            )  # fmt: skip
        # What is fed is not packed: B is dequantized first, zero points are ignored at accuracy level 4.
        for fed in (("B",), ("zero_points",)):
            yield call(
                rng, (1 + turn, 70), 13, block_size=block_size, bits=bits, level=level, zero_points=True, bias=True,
                fed=fed,
            )  # fmt: skip


def weights_cases(dtype: str, seed: int) -> Iterator[Case]:
    """DequantizeLinear of constant weights before MatMul: in blocks, for each column, and for all of B."""
    rng = np.random.default_rng(seed)
    low, high = bounds(dtype)
    for block_size in (0, 16, 32, 64, 128):
        for number, (rows, k, n) in enumerate(((1, 300, 290), (60, 70, 130), (7, 256, 66))):
            per_column = bool(number % 2)
            shape = (-(-k // block_size), n) if block_size else (n,) if per_column else ()
            constants: dict[str, Array] = {
                "w": rng.integers(low, high + 1, (k, n)).astype(DTYPES[dtype]),
                "w_scale": scale(rng, shape, -8, -3),
            }
            if (number + block_size // 16 + seed) % 2:
                zeros = rng.integers(low, high + 1, shape)
                constants["w_zero_point"] = np.asarray(zeros).astype(DTYPES[dtype])
            attributes: dict[str, AttributeValue] = {}
            if block_size:
                attributes = {"axis": 0, "block_size": block_size}
            elif per_column:
                attributes = {"axis": 1}
            graph = Graph(
                (
                    Node("DequantizeLinear", tuple(constants), ("b",), attributes=attributes),
                    Node("MatMul", ("a", "b"), ("y",)),
                ),
                constants, ("a",), ("y",), OPSET,
            )  # fmt: skip
            yield Case(graph, {"a": activations(rng, (rows, k), block_size or 32)})


CODES = ("int4", "uint4", "int8", "uint8")
BATTERIES = Batteries(
    (
        *(
            Battery(
                "MatMulNBits",
                f"float32 × {bits} bits, accuracy level {level}",
                "QOperator",
                functools.partial(nbits_cases, bits, level),
            )
            for bits in (4, 8)
            for level in (0, 4)
        ),
        *(
            Battery(
                "MatMul of weights",
                f"float32 × {dtype}",
                "QDQ",
                functools.partial(weights_cases, dtype),
                LEVELS,
            )
            for dtype in CODES
        ),
    )
)
