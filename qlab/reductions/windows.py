"""Smaller convolutions and pools: one position of the kernel, with its padding written out, and one group."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from qlab.axes import (
    CONVOLUTIONS,
    POOLS,
    Axis,
    axes_of,
    channel_axis,
    cut,
    is_one_window,
    resized,
    schema_names,
    shapes_of,
    spatial_axes,
    with_tensors,
)
from qlab.case import Case
from qlab.errors import TraceError
from qlab.graph import Node
from qlab.lowering import Window, pool_window, window
from qlab.qtypes import Array
from qlab.reductions import Search
from qlab.reductions.tensors import held, rest
from qlab.trace import Index

SLIDING = ("pads", "auto_pad", "strides", "dilations", "ceil_mode")


def one_window(search: Search) -> None:
    """The position of the kernel that makes the element which differs, of the last convolution or pool."""
    for number in reversed(range(len(search.case.graph.nodes))):
        if search.case.graph.nodes[number].op_type in (*CONVOLUTIONS, *POOLS):
            _one_position(search, number)
            _one_group(search, number)
            _one_tap(search, number)


def _one_position(search: Search, number: int) -> None:
    case, node = search.case, search.case.graph.nodes[number]
    shapes = shapes_of(case)
    found = _geometry(node, shapes)
    if found is None or (math.prod(found.output) == 1 and not _slides(node, found)):
        return
    count = math.prod(found.output)
    index = _index(search, node, shapes)
    for candidate, words in _candidates(case, number, found, index):
        if search.offer(candidate):
            before = "1 position" if count == 1 else f"1 of {count:,} positions of the kernel"
            search.record(f"{before} kept{words}")
            return


def _slides(node: Node, found: Window) -> bool:
    """True where there is padding or dilation to write out."""
    return any(found.begins + found.ends) or max(found.dilations) > 1


def _geometry(node: Node, shapes: Any) -> Window | None:
    x = shapes.get(node.input(0), ())
    if len(x) < 3:
        return None
    order = (0, channel_axis(node, len(x)), *spatial_axes(node, len(x)))
    first = tuple(x[i] for i in order)
    attribute: Callable[[str, Any], Any] = node.attributes.get
    try:
        if node.op_type in POOLS:
            return pool_window(attribute, first)
        return window(attribute, first, shapes.get(schema_names(node).get("w", ""), ()))
    except TraceError:
        return None


def _index(search: Search, node: Node, shapes: Any) -> Index:
    """The kernel's position that the differing element shows; the first where the node's result has another shape."""
    made, index = shapes.get(node.outputs[0], ()), search.difference.index
    places = spatial_axes(node, len(made))
    if shapes.get(search.difference.output) != made or len(index) != len(made):
        return (0,) * len(places)
    return tuple(index[i] for i in places)


def _candidates(case: Case, number: int, found: Window, index: Index) -> Iterator[tuple[Case, str]]:
    """What the kernel meets at one position: all of it, the padding written out; else what lies in the image."""
    node = case.graph.nodes[number]
    starts = [o * s - b for o, s, b in zip(index, found.strides, found.begins, strict=True)]
    taps = [
        [start + d * k for k in range(n)]
        for start, d, n in zip(starts, found.dilations, found.kernel, strict=True)
    ]
    outside = any(found.begins + found.ends)
    yield _with_places(case, number, taps, {}), ", the padding written out" if outside else ""
    x = shapes_of(case)[node.input(0)]
    sizes = [x[i] for i in spatial_axes(node, len(x))]
    inside, begins, ends = [], [], []
    for taken, size in zip(taps, sizes, strict=True):
        reach = range(taken[0], taken[-1] + 1)
        inside.append([p for p in reach if 0 <= p < size])
        begins.append(sum(p < 0 for p in reach))
        ends.append(sum(p >= size for p in reach))
    kept = {k: v for k, v in node.attributes.items() if k == "dilations"}
    yield _with_places(case, number, inside, {**kept, "pads": (*begins, *ends)}), ""


def _with_places(
    case: Case, number: int, places: Sequence[Sequence[int]], sliding: dict[str, Any]
) -> Case:
    """The case whose image has only these places, those outside of it at rest; and these attributes of sliding."""
    node = case.graph.nodes[number]
    shapes = shapes_of(case)
    spatial = spatial_axes(node, len(shapes[node.input(0)]))
    axes = axes_of(case, shapes)
    changed: dict[str, Array] = {}
    for own, taken in zip(spatial, places, strict=True):
        for name, position in _sources(axes, case, shapes, node, own):
            value = changed.get(name, held(case, name))
            size = value.shape[position]
            picked = np.take(value, [min(max(p, 0), size - 1) for p in taken], position)
            outside = [i for i, p in enumerate(taken) if not 0 <= p < size]
            picked[(slice(None),) * position + (outside,)] = rest(case, name)
            changed[name] = picked
    attributes = {k: v for k, v in node.attributes.items() if k not in SLIDING} | sliding
    nodes = list(case.graph.nodes)
    nodes[number] = dataclasses.replace(node, attributes=attributes)
    graph = dataclasses.replace(case.graph, nodes=tuple(nodes))
    return with_tensors(dataclasses.replace(case, graph=graph), changed)


def _sources(
    axes: Sequence[Axis], case: Case, shapes: Any, node: Node, own: int
) -> tuple[tuple[str, int], ...]:
    """The inputs and constants whose axis becomes the image's; x itself where it is one."""
    x = node.input(0)
    if case.tensor(x) is not None:
        return ((x, own),)
    for axis in axes:
        shaped = [p for p in axis.places if len(shapes[p[0]]) == len(shapes[x])]
        if shaped and axis.size == shapes[x][own] and (x, own) in axis.all_places:
            return tuple(shaped)
    return ()


def _one_group(search: Search, number: int) -> None:
    case, node = search.case, search.case.graph.nodes[number]
    shapes, group = shapes_of(case), int(node.attributes.get("group", 1))
    x, w = shapes.get(node.input(0), ()), shapes.get(schema_names(node).get("w", ""), ())
    if group < 2 or not w or len(x) < 3:
        return
    channel = channel_axis(node, len(x))
    index = search.difference.index
    output = index[channel] if len(index) == len(x) else 0
    chosen = output // max(w[0] // group, 1)
    per_input, per_output = x[channel] // group, w[0] // group
    candidate = case
    weights = schema_names(node)["w"]
    for tensor, place, count in ((node.input(0), channel, per_input), (weights, 0, per_output)):
        axis = next(
            (a for a in axes_of(candidate, shapes) if (tensor, place) in a.all_places), None
        )
        if axis is None or axis.size != count * group:
            continue  # a depthwise convolution: both are one axis
        candidate = cut(candidate, axis, range(chosen * count, (chosen + 1) * count))
    nodes = list(candidate.graph.nodes)
    attributes = {k: v for k, v in node.attributes.items() if k != "group"}
    nodes[number] = dataclasses.replace(node, attributes=attributes)
    graph = dataclasses.replace(candidate.graph, nodes=tuple(nodes))
    if search.offer(dataclasses.replace(candidate, graph=graph)):
        search.record(f"1 of {group} groups kept")


def _one_tap(search: Search, number: int) -> None:
    """A kernel of 1 × 1 with the same products in the same order: what it slid over are input channels then.

    All products lie along one axis, so that any two of them can be left and become a pair.
    """
    case, node = search.case, search.case.graph.nodes[number]
    shapes = shapes_of(case)
    x, w = shapes.get(node.input(0), ()), shapes.get(schema_names(node).get("w", ""), ())
    if len(w) < 3 or len(x) != len(w) or not is_one_window(node):
        return
    spatial, kernel = spatial_axes(node, len(x)), w[2:]
    taps = math.prod(kernel)
    if taps < 2 or node.attributes.get("group", 1) != 1 or tuple(x[i] for i in spatial) != kernel:
        return
    for kernel_first in (True, False):  # the order in which QLinearConv adds them, and Conv
        if search.offer(_flattened(case, number, shapes, kernel_first=kernel_first)):
            search.record(f"the {taps} taps of the kernel as input channels")
            return


def _flattened(case: Case, number: int, shapes: Any, *, kernel_first: bool) -> Case:
    node = case.graph.nodes[number]
    x, w = node.input(0), schema_names(node)["w"]
    channel = channel_axis(node, len(shapes[x]))
    axes = axes_of(case, shapes)
    changed: dict[str, Array] = {}
    for tensor, own in ((x, channel), (w, 1)):
        reached = {p[0] for a in axes if (tensor, own) in a.all_places for p in a.places}
        for name in sorted(n for n in reached if shapes[n] == shapes[tensor]):
            value = np.moveaxis(changed.get(name, held(case, name)), own, 1)
            ordered = np.moveaxis(value, 1, -1) if kernel_first else value
            flat = ordered.reshape(len(value), -1, *(1,) * (value.ndim - 2))
            changed[name] = np.moveaxis(flat, 1, own)
    kernels = [(number, "kernel_shape", i) for i in range(len(shapes[w]) - 2)]
    return resized(with_tensors(case, changed), kernels, 1)
