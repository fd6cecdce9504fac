"""Loops over elements whose places are known when the file is written, from arrays of flat indices.

A map is an array of the shape that the loops run over: at each entry the flat index into some tensor. Where it is a sum
of one part an axis, each part is a multiple of the loop's variable, a remainder, or read from a table of indices.
"""

from collections.abc import Callable, Sequence

import numpy as np

from qlab.c.emission import File, Operand, loops
from qlab.qtypes import Array


def assignments(
    file: File,
    out: Operand,
    place: Array,
    reads: Sequence[tuple[Operand, Array]],
    value: Callable[..., str],
) -> list[str]:
    """``out[place] = value(reads[0][…], …)`` for every entry of the maps.

    Args:
        place, reads: maps of one shape, int64, with at least one entry. value: C expressions of what is read → C
            expression of what is assigned.
    """
    maps = _joined([place, *(m for _, m in reads)])
    variables = [f"i{axis}" for axis in range(maps[0].ndim)] if maps[0].ndim > 1 else ["i"]
    variables = variables[: maps[0].ndim]
    written, *read = (
        f"{o.array}[{_index(file, o, m, variables)}]"
        for o, m in zip((out, *(o for o, _ in reads)), maps, strict=True)
    )
    return loops(maps[0].shape, variables, [f"{written} = {value(*read)};"])


def broadcast(
    file: File, out: Operand, operands: Sequence[Operand], value: Callable[..., str]
) -> list[str]:
    """``out = value(operands[0], …)`` for every element, with broadcasting."""
    place = flat(out.shape)
    reads = [(o, np.broadcast_to(flat(o.shape), out.shape)) for o in operands]
    return assignments(file, out, place, reads, value)


def flat(shape: Sequence[int]) -> Array:
    """The flat index of every element, int64, of ``shape``."""
    return np.arange(int(np.prod(shape))).reshape(tuple(shape))


def box(inside: Array) -> tuple[slice, ...] | None:
    """The part of a tensor where ``inside`` holds, as slices; None where these have other entries too."""
    found = [np.unique(axis) for axis in np.nonzero(inside)]
    parts = tuple(slice(int(a[0]), int(a[-1]) + 1) for a in found)
    return parts if inside[parts].all() else None


def _joined(maps: Sequence[Array]) -> list[Array]:
    """The maps with as few axes as they need: axes of one entry left out, neighbours joined.

    Neighbours must be joined where a map is no sum over both; they can be where one loop counts through both.
    """
    maps = [m.reshape([n for n in m.shape if n > 1]) for m in maps]
    while not all(map(_is_sum, maps)):
        pairs = range(maps[0].ndim - 1)
        tied = [d for d in pairs if not all(_is_sum(_part(m, d, d + 1)) for m in maps)]
        maps = [_join(m, tied[0] if tied else 0) for m in maps]
    for d in reversed(range(maps[0].ndim - 1)):
        if all(_counts_through(m, d) for m in maps):
            maps = [_join(m, d) for m in maps]
    return maps


def _join(m: Array, axis: int) -> Array:
    """``axis`` and the next one as one."""
    shape = m.shape
    return m.reshape(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def _part(m: Array, *axes: int) -> Array:
    """The map along some axes, at 0 of all others."""
    return m[tuple(slice(None) if axis in axes else 0 for axis in range(m.ndim))]


def _is_sum(m: Array) -> bool:
    """True where the map is a sum of one part an axis."""
    total = np.asarray(_part(m))
    for axis in range(m.ndim):
        shape = [-1 if a == axis else 1 for a in range(m.ndim)]
        total = total + (_part(m, axis) - _part(m)).reshape(shape)
    return np.array_equal(m, total)


def _stride(line: Array) -> int | None:
    """The step of an arithmetic progression; None where it is none."""
    steps = np.diff(line)
    return int(steps[0]) if (steps == steps[0]).all() else None


def _counts_through(m: Array, axis: int) -> bool:
    """True where ``axis`` and the next one are one progression."""
    outer, inner = _stride(_part(m, axis)), _stride(_part(m, axis + 1))
    return outer is not None and inner is not None and outer == inner * m.shape[axis + 1]


def _index(file: File, operand: Operand, m: Array, variables: Sequence[str]) -> str:
    """The C expression of a map's entry."""
    base, terms = int(_part(m)), []
    for axis, variable in enumerate(variables):
        line = _part(m, axis)
        stride = _stride(line)
        if stride is None:
            first, stride, variable = _looked_up(file, operand, line, variable)
            base -= first
        if stride:
            size = variable if abs(stride) == 1 else f"{variable} * {abs(stride)}"
            terms.append(f" {'+' if stride > 0 else '-'} {size}")
    expression = "".join(terms)
    return f"{base}{expression}" if base or not terms else expression.removeprefix(" + ")


def _looked_up(file: File, operand: Operand, line: Array, variable: str) -> tuple[int, int, str]:
    """One axis that is no progression: what of the map's first entry it stands for, its factor and C expression.

    The table has indices along one axis of the operand where the entries lie along one, else flat ones.
    """
    stride = int(np.prod(operand.shape))
    for size in operand.shape:
        stride //= size
        first = int(line[0]) // stride % size
        steps, rest = np.divmod(line - line[0], stride)
        at = first + steps
        if size == 1 or rest.any() or at.min() < 0 or at.max() >= size:
            continue
        if np.array_equal(at, (first + np.arange(at.size)) % size):
            counted = f"({variable} + {first})" if first else variable
            return first * stride, stride, f"({counted} % {size})"
        table = file.array(f"{operand.name}_index", at, "size_t")
        return first * stride, stride, f"{table}[{variable}]"
    table = file.array(f"{operand.name}_index", line - line.min(), "size_t")
    return int(line[0] - line.min()), 1, f"{table}[{variable}]"
