"""Fewer nodes: another output, a part replaced by its values, a node left out; what is not read any more goes."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from qlab.arithmetic import to_float
from qlab.axes import input_names
from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import Array
from qlab.reductions import Search
from qlab.reference import exact_trace


def fewer_nodes(search: Search) -> None:
    """The earliest output that still differs, the latest values to begin with, then without each node."""
    _one_output(search)
    _earlier_output(search)
    _later_start(search)
    _without_a_node(search)
    _without_optional_inputs(search)


def pruned(case: Case, graph: Graph, inputs: Mapping[str, Array]) -> Case:
    """A case of the nodes, constants and inputs that the graph's outputs need."""
    needed, nodes = set(graph.outputs), []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            nodes.append(node)
            needed |= set(node.inputs)
    constants = {name: value for name, value in graph.constants.items() if name in needed}
    fed = {name: value for name, value in inputs.items() if name in needed}
    graph = dataclasses.replace(
        graph, nodes=tuple(reversed(nodes)), constants=constants, inputs=tuple(fed)
    )
    return dataclasses.replace(case, graph=graph, inputs=fed, expected={})


def _one_output(search: Search) -> None:
    case, output = search.case, search.difference.output
    if len(case.graph.outputs) > 1 and output:
        left = len(case.graph.outputs)
        search.offer(_with_output(case, output))
        search.record(f"1 of {left} outputs kept: {output}")


def _with_output(case: Case, output: str) -> Case:
    return pruned(case, dataclasses.replace(case.graph, outputs=(output,)), case.inputs)


def _earlier_output(search: Search) -> None:
    case = search.case
    for node in case.graph.nodes:
        for tensor in node.outputs:
            if not tensor or (tensor,) == case.graph.outputs:
                continue
            if search.offer(_with_output(case, tensor)):
                search.record(f"{tensor} is the output: {_fewer(case, search.case)}")
                return


def _later_start(search: Search) -> None:
    """The latest tensors whose values can be given instead of the nodes that make them.

    Not those that a DequantizeLinear makes: without it a group is no quantized one, and an engine may quantize the
    reals anew in its own way, which is another difference that looks the same.
    """
    refused: set[str] = set()
    while True:
        case = search.case
        traced = exact_trace(case)
        if traced is None:
            return
        nodes = [n for n in reversed(case.graph.nodes) if n.op_type != "DequantizeLinear"]
        made = [t for n in nodes for t in n.outputs if t in traced.tensors]
        for tensor in made:
            if tensor in refused or tensor in case.graph.outputs:
                continue
            refused.add(tensor)
            value = traced.tensors[tensor]
            value = value if value.dtype != object else to_float(value, np.float32)
            if search.offer(_given(case, tensor, value)):
                search.record(f"{tensor} is given by its values: {_fewer(case, search.case)}")
                break
        else:
            return


def _given(case: Case, tensor: str, value: Array) -> Case:
    nodes = tuple(n for n in case.graph.nodes if tensor not in n.outputs)
    graph = dataclasses.replace(case.graph, nodes=nodes)
    if _is_constant(case.graph, tensor):
        graph = dataclasses.replace(graph, constants={**graph.constants, tensor: value})
        return pruned(case, graph, case.inputs)
    return pruned(case, graph, {**case.inputs, tensor: value})


def _is_constant(graph: Graph, tensor: str) -> bool:
    """True where a tensor is computed of constants only."""
    node = graph.producer(tensor)
    if node is None:
        return tensor in graph.constants
    return all(_is_constant(graph, name) for name in node.inputs if name)


def _without_a_node(search: Search) -> None:
    """A node's first input goes where its output went."""
    position = 0
    while position < len(search.case.graph.nodes):
        case = search.case
        node = case.graph.nodes[position]
        if len(case.graph.nodes) > 1 and node.input(0) and search.offer(_bypassed(case, node)):
            search.record(f"without {node.qualified_name}")
        else:
            position += 1


def _bypassed(case: Case, node: Node) -> Case:
    instead = {node.outputs[0]: node.input(0)}
    nodes = tuple(
        dataclasses.replace(n, inputs=tuple(instead.get(t, t) for t in n.inputs))
        for n in case.graph.nodes
        if n is not node
    )
    outputs = tuple(instead.get(t, t) for t in case.graph.outputs)
    graph = dataclasses.replace(case.graph, nodes=nodes, outputs=outputs)
    return pruned(case, graph, case.inputs)


def _without_optional_inputs(search: Search) -> None:
    """An addend or bound left out. Zero points stay: they are made round later."""
    for number in range(len(search.case.graph.nodes)):
        names = input_names(search.case.graph.nodes[number])
        for place in reversed(range(1, len(names))):
            node = search.case.graph.nodes[number]
            if not node.input(place) or names[place].endswith(("scale", "zero_point")):
                continue
            if search.offer(_without_input(search.case, number, place)):
                search.record(f"without the input {names[place]} of {node.qualified_name}")


def _without_input(case: Case, number: int, place: int) -> Case:
    nodes = list(case.graph.nodes)
    inputs = ["" if i == place else name for i, name in enumerate(nodes[number].inputs)]
    while not inputs[-1]:
        inputs.pop()
    nodes[number] = dataclasses.replace(nodes[number], inputs=tuple(inputs))
    return pruned(case, dataclasses.replace(case.graph, nodes=tuple(nodes)), case.inputs)


def _fewer(before: Case, after: Case) -> str:
    return f"{len(after.graph.nodes)} of {len(before.graph.nodes)} nodes"
