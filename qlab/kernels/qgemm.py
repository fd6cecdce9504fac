"""QGEMM: sums of products of codes in int32; where a CPU without VNNI adds pairs of products, they saturate in 16 bits.

Source: onnxruntime 1.32.0, core/mlas/lib/qgemm.cpp and qgemm_kernel_*.cpp.
"""

from typing import TYPE_CHECKING

import numpy as np

from qlab.kernels.numbers import wrap32
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Contraction
from qlab.trace import Index, Step, Taps

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu


def accumulate(scheme: "OrtCpu", contraction: Contraction) -> Steps:
    """Raw sum of products, then the zero points' part, in int32."""
    c = contraction
    a, b = c.names
    saturates = scheme.saturates(c)
    if saturates:
        raw = np.zeros(c.result_shape, np.int64)
        for k in range(0, c.lhs.shape[-1], 2):
            raw = raw + _pair(c.lhs[..., :, k : k + 2, None], c.rhs[..., None, k : k + 2, :])
        formula = f"Σ over pairs of saturate_int16({a}·{b} + {a}·{b})"
    else:
        raw = np.matmul(c.lhs, c.rhs)
        formula = f"Σ {a} · {b}"
    arranged = c.arrange(raw)
    note = "pairs of uint8 × int8 products saturate in 16 bits" if saturates else ""
    yield Step("raw_sum", formula, arranged, note=note, taps=lambda index: _taps(scheme, c, index))
    rows, columns = c.lhs.sum(-1)[..., :, None], c.rhs.sum(-2)[..., None, :]
    k = c.lhs.shape[-1]
    correction = (
        k * c.lhs_zero_point * c.rhs_zero_point
        - c.rhs_zero_point * rows
        - c.lhs_zero_point * columns
    )
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


def _pair(a: Array, b: Array, axis: int = -2) -> Array:
    """VPMADDUBSW: the sum of two adjacent products, saturated to int16. An odd K ends in a pair with 0."""
    return np.asarray(np.clip((a * b).sum(axis), -32768, 32767))
