"""AveragePool, GlobalAveragePool and MaxPool of float32: which kernel is called, and in which order it adds or compares.

MLAS has three kernels: the whole image four lanes at a time; columns of a window first, four at a time, for strides
of 1 or 2 and small kernels; and a plain loop. From AveragePool 19 on, and for dilations, there is a loop of its own.
Source: onnxruntime 1.32.0, core/mlas/lib/pooling.cpp, core/providers/cpu/nn/{pool.cc,pool_functors.h}.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from qlab.kernels.numbers import f32
from qlab.ops import Steps
from qlab.qtypes import Array, bounds, is_integer
from qlab.schemes import Pool
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

BUFFER = 2048 - 3  # float32 of a row with its padding, in the kernel that adds columns first
LARGEST_KERNEL = 32  # of that kernel, along each axis
ZERO, LOWEST = np.zeros((), np.float32), np.asarray(np.finfo(np.float32).min, np.float32)
NOTHING = np.asarray(-0.0, np.float32)  # x + -0.0 is x for every x, of either zero too

Fold = Callable[[Array, Array], Array]


def average_pool(scheme: "OrtCpu", x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
    """The sum of each window in the kernel's order, divided by the count."""
    values = scheme.real(x)
    count = pool.count
    if pool.mlas and is_global(pool):
        total, order = _global(values, ZERO, np.add, np.add, scheme.cpu), _lanes(scheme.cpu)
    elif pool.mlas and adds_columns(pool):
        start = NOTHING if len(pool.shape) == 4 else ZERO
        total, order = _columns(values, pool, start, ZERO, NOTHING), "columns first"
    else:
        total, order = _loop(pool.windows(values, NOTHING), ZERO, np.add), "row by row"
    total = pool.arrange(total)
    yield Step("sum", f"Σ X in float32, {order}", total)
    count = pool.arrange(count)
    words = "with" if pool.include_pad else "without"
    yield Step("count", f"elements of the window, {words} padding", count)
    # A window without an element of X is not divided: its sum is 0.
    value = f32(total / f32(np.maximum(count, 1)))
    yield Step("output", "f32(sum / count)", value, tensor=tensor, dtype=dtype)
    return value


def max_pool(scheme: "OrtCpu", x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
    """The largest of each window; where NaN is among them the order of the kernel decides."""
    if is_integer(x.dtype):
        windows = pool.windows(x, np.asarray(bounds(dtype)[0], x.dtype))
        value, order = windows.max(-1), ""
    else:
        values = scheme.real(x)
        if not pool.mlas:
            value, order = _first_larger(pool.windows(values, LOWEST), pool.inside), "row by row"
        elif is_global(pool):
            vector = vector_maximum(scheme.cpu)
            value, order = _global(values, LOWEST, vector, scalar_maximum, scheme.cpu), "in lanes"
        elif adds_columns(pool):
            value, order = _max_columns(values, pool, scheme.cpu), "columns first"
        else:
            windows = pool.windows(values, LOWEST)
            value, order = _loop(windows, LOWEST, scalar_maximum), "row by row"
    value = pool.arrange(value)
    empty = not pool.inside.any(-1).all()
    notes = ["a window without an element of X has the lowest number"] if empty else []
    if order and np.isnan(x).any():
        notes.append(f"NaN in X: whether it stays depends on the order, here {order}")
    yield Step("output", "max X", value, tensor=tensor, dtype=dtype, note="; ".join(notes))
    return value


def is_global(pool: Pool) -> bool:
    """True where MLAS takes its kernel of whole images."""
    return pool.whole and set(pool.geometry.strides) == {1}


def adds_columns(pool: Pool) -> bool:
    """True where MLAS takes its vectorized kernel, which reduces the columns of a window first."""
    geometry = pool.geometry
    if len(pool.shape) < 4 or geometry.strides[-1] > 2 or max(geometry.kernel) > LARGEST_KERNEL:
        return False
    return pool.shape[-1] <= max(BUFFER - geometry.begins[-1] - geometry.ends[-1], 0)


def _lanes(cpu: str) -> str:
    return "four lanes, then " + ("(0+1)+(2+3)" if cpu == "arm64" else "(0+2)+(1+3)")


def _loop(windows: Array, start: Array, fold: Fold) -> Array:
    """(…, taps) → (…): one after the other."""
    value = np.broadcast_to(start, windows.shape[:-1])
    for k in range(windows.shape[-1]):
        value = fold(value, windows[..., k])
    return value


def _global(x: Array, start: Array, vector: Fold, scalar: Fold, cpu: str) -> Array:
    """(N, C, spatial…) → (N, C, 1): four lanes, put together, then what remains."""
    flat = x.reshape(*x.shape[:2], -1)
    body = flat.shape[-1] // 4 * 4
    by_lane = np.moveaxis(flat[..., :body].reshape(*flat.shape[:2], body // 4, 4), -2, -1)
    lanes = _loop(by_lane, start, vector)
    if cpu == "arm64":  # pairs of neighbours
        value = vector(vector(lanes[..., 0], lanes[..., 1]), vector(lanes[..., 2], lanes[..., 3]))
    else:
        value = vector(vector(lanes[..., 0], lanes[..., 2]), vector(lanes[..., 1], lanes[..., 3]))
    for k in range(body, flat.shape[-1]):
        value = scalar(value, flat[..., k])
    return np.asarray(value)[..., None]


def _by_column(windows: Array, pool: Pool) -> Array:
    """(…, taps) → (…, columns, rows); in three dimensions the rows of all planes."""
    width = pool.geometry.kernel[-1]
    rows = math.prod(pool.geometry.kernel[:-1])
    return np.moveaxis(windows.reshape(*windows.shape[:-1], rows, width), -1, -2)


def _columns(x: Array, pool: Pool, start: Array, padding: Array, nothing: Array) -> Array:
    """The sum of each column of the window, then of those; a column of padding is 0."""
    by_column = _by_column(pool.windows(x, nothing), pool)
    sums = _loop(by_column, start, np.add)
    sums = np.where(_by_column(pool.inside, pool).any(-1), sums, padding)
    return _loop(sums[..., 1:], sums[..., 0], np.add)


def _max_columns(x: Array, pool: Pool, cpu: str) -> Array:
    """The largest of each column, four columns of X at a time and the last ones singly; then of those."""
    vector = vector_maximum(cpu)
    values = _by_column(pool.windows(x, LOWEST), pool)
    inside = _by_column(pool.inside, pool)
    # Columns of X behind the last four are compared by scalar instructions.
    body = pool.shape[-1] // 4 * 4
    index = np.broadcast_to(np.arange(pool.shape[-1]), (1, 1, *pool.shape[2:]))
    single = (_by_column(pool.windows(index, np.asarray(0)), pool).max(-1) >= body)[0, 0]
    column = np.broadcast_to(LOWEST, values.shape[:-1])
    begun = np.broadcast_to(np.asarray(len(pool.shape) > 4), inside.shape[:-1])
    for k in range(values.shape[-1]):
        value = values[..., k]
        folded = np.where(single, scalar_maximum(column, value), vector(column, value))
        column = np.where(inside[..., k], np.where(begun, folded, value), column)
        begun = begun | inside[..., k]
    return _loop(column[..., 1:], column[..., 0], vector)


def _first_larger(windows: Array, inside: Array) -> Array:
    """The first element, then each that is larger: a NaN stays where it is the first, else it never is larger."""
    value = np.broadcast_to(LOWEST, windows.shape[:-1])
    begun = np.zeros(inside.shape[:-1], np.bool_)
    for k in range(windows.shape[-1]):
        taken = inside[..., k] & (~begun | (windows[..., k] > value))
        value = np.where(taken, windows[..., k], value)
        begun = begun | inside[..., k]
    return value


def scalar_maximum(a: Array, b: Array) -> Array:
    """std::max: the first unless it is smaller."""
    return np.where(a < b, b, a)


def vector_maximum(cpu: str) -> Fold:
    """MAXPS gives the second where one is NaN or both are equal; FMAX of ARM64 NaN, and +0 before -0."""
    if cpu == "arm64":
        return lambda a, b: np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))
    return lambda a, b: np.where(a > b, a, b)
