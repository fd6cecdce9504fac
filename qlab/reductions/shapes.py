"""Smaller shapes: first what makes the element that differs, then the fewest entries along each axis."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from qlab.axes import SUMMED, Axis, axes_of, cut, shapes_of, with_tensors
from qlab.case import Case
from qlab.notation import show
from qlab.probes import elementwise
from qlab.reductions import Search
from qlab.reductions.minimal import minimal
from qlab.reductions.tensors import held, result_scale
from qlab.reductions.windows import one_window

RESULT_FACTORS = (1.0, 0.25, 0.0625, 0.015625, 4.0, 16.0)
MOST_SUMMED = 32  # products of a sum whose pairs are tried


def smaller_shapes(search: Search) -> None:
    """One element, one window, then each axis; at last the axes of one entry go."""
    _one_element(search)
    one_window(search)
    _one_element(search)  # what a window showed is an axis now
    _fewest(search)
    _no_axes(search)


def _one_element(search: Search) -> None:
    """All axes of the output at once; one by one where that is too much."""
    case, index = search.case, search.difference.index
    shown = [(a, _position(a, index)) for a in _axes(case) if a.shown and a.size > 1]
    if not index or not shown:
        return
    whole = case
    for axis, position in shown:
        whole = cut(whole, axis, [position])
    if len(shown) > 1 and search.offer(whole):
        words = " and ".join(f"1 of {axis.size} {axis.label}" for axis, _ in shown)
        search.record(f"{words} kept")
        return
    for axis, position in shown:
        if search.offer(cut(search.case, axis, [position])):
            search.record(f"1 of {axis.size} {axis.label} kept")


def _position(axis: Axis, index: Sequence[int]) -> int:
    """The entry of an axis that the differing element lies in."""
    position = axis.shown[0][1]
    return min(index[position], axis.size - 1) if position < len(index) else 0


def _fewest(search: Search) -> None:
    """Each axis in turn, those of the sums last: there most of the work is, and all else is small by then."""
    number = 0
    while number < len(axes := _axes(search.case)):
        axis, given = axes[number], search.case
        if axis.size > 1:
            kept = minimal(
                range(axis.size),
                lambda keep, axis=axis, given=given: search.offer(cut(given, axis, keep)),  # type: ignore[misc]
            )
            search.record(f"{len(kept)} of {axis.size} {axis.label} kept")
            if axis.label in SUMMED and 2 < len(kept) <= MOST_SUMMED:
                _a_pair(search, _axes(search.case)[number])
        number += 1


def _a_pair(search: Search, axis: Axis) -> None:
    """Two neighbours of a sum, with another scale of the result where it would else leave the range of its type.

    Fewer products give another sum: what differs is then cut off at the ends, or lies within one step.
    """
    case, name = search.case, result_scale(search.case)
    if not name:
        return
    value = held(case, name)
    for first in range(0, axis.size - 1, 2):
        pair = cut(case, axis, range(first, first + 2))
        for factor in RESULT_FACTORS:
            scaled = (value.astype(np.float64) * factor).astype(value.dtype)
            if search.offer(pair.with_tensor(name, scaled)):
                words = f"2 of {axis.size} {axis.label} kept"
                search.record(f"{words}, {name} times {show(factor)}" if factor != 1 else words)
                return


def _no_axes(search: Search) -> None:
    """Elements that stand alone need no axes of one entry."""
    case = search.case
    if not elementwise(case.graph) or any(value.size != 1 for value in case.inputs.values()):
        return
    most = max((value.ndim for value in case.inputs.values()), default=0)
    if most > 1:
        flat = with_tensors(case, {n: v.reshape(1) for n, v in case.inputs.items()})
        if search.offer(flat):
            search.record(f"1 axis instead of {most}")


def _axes(case: Case) -> tuple[Axis, ...]:
    found = axes_of(case, shapes_of(case))
    return tuple(dataclasses.replace(a, shown=_own_first(a, case)) for a in found)


def _own_first(axis: Axis, case: Case) -> tuple[tuple[str, int], ...]:
    """Where an axis shows, the first output's places first."""
    return tuple(sorted(axis.shown, key=lambda place: case.graph.outputs.index(place[0])))
