"""Axes that belong together: of which inputs and constants an axis must be cut at once, so that a graph stays whole."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.ops import operators
from qlab.qtypes import Array
from qlab.reference import exact_trace
from qlab.trace import Index

CONVOLUTIONS = ("Conv", "FusedConv", "ConvInteger", "QLinearConv")
POOLS = ("MaxPool", "NhwcMaxPool", "AveragePool", "QLinearAveragePool")
GLOBAL_POOLS = ("GlobalAveragePool", "QLinearGlobalAveragePool")
PRODUCTS = ("MatMul", "MatMulInteger", "QLinearMatMul", "MatMulIntegerToFloat", "DynamicQuantizeMatMul")  # fmt: skip
GEMMS = ("Gemm", "FusedGemm", "QGemm")
QUANTIZATIONS = ("QuantizeLinear", "DequantizeLinear")
LAST = {"NhwcMaxPool": 1}  # operators that are channels_last without saying so

Place = tuple[str, int]  # a tensor and one of its axes, counted from 0


SUMMED = ("products of each sum", "input channels")  # labels of axes along which products are added


@dataclasses.dataclass(frozen=True)
class Axis:
    """One size that several tensors share.

    Attributes:
        label: what it counts: ``output channels``, ``columns`` …; ``elements along axis 1`` where nothing tells.
        places: the inputs and constants that have it. shown: the graph outputs that have it.
        all_places: those, and what nodes compute between them.
        attributes: numbers of nodes, names and positions of attributes that hold its size; -1: a single number.
    """

    label: str
    size: int
    places: tuple[Place, ...]
    shown: tuple[Place, ...]
    all_places: tuple[Place, ...]
    attributes: tuple[tuple[int, str, int], ...]


@dataclasses.dataclass(frozen=True)
class Link:
    """Axes that one node makes equal."""

    label: str
    places: tuple[Place, ...]
    attribute: tuple[str, int] | None = None


def shapes_of(case: Case) -> Mapping[str, Index]:
    """The shape of each tensor; of inputs and constants only where nothing here computes the graph."""
    traced = exact_trace(case)
    tensors = traced.tensors if traced is not None else {**case.graph.constants, **case.inputs}
    return {name: tuple(value.shape) for name, value in tensors.items()}


def axes_of(case: Case, shapes: Mapping[str, Index]) -> tuple[Axis, ...]:
    """Every shared size, in the order of the nodes; then those of tensors that no node links."""
    given = {**case.inputs, **case.graph.constants}
    groups: list[tuple[list[Place], list[str], list[tuple[int, str, int]]]] = []
    for number, node in enumerate(case.graph.nodes):
        for link in links(node, shapes):
            joined = [g for g in groups if set(g[0]) & set(link.places)]
            places = list(dict.fromkeys([*(p for g in joined for p in g[0]), *link.places]))
            labels = [*(x for g in joined for x in g[1]), *([link.label] if link.label else [])]
            held = [a for g in joined for a in g[2]]
            if link.attribute is not None:
                held.append((number, *link.attribute))
            groups = [g for g in groups if not any(g is j for j in joined)]
            groups.append((places, labels, held))
    known = {place for group in groups for place in group[0]}
    alone = [(n, i) for n, v in given.items() for i in range(v.ndim) if (n, i) not in known]
    groups += [([place], [], []) for place in alone]
    found = []
    for places, labels, held in groups:
        own = tuple(p for p in places if p[0] in given)
        if not own:
            continue
        name, position = own[0]
        label = labels[0] if labels else f"elements along axis {position}"
        shown = tuple(p for p in places if p[0] in case.graph.outputs)
        found.append(
            Axis(label, given[name].shape[position], own, shown, tuple(places), tuple(held))
        )
    return tuple(found)


def cut(case: Case, axis: Axis, keep: Sequence[int]) -> Case:
    """The case with these entries of an axis only."""
    changed: dict[str, Array] = {}
    for name, position in axis.places:
        value = changed.get(name, case.tensor(name))
        assert value is not None
        changed[name] = np.take(value, list(keep), position)
    return resized(with_tensors(case, changed), axis.attributes, len(keep))


def resized(case: Case, attributes: Sequence[tuple[int, str, int]], size: int) -> Case:
    """The case whose nodes say that an axis has this size."""
    nodes = list(case.graph.nodes)
    for number, name, position in attributes:
        held = nodes[number].attributes.get(name)
        if held is None:
            continue
        new = (
            size
            if position < 0
            else tuple(size if i == position else n for i, n in enumerate(held))
        )
        nodes[number] = dataclasses.replace(
            nodes[number], attributes={**nodes[number].attributes, name: new}
        )
    graph = dataclasses.replace(case.graph, nodes=tuple(nodes))
    return dataclasses.replace(case, graph=graph)


def with_tensors(case: Case, tensors: Mapping[str, Array]) -> Case:
    """The case with several inputs and constants replaced."""
    for name, value in tensors.items():
        case = case.with_tensor(name, value)
    return case


def schema_names(node: Node) -> dict[str, str]:
    """The schema's names of a node's inputs, in lower case, and the tensors that it reads there."""
    return {n: t for n, t in zip(input_names(node), node.inputs, strict=False) if t}


def input_names(node: Node) -> tuple[str, ...]:
    """The schema's names of a node's inputs, in lower case; () where there is no arithmetic for it here."""
    operator = operators().get((node.domain, node.op_type))
    names = operator.names(len(node.inputs)) if operator is not None else ()
    return tuple(name.lower() for name in names)


def channel_axis(node: Node, rank: int) -> int:
    """Where a convolution or pool has its channels."""
    last = node.attributes.get("channels_last", LAST.get(node.op_type, 0))
    return rank - 1 if last else 1


def spatial_axes(node: Node, rank: int) -> tuple[int, ...]:
    """The axes over which a convolution or pool slides."""
    channel = channel_axis(node, rank)
    return tuple(i for i in range(1, rank) if i != channel)


def links(node: Node, shapes: Mapping[str, Index]) -> Iterator[Link]:
    """The axes that a node makes equal. Where no rule is known: those of the same size, counted from the last."""
    rule = next((r for names, r in _RULES if node.op_type in names), _alike)
    for link in rule(node, shapes):
        known = [
            (t, i % len(shapes[t])) for t, i in link.places if t in shapes and _has(shapes[t], i)
        ]
        if known:
            yield dataclasses.replace(link, places=tuple(known))


def _has(shape: Index, axis: int) -> bool:
    return -len(shape) <= axis < len(shape)


def _alike(node: Node, shapes: Mapping[str, Index]) -> Iterator[Link]:
    made = [t for t in node.outputs if t in shapes]
    for result in made[:1]:
        for tensor in (t for t in node.inputs if t in shapes):
            for back in range(1, min(len(shapes[tensor]), len(shapes[result])) + 1):
                if shapes[tensor][-back] == shapes[result][-back] > 1:
                    yield Link("", ((tensor, -back), (result, -back)))


def _quantization(node: Node, shapes: Mapping[str, Index]) -> Iterator[Link]:
    tensor, made = node.input(0), node.outputs[0]
    rank = len(shapes.get(tensor, ()))
    axis, blocks = int(node.attributes.get("axis", 1)), node.attributes.get("block_size", 0)
    for i in range(rank):
        parameters = [
            (p, 0)
            for p in node.inputs[1:]
            if len(shapes.get(p, ())) == 1
            and not blocks
            and i == axis % rank
            and shapes[p][0] == shapes[tensor][i]
        ]
        yield Link("", ((tensor, i), (made, i), *parameters))


def _transpose(node: Node, shapes: Mapping[str, Index]) -> Iterator[Link]:
    tensor, made = node.input(0), node.outputs[0]
    rank = len(shapes.get(tensor, ()))
    order = node.attributes.get("perm") or tuple(reversed(range(rank)))
    for i, origin in enumerate(order):
        yield Link("", ((tensor, int(origin)), (made, i)))


def _convolution(node: Node, shapes: Mapping[str, Index]) -> Iterator[Link]:
    of, y = schema_names(node), node.outputs[0]
    x, w = of.get("x", ""), of.get("w", "")
    if len(shapes.get(x, ())) < 3 or len(shapes.get(w, ())) != len(shapes[x]):
        return
    rank, group = len(shapes[x]), int(node.attributes.get("group", 1))
    channel = channel_axis(node, rank)
    yield Link("images", ((x, 0), (y, 0)))
    outputs = [(w, 0), (y, channel)]
    for name in ("b", "w_scale", "w_zero_point"):
        if shapes.get(of.get(name, ""), ()) == (shapes[w][0],):
            outputs.append((of[name], 0))
    if group == 1:
        yield Link("output channels", tuple(outputs))
        yield Link(SUMMED[1], ((x, channel), (w, 1)))
    elif shapes[w][:2] == (group, 1) and shapes[x][channel] == group:
        yield Link("channels", ((x, channel), *outputs), ("group", -1))
    else:
        yield Link("output channels", tuple(outputs))
    places = spatial_axes(node, rank)
    for i, place in enumerate(places):
        if is_one_window(node) and shapes[x][place] == shapes[w][2 + i]:
            label = f"{_SLID[len(places)][i]} of the kernel" if len(places) < 3 else "kernel planes"
            yield Link(label, ((x, place), (w, 2 + i)), ("kernel_shape", i))


_SLID = {1: ("taps",), 2: ("rows", "columns")}


def is_one_window(node: Node) -> bool:
    """True where nothing is padded or dilated: of a kernel as large as the image there is one position."""
    held = node.attributes
    plain = not any(held.get("pads", ())) and all(d == 1 for d in held.get("dilations", ()))
    return plain and held.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")


def _pool(node: Node, shapes: Mapping[str, Index]) -> Iterator[Link]:
    x, y = node.input(0), node.outputs[0]
    rank = len(shapes.get(x, ()))
    if rank < 3:
        return
    channel = channel_axis(node, rank)
    yield Link("images", ((x, 0), (y, 0)))
    yield Link("channels", ((x, channel), (y, channel)))
    places, kernel = spatial_axes(node, rank), node.attributes.get("kernel_shape", ())
    for i, place in enumerate(places):
        if node.op_type in GLOBAL_POOLS:
            yield Link(f"places along axis {place}", ((x, place),))
        elif is_one_window(node) and kernel[i : i + 1] == (shapes[x][place],):
            yield Link(f"places along axis {place}", ((x, place),), ("kernel_shape", i))


def _product(node: Node, shapes: Mapping[str, Index]) -> Iterator[Link]:
    of, y = schema_names(node), node.outputs[0]
    a, b = of.get("a", ""), of.get("b", "")
    sizes = shapes.get(a, ()), shapes.get(b, ())
    if not all(sizes):
        return
    row, inner = (-1, -2) if node.attributes.get("transA", 0) else (-2, -1)
    outer, column = (-1, -2) if node.attributes.get("transB", 0) else (-2, -1)
    vector = len(sizes[0]) == 1 or len(sizes[1]) == 1
    if len(sizes[1]) == 1:
        outer = -1
    rows, columns = [(a, row), (y, -2)], [(b, column), (y, -1)]
    for name, mine, axis in (("a", rows, -2), ("b", columns, -1)):
        for parameter in (of.get(f"{name}_scale", ""), of.get(f"{name}_zero_point", "")):
            held = shapes.get(parameter, ())
            if held and held[axis if len(held) > 1 else 0] > 1:
                mine.append((parameter, axis if len(held) > 1 else 0))
    for addend in filter(None, (of.get("c"), of.get("bias"))):
        held = shapes.get(addend, ())
        if held and held[-1] > 1:
            columns.append((addend, -1))
        if len(held) > 1 and held[-2] > 1:
            rows.append((addend, -2))
    if not vector:
        yield Link("rows", tuple(rows))
        yield Link("columns", tuple(columns))
    yield Link(SUMMED[0], ((a, inner), (b, outer)))
    for back in range(3, max(map(len, sizes)) + 1):
        stacked = [t for t in (a, b, y) if len(shapes.get(t, ())) >= back and shapes[t][-back] > 1]
        yield Link("matrices", tuple((t, -back) for t in stacked))


_RULES = (
    (CONVOLUTIONS, _convolution),
    ((*POOLS, *GLOBAL_POOLS), _pool),
    ((*PRODUCTS, *GEMMS), _product),
    (QUANTIZATIONS, _quantization),
    (("Transpose",), _transpose),
)


def consumer_names(graph: Graph, tensor: str) -> tuple[str, ...]:
    """The schema's names, in lower case, of the inputs that read a tensor."""
    return tuple(
        name
        for node in graph.consumers(tensor)
        for name, read in schema_names(node).items()
        if read == tensor
    )
