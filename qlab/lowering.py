"""Lowering: per-axis parameters to broadcasting shape, and a convolution to a matrix product."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qlab.errors import TraceError
from qlab.qtypes import Array
from qlab.trace import Index

LARGEST = 20_000_000  # entries of x as a matrix (im2col): 160 MB of int64


def along_axis(parameter: Array, axis: int, shape: Index, block_size: int = 0) -> Array:
    """A scale or zero point in a shape that broadcasts to a tensor.

    Args:
        parameter: shape () or (1,): per tensor; (shape[axis],): per axis; the tensor's rank: blocked, each entry
            along ``axis`` standing for ``block_size`` of the tensor's.
    """
    if parameter.size == 1 and parameter.ndim <= 1:
        return parameter.reshape(())
    rank = len(shape)
    if not -rank <= axis < rank:
        raise TraceError(f"axis {axis} is outside a tensor of rank {rank}")
    axis %= rank
    if parameter.ndim == 1 and not (rank == 1 and block_size > 0):
        if parameter.shape[0] != shape[axis]:
            raise TraceError(
                f"a scale or zero point of {parameter.shape[0]} entries does not fit axis {axis} "
                f"of the shape {list(shape)}, which has {shape[axis]}; one entry each is needed, or one for all"
            )
        return parameter.reshape([-1 if i == axis else 1 for i in range(rank)])
    if parameter.ndim == rank and block_size > 0:
        blocks = tuple(-(-n // block_size) if i == axis else n for i, n in enumerate(shape))
        if parameter.shape == blocks:
            repeated = np.repeat(parameter, min(block_size, shape[axis]), axis=axis)
            return np.asarray(np.take(repeated, range(shape[axis]), axis=axis))
    raise TraceError(
        f"a scale or zero point of the shape {list(parameter.shape)} does not fit the tensor's {list(shape)}"
        + (f" in blocks of {block_size}" if block_size else "")
    )


@dataclasses.dataclass(frozen=True)
class Window:
    """The geometry of a convolution or a pool, from the attributes that all of them share.

    Shapes are those of a channels-first tensor (N, C, spatial…) and weights (M, C / group, kernel…). ``begins`` and
    ``ends`` are the padding. A pool has as many groups as channels.
    """

    kernel: Index
    strides: Index
    dilations: Index
    begins: Index
    ends: Index
    output: Index
    group: int

    @property
    def taps(self) -> int:
        """Positions of the kernel."""
        return math.prod(self.kernel)


def window(attribute: Callable[[str, Any], Any], x: Index, w: Index) -> Window:
    """Read strides, dilations, pads, auto_pad and group. Raises TraceError where they do not fit the shapes."""
    rank = len(x) - 2
    if rank < 1 or len(w) != len(x):
        raise TraceError(
            f"x has the shape {list(x)} and w {list(w)}: a convolution needs (N, C, …) and (M, C/group, …)"
        )
    group = int(attribute("group", 1))
    if group < 1 or x[1] != w[1] * group or w[0] % group:
        raise TraceError(
            f"x has {x[1]} channels, w {w[0]} × {w[1]} and group is {group}: "
            "x's channels must be w's times group, and w's first dimension a multiple of group"
        )
    kernel = tuple(w[2:])
    declared = tuple(attribute("kernel_shape", kernel))
    if declared != kernel:
        raise TraceError(f"kernel_shape {list(declared)} is not w's {list(kernel)}")
    return _slid(attribute, x, kernel, group)


def pool_window(attribute: Callable[[str, Any], Any], x: Index) -> Window:
    """Read kernel_shape, strides, dilations, pads, auto_pad and ceil_mode of a pool.

    Raises TraceError where they do not fit the shape, and where ONNX Runtime and the schema pad differently.
    """
    if len(x) < 3:
        raise TraceError(
            f"X has the shape {list(x)}: a pool needs (N, C, …) with at least one axis"
        )
    kernel = attribute("kernel_shape", None)
    if kernel is None:
        raise TraceError("the attribute kernel_shape is absent")
    kernel = _of_rank(kernel, 1, len(x) - 2, "kernel_shape")
    ceil = bool(attribute("ceil_mode", 0))
    auto_pad = attribute("auto_pad", "NOTSET")
    if auto_pad.startswith("SAME") and max(attribute("dilations", None) or (1,)) > 1:
        raise TraceError(f"auto_pad {auto_pad} with dilations is not modelled; pads are")
    if auto_pad == "VALID" and ceil:
        raise TraceError("auto_pad VALID with ceil_mode is not modelled; pads are")
    found = _slid(attribute, x, kernel, x[1], ceil=ceil)
    if auto_pad.startswith("SAME") and any(
        (o - 1) * s + k + 1 < n
        for k, s, o, n in zip(kernel, found.strides, found.output, x[2:], strict=True)
    ):
        # The schema's formula gives a negative padding here, which shifts the windows.
        raise TraceError(f"auto_pad {auto_pad} with strides beyond the kernel is not modelled")
    return found


def _slid(
    attribute: Callable[[str, Any], Any], x: Index, kernel: Index, group: int, *, ceil: bool = False
) -> Window:
    """A kernel slid over x's spatial axes; with ``ceil`` the last window may reach over the padding's end."""
    rank = len(x) - 2
    strides = _of_rank(attribute("strides", None), 1, rank, "strides")
    dilations = _of_rank(attribute("dilations", None), 1, rank, "dilations")
    if min(strides) < 1 or min(dilations) < 1:
        raise TraceError(
            f"strides {list(strides)} and dilations {list(dilations)}: each must be at least 1"
        )
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    pads = _of_rank(attribute("pads", None), 0, 2 * rank, "pads")
    begins, ends = pads[:rank], pads[rank:]
    auto_pad = attribute("auto_pad", "NOTSET")
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        needed = [
            max((-(-n // s) - 1) * s + r - n, 0)
            for n, s, r in zip(x[2:], strides, reach, strict=True)
        ]
        begins = tuple(n // 2 if auto_pad == "SAME_UPPER" else n - n // 2 for n in needed)
        ends = tuple(n - b for n, b in zip(needed, begins, strict=True))
    elif auto_pad == "VALID":
        begins = ends = (0,) * rank
    elif auto_pad != "NOTSET":
        raise TraceError(f"auto_pad {auto_pad!r} is not NOTSET, SAME_UPPER, SAME_LOWER or VALID")
    output = tuple(
        _count(n + b + e - r, s, n + b, ceil=ceil)
        for n, b, e, r, s in zip(x[2:], begins, ends, reach, strides, strict=True)
    )
    if min(begins + ends) < 0 or min(kernel) < 1:
        raise TraceError(
            f"pads {list(begins + ends)} and kernel {list(kernel)}: pads must be at least 0, the kernel 1"
        )
    if any(n + b + e < r for n, b, e, r in zip(x[2:], begins, ends, reach, strict=True)):
        raise TraceError(
            f"the kernel {list(kernel)} with dilations {list(dilations)} reaches over {reach}, "
            f"more than x's {list(x[2:])} with pads {list(begins + ends)}"
        )
    entries = x[0] * x[1] * math.prod(kernel) * math.prod(output)
    if max(entries, math.prod(output)) > LARGEST:
        raise TraceError(
            f"as a matrix x has {entries:,} entries; a convolution or a pool of at most {LARGEST:,} is traced"
        )
    return Window(kernel, strides, dilations, begins, ends, output, group)


def _count(room: int, stride: int, end: int, *, ceil: bool) -> int:
    """Positions of a window with ``room`` to move; rounded up, none begins at ``end`` or behind."""
    count = -(-room // stride) + 1 if ceil else room // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= end else count


def _of_rank(value: Sequence[int] | None, default: int, size: int, name: str) -> Index:
    if value is None:
        return (default,) * size
    if len(value) != size:
        raise TraceError(f"{name} has {len(value)} entries, {size} are needed")
    return tuple(int(v) for v in value)


def patches(x: Array, fill: Array, geometry: Window, *, channel_major: bool) -> Array:
    """The rows of a convolution as a matrix product (im2col).

    Args:
        x: (N, C, spatial…). fill: what padding holds, shape ().
        channel_major: order of the taps: channel, then kernel position; else kernel position, then channel.

    Returns:
        (N, group, positions of the output, C / group · taps)
    """
    n, channels = x.shape[:2]
    reach = [
        (o - 1) * s + d * (k - 1) + 1
        for o, s, d, k in zip(
            geometry.output, geometry.strides, geometry.dilations, geometry.kernel, strict=True
        )
    ]
    padded = np.empty((n, channels, *reach), x.dtype)
    padded[...] = fill
    into: list[slice] = [slice(None)] * 2
    out_of: list[slice] = [slice(None)] * 2
    for size, begin, extent in zip(x.shape[2:], geometry.begins, padded.shape[2:], strict=True):
        count = max(min(size, extent - begin), 0)
        into.append(slice(begin, begin + count))
        out_of.append(slice(0, count))
    padded[tuple(into)] = x[tuple(out_of)]
    split = (n, geometry.group, channels // geometry.group, math.prod(geometry.output))
    taps: tuple[Any, ...] = (slice(None),) * (
        3 if channel_major else 2
    )  # what stands before the taps in memory
    columns = np.empty((*split[: len(taps)], geometry.taps, *split[len(taps) :]), x.dtype)
    for tap, position in enumerate(np.ndindex(*geometry.kernel)):
        at: tuple[Any, ...] = tuple(
            slice(p * d, p * d + (o - 1) * s + 1, s)
            for p, d, o, s in zip(
                position, geometry.dilations, geometry.output, geometry.strides, strict=True
            )
        )
        columns[(*taps, tap)] = padded[(slice(None), slice(None), *at)].reshape(split)
    # Positions are last in memory, where x has them: a matrix product takes the transposed view as it is.
    flat = columns.reshape(*split[:2], geometry.taps * split[2], split[3])
    return np.asarray(flat.swapaxes(-1, -2))


def filters(w: Array, geometry: Window, *, channel_major: bool) -> Array:
    """Weights (M, C / group, kernel…) as (1, group, K, M / group), taps in the order of `patches`."""
    m, channels = w.shape[:2]
    split = w.reshape(geometry.group, m // geometry.group, channels, geometry.taps)
    moved = split.transpose((0, 2, 3, 1) if channel_major else (0, 3, 2, 1))
    return moved.reshape(1, geometry.group, channels * geometry.taps, m // geometry.group)


def tap_positions(w: Index, *, channel_major: bool) -> tuple[tuple[str, ...], tuple[Index, ...]]:
    """Names and values of each tap's coordinates: channel in its group, and kernel position."""
    kernel = w[2:]
    names = {1: ("k",), 2: ("kh", "kw"), 3: ("kd", "kh", "kw")}.get(
        len(kernel), tuple(f"k{i}" for i in range(len(kernel)))
    )
    if channel_major:
        return ("c", *names), tuple(np.ndindex(w[1], *kernel))
    return (*names, "c"), tuple(np.ndindex(*kernel, w[1]))


def to_channels_first(result: Array, geometry: Window) -> Array:
    """(N, group, positions, M / group) → (N, M, spatial…)."""
    n, group, _, m = result.shape
    return result.transpose(0, 1, 3, 2).reshape(n, group * m, *geometry.output)


@dataclasses.dataclass(frozen=True)
class Rows:
    """A tensor as rows that are each normalized: along one axis, or over this axis and all after it.

    Attributes:
        shape: of the tensor. axis: not negative. flat: the axes after it belong to the row (Softmax below opset 13).
    """

    shape: Index
    axis: int
    flat: bool

    @property
    def length(self) -> int:
        """Entries of a row."""
        return math.prod(self.shape[self.axis :]) if self.flat else self.shape[self.axis]

    def split(self, values: Array) -> Array:
        """The tensor's values → (rows, entries)."""
        moved = values if self.flat else np.moveaxis(values, self.axis, -1)
        return np.asarray(moved.reshape(math.prod(self.shape) // max(self.length, 1), self.length))

    def join(self, values: Array) -> Array:
        """(rows, entries), or (rows, 1) for one value a row → the tensor's shape."""
        spread = np.broadcast_to(values, (len(values), self.length))
        if self.flat:
            return np.asarray(spread.reshape(self.shape))
        rest = self.shape[: self.axis] + self.shape[self.axis + 1 :]
        return np.asarray(np.moveaxis(spread.reshape(*rest, self.length), -1, self.axis))


def normalized_rows(shape: Index, axis: int, opset: int) -> Rows:
    """The rows of Softmax. Raises TraceError for an axis that the tensor does not have."""
    rank = len(shape)
    if not -rank <= axis < rank:
        raise TraceError(
            f"axis {axis} is outside a tensor of rank {rank}; {-rank} to {rank - 1} are allowed"
        )
    return Rows(shape, axis % rank, opset < 13)
