"""Sums of products of integers by floating-point matrix products, which are many times faster and here as exact.

A floating-point sum of integers is exact, in whatever order it is added, as long as no partial sum leaves the range in
which the type holds every integer: 2^24 for float32, 2^53 for float64. Every partial sum of a column is at most the
largest |lhs| times the sum of the column's |rhs|, which is computed first; where that proves nothing, the sum is int64.
"""

import numpy as np

from qlab.qtypes import Array

WHOLE = ((np.dtype(np.float32), 2**24), (np.dtype(np.float64), 2**53))
FEW = 2**14  # products: below, nothing is gained


def matmul(lhs: Array, rhs: Array) -> Array:
    """Σ lhs · rhs over integers, exactly.

    Args:
        lhs: (…, rows, K), of any integer dtype. rhs: (…, K, columns). Their products' sums have to fit int64.

    Returns:
        int64, (…, rows, columns).
    """
    if lhs.size and rhs.size and lhs.size * rhs.shape[-1] >= FEW:
        largest = _largest_sum(lhs, rhs)
        for dtype, limit in WHOLE:
            if largest < limit:
                return np.asarray(np.matmul(lhs.astype(dtype), rhs.astype(dtype)).astype(np.int64))
    return np.asarray(np.matmul(lhs.astype(np.int64), rhs.astype(np.int64)))


def centered_matmul(lhs: Array, rhs: Array, lhs_zero_point: Array, rhs_zero_point: Array) -> Array:
    """Σ (lhs - lhs_zero_point)·(rhs - rhs_zero_point) over integers, exactly.

    Args:
        lhs, rhs: as `matmul`. lhs_zero_point: broadcasts to (…, rows, 1); rhs_zero_point to (…, 1, columns).

    lhs, often the larger, is taken as it is; its zero point's part, the same for a whole column, is subtracted from
    the sum: Σ (a - z)·b = Σ a·b - z·Σ b.
    """
    centered = rhs.astype(np.int64) - rhs_zero_point.astype(np.int64)
    total = matmul(lhs, centered)
    if lhs_zero_point.any():
        total = total - lhs_zero_point.astype(np.int64) * centered.sum(-2)[..., None, :]
    return np.asarray(total)


def _largest_sum(lhs: Array, rhs: Array) -> float:
    largest = max(abs(int(lhs.min())), abs(int(lhs.max())))
    # Sums of float64 may be rounded beyond 2^53, but not to below it: rounding is monotonic.
    return largest * float(np.abs(rhs.astype(np.float64)).sum(-2).max())
