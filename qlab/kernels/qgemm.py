"""QGEMM: sums of products of codes in int32; where a CPU without VNNI adds pairs of products, they saturate in 16 bits.

Source: onnxruntime 1.32.0, core/mlas/lib/qgemm.cpp and qgemm_kernel_*.cpp.
"""

import functools
from typing import TYPE_CHECKING

import numpy as np

from qlab.integers import matmul
from qlab.kernels.numbers import wrap32
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Contraction
from qlab.trace import Index, Step, Taps

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

LOWEST, HIGHEST = -32768, 32767  # of int16


def accumulate(scheme: "OrtCpu", contraction: Contraction) -> Steps:
    """Raw sum of products, then the zero points' part, in int32."""
    c = contraction
    a, b = c.names
    saturates = scheme.saturates(c)
    raw = matmul(c.lhs, c.rhs)
    if saturates:
        raw = np.asarray(raw - lost_in_pairs(c.lhs, c.rhs))
        formula = f"Σ over pairs of saturate_int16({a}·{b} + {a}·{b})"
    else:
        formula = f"Σ {a} · {b}"
    arranged = c.arrange(raw)
    note = "pairs of uint8 × int8 products saturate in 16 bits" if saturates else ""
    yield Step("raw_sum", formula, arranged, note=note, taps=lambda index: _taps(scheme, c, index))
    k, columns = c.lhs.shape[-1], c.rhs.sum(-2)[..., None, :]
    correction = k * c.lhs_zero_point * c.rhs_zero_point - c.lhs_zero_point * columns
    if c.rhs_zero_point.any():
        rows = c.lhs.sum(-1, dtype=np.int64)[..., :, None]
        correction = correction - c.rhs_zero_point * rows
    correction = c.arrange(np.broadcast_to(correction, c.result_shape))
    zero_points = f"K·{a}_zero_point·{b}_zero_point"
    yield Step(
        "zero_point_part",
        f"{zero_points} - {b}_zero_point·Σ{a} - {a}_zero_point·Σ{b}",
        correction,
    )
    total = wrap32(arranged + correction)
    yield Step(
        "accumulator",
        "raw_sum + zero_point_part",
        total,
        taps=lambda index: _taps(scheme, c, index),
    )
    return total


def _taps(scheme: "OrtCpu", c: Contraction, index: Index) -> Taps:
    """The raw products of one accumulator; the zero points' part comes afterwards."""
    a, b, a_zero_point, b_zero_point = c.operands(index)
    products = a * b
    lost = np.zeros_like(products)
    if scheme.saturates(c):
        for k in range(0, len(products), 2):
            pair = products[k : k + 2].sum()
            lost[min(k + 1, len(products) - 1)] = pair - _pair(a[k : k + 2], b[k : k + 2], axis=0)
    return Taps(
        c.axes,
        c.positions,
        a,
        b,
        a_zero_point,
        b_zero_point,
        products,
        np.cumsum(products - lost),
        lost,
    )


def lost_in_pairs(lhs: Array, rhs: Array) -> Array:
    """What the saturation of each pair of products takes from a sum, added up over all pairs.

    Args:
        lhs: (…, rows, K). rhs: (…, K, columns): codes of 8 bits.

    Returns:
        int64, (…, rows, columns). A pair is computed only for the columns in which it can saturate at all.
    """
    batch = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    lhs = np.broadcast_to(lhs, (*batch, *lhs.shape[-2:]))
    rhs = np.broadcast_to(rhs, (*batch, *rhs.shape[-2:]))
    # A pair loses less than 2^15, so up to 2^17 products the sum of what is lost fits int32.
    dtype = np.int32 if lhs.shape[-1] < 2**17 else np.int64
    lost = np.zeros((*batch, rhs.shape[-1], lhs.shape[-2]), dtype)
    for at in np.ndindex(*batch):
        a, b = lhs[at].T.astype(np.float32), rhs[at].astype(np.float32)
        low, high = a.min(-1, initial=0)[:, None], a.max(-1, initial=0)[:, None]
        least, most = np.minimum(low * b, high * b), np.maximum(low * b, high * b)
        one = np.ones((1, a.shape[1]), np.float32)
        for k in range(0, len(a), 2):
            pair = np.concatenate([a[k : k + 2], one])
            for reach, limit, excess in (
                (most, HIGHEST, functools.partial(np.maximum, 0)),
                (least, LOWEST, functools.partial(np.minimum, 0)),
            ):
                reached = reach[k : k + 2].sum(0)
                columns = np.flatnonzero(reached > limit if limit > 0 else reached < limit)
                if len(columns):
                    # The sum less the limit, as one product: whole numbers below 2^24, so float32 has no error.
                    weights = np.concatenate(
                        [b[k : k + 2, columns], np.full((1, len(columns)), -limit, np.float32)]
                    )
                    lost[at][columns] += excess(weights.T @ pair).astype(dtype)
    return np.asarray(lost.swapaxes(-1, -2).astype(np.int64))


def _pair(a: Array, b: Array, axis: int = -2) -> Array:
    """VPMADDUBSW: the sum of two adjacent products, saturated to int16. An odd K ends in a pair with 0."""
    return np.asarray(np.clip((a * b).sum(axis), LOWEST, HIGHEST))
