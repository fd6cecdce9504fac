"""Lanes of vector registers: which codes of which blocks each adds up, and how lanes become one sum.

Source: onnxruntime 1.32.0, core/mlas/lib/sqnbitgemm_kernel_avx{2,512}_int8_blklen{16,32,64,128}.h,
sqnbitgemm_kernel_avx_common.h. Those of 8 bits on AVX-512 were found by running it.
"""

from collections.abc import Iterator

import numpy as np

from qlab.kernels.numbers import f32
from qlab.qtypes import Array

Lane = tuple[int, tuple[int, ...]]
"""A block, and places in it: what one lane gets at one step, as a sum of integers."""


def schedule(
    blocks: int, block_size: int, bits: int, cpu: str, *, one_by_one: bool
) -> Iterator[tuple[Lane, ...]]:
    """The steps of one sum, each a fused multiply-add of all lanes.

    Args:
        blocks: how many there are. cpu: ``avx2`` (8 lanes) or ``vnni`` (16; 8 for blocks that are left over).
        one_by_one: blocks of 32 are not taken in twos.
    """
    wide = cpu == "vnni"
    if block_size > 64 or (block_size == 64 and not wide):
        yield from _long(blocks, block_size, bits, wide=wide)
        return
    together = {16: 8, 32: 4, 64: 2}[block_size] if wide else {16: 4, 32: 2}[block_size]
    block = 0
    while blocks - block >= together and not (one_by_one and block_size == 32):
        group = _wide_group(block_size) if wide else _group(block_size)
        yield tuple((block + offset, places) for offset, places in group)
        block += together
    length = {16: 2, 32: 4, 64: 4}[block_size]
    for last in range(block, blocks):
        yield tuple((last, _run(start, length)) for start in range(0, block_size, length))


def _run(start: int, length: int) -> tuple[int, ...]:
    return tuple(range(start, start + length))


def _sixteen(start: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sixteen places as two lanes, by fours in turn."""
    return (
        _run(start, 4) + _run(start + 8, 4),
        _run(start + 4, 4) + _run(start + 12, 4),
    )


def _wide_group(block_size: int) -> list[Lane]:
    """16 lanes: eight blocks of 16, four of 32 or two of 64."""
    if block_size == 16:
        return [(b, lane) for b in (0, 4, 1, 5, 2, 6, 3, 7) for lane in _sixteen(0)]
    if block_size == 32:
        order = ((0, 0), (2, 0), (0, 16), (2, 16), (1, 0), (3, 0), (1, 16), (3, 16))
        return [(b, lane) for b, start in order for lane in _sixteen(start)]
    starts = range(0, 64, 16)
    return [(b, lane) for start in starts for lane in _sixteen(start) for b in (0, 1)]


def _group(block_size: int) -> list[Lane]:
    """8 lanes: four blocks of 16 or two of 32, by eights."""
    if block_size == 16:
        return [(b, _run(start, 8)) for b in (0, 2, 1, 3) for start in (0, 8)]
    halves = ((0, 0), (1, 0), (0, 16), (1, 16))
    return [(b, _run(first + start, 8)) for b, first in halves for start in (0, 8)]


def _long(blocks: int, block_size: int, bits: int, *, wide: bool) -> Iterator[tuple[Lane, ...]]:
    """Blocks of 64 and more (wide: 128 and more), one part of 64 or 128 at a time."""
    part, lanes = (128, 16) if wide else (64, 8)
    for block in range(blocks):
        for start in range(0, block_size, part):
            if bits == 4 and not wide:
                places = [_run(start + i, 8) for i in (0, 8, 32, 40, 16, 24, 48, 56)]
            else:
                firsts = range(start, start + 4 * lanes, 4)
                places = [_run(i, 4) + _run(i + part // 2, 4) for i in firsts]
            yield tuple((block, p) for p in places)


def halved(lanes: Array) -> Array:
    """The first half of the lanes plus the second."""
    half = len(lanes) // 2
    return f32(lanes[:half] + lanes[half:])


def in_halves(lanes: Array) -> Array:
    """Halves added until one is left: four end as (0 + 2) + (1 + 3)."""
    while len(lanes) > 1:
        lanes = halved(lanes)
    return np.asarray(lanes[0])


def in_pairs(lanes: Array) -> Array:
    """Halves added down to four lanes, those as (0 + 1) + (2 + 3)."""
    while len(lanes) > 4:
        lanes = halved(lanes)
    return f32(f32(lanes[0] + lanes[1]) + f32(lanes[2] + lanes[3]))


def in_quarters(lanes: Array) -> Array:
    """Each four lanes as ((0 + 1) + 2) + 3, the results in halves."""
    fours = lanes.reshape(-1, 4, *lanes.shape[1:])
    sums = f32(f32(f32(fours[:, 0] + fours[:, 1]) + fours[:, 2]) + fours[:, 3])
    return in_halves(sums)
