"""Rounder parameters: scales of 1, of powers of two, of few digits; zero points of 0 or the middle; usual attributes."""

import dataclasses

import numpy as np

from qlab.axes import with_tensors
from qlab.case import Case
from qlab.qtypes import Array, bounds, is_float, is_integer
from qlab.reductions import Search
from qlab.reductions.reals import rounder
from qlab.reductions.tensors import (
    DATA,
    SCALE,
    ZERO_POINT,
    changes,
    held,
    kind,
    moving,
    of_kind,
    with_entries,
    zero_point_of,
)

MOST_ENTRIES = 64  # of a tensor that are tried one by one


def rounder_scales(search: Search) -> None:
    """All scales 1, then each entry as round as it goes."""
    names = [n for n in of_kind(search.case, SCALE) if is_float(held(search.case, n).dtype)]
    ones = {n: np.ones_like(held(search.case, n)) for n in names}
    if len(ones) > 1 and search.offer(with_tensors(search.case, ones)):
        search.record("every scale is 1")
        return
    for name in names:
        before = held(search.case, name)
        for position in range(min(before.size, MOST_ENTRIES)):
            for number in rounder(before.reshape(-1)[position]):
                entry = np.asarray([position])
                if search.offer(with_entries(search.case, name, entry, np.asarray(number))):
                    break
        search.record(f"{name} is rounder: {changes(before, held(search.case, name))}")


def rounder_zero_points(search: Search) -> None:
    """0, else the middle of the type; codes that rest go with it, and all of them where that does not do."""
    for name in of_kind(search.case, ZERO_POINT):
        before = held(search.case, name)
        if not is_integer(before.dtype) or not before.size:
            continue
        low, high = bounds(before.dtype)
        for goal in dict.fromkeys((0, (low + high + 1) // 2)):
            if (before.astype(np.int64) == goal).all():
                break
            new = np.full(before.shape, goal, np.int64).astype(before.dtype)
            if any(search.offer(c) for c in _moved(search.case, name, new)):
                break
        search.record(f"{name} is rounder: {changes(before, held(search.case, name))}")


def _moved(case: Case, name: str, new: Array) -> list[Case]:
    """A zero point changed: with the codes that rest on it; with all its codes, where they fit; alone."""
    old = held(case, name)
    alone = case.with_tensor(name, new)
    if old.size != 1:
        return [alone]
    resting = whole = alone
    by = int(new.reshape(-1)[0]) - int(old.reshape(-1)[0])
    for tensor in (*case.inputs, *case.graph.constants):
        if kind(case, tensor) != DATA or not _rests_on(case, tensor, name):
            continue
        value = held(case, tensor)
        still = np.setdiff1d(np.arange(value.size), moving(case, tensor))
        resting = with_entries(resting, tensor, still, new.reshape(()))
        low, high = bounds(value.dtype)
        shifted = value.astype(np.int64) + by
        if shifted.size and low <= shifted.min() and shifted.max() <= high:
            whole = whole.with_tensor(tensor, shifted.astype(value.dtype))
    return [resting, whole, alone]


def _rests_on(case: Case, tensor: str, zero_point: str) -> bool:
    same = held(case, tensor).dtype == held(case, zero_point).dtype
    return same and zero_point_of(case, tensor) == zero_point


def usual_attributes(search: Search) -> None:
    """Attributes left out, so that their defaults hold."""
    for number in range(len(search.case.graph.nodes)):
        for name in sorted(search.case.graph.nodes[number].attributes):
            node = search.case.graph.nodes[number]
            kept = {k: v for k, v in node.attributes.items() if k != name}
            nodes = list(search.case.graph.nodes)
            nodes[number] = dataclasses.replace(node, attributes=kept)
            graph = dataclasses.replace(search.case.graph, nodes=tuple(nodes))
            if search.offer(dataclasses.replace(search.case, graph=graph, expected={})):
                search.record(f"without the attribute {name} of {node.qualified_name}")


def _is_real(case: Case, name: str) -> bool:
    value = case.tensor(name)
    return value is not None and is_float(value.dtype)
