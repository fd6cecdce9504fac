"""A graph as a column of nodes in the order in which they run, with constants and their values."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qlab.graph import Graph, Node
from qlab.notation import show
from qlab.qtypes import Array, dtype_name
from qlab.views.markup import sign, text
from qlab.views.palette import ROLES
from qlab.views.roles import tensor_role

SHOWN = 4  # entries of a constant


def graph_html(graph: Graph, inputs: Mapping[str, Array], given: Graph | None = None) -> str:
    """Nodes from top to bottom; an arrow leads from each to the next.

    Args:
        given: the graph before the engine rewrote it: nodes that it does not have are marked as new.
    """
    known = {(n.op_type, n.domain, n.outputs) for n in given.nodes} if given else None
    fed = "".join(_tensor_row(graph, name, inputs[name]) for name in graph.inputs if name in inputs)
    nodes = "".join(
        _node(
            graph,
            node,
            known is not None and (node.op_type, node.domain, node.outputs) not in known,
        )
        for node in graph.nodes
    )
    outputs = ", ".join(text(name) for name in graph.outputs)
    return (
        f'<div class="q-graph"><div class="io">in<table>{fed}</table></div>{nodes}'
        f'<div class="io">out <b>{outputs}</b></div></div>'
    )


def _node(graph: Graph, node: Node, new: bool) -> str:
    badge = '<span class="new">+ rewritten</span>' if new else ""
    domain = f"<small>{text(node.domain)}</small>" if node.domain else ""
    attributes = ", ".join(f"{text(k)} = {text(attribute(v))}" for k, v in node.attributes.items())
    listed = f'<div class="attributes">{attributes}</div>' if attributes else ""
    rows = "".join(_input_row(graph, name) for name in node.inputs if name)
    made = ", ".join(f"<b>{text(name)}</b>" for name in node.outputs if name)
    css = "node new" if new else "node"
    return (
        f'<div class="{css}"><div class="op">{text(node.op_type)} {domain} {badge}</div>{listed}'
        f'<table>{rows}</table><div class="made">→ {made}</div></div>'
    )


def _input_row(graph: Graph, name: str) -> str:
    if name in graph.constants:
        return _tensor_row(graph, name, graph.constants[name])
    return f'<tr><th scope="row"><b>{text(name)}</b></th><td></td></tr>'


def _tensor_row(graph: Graph, name: str, value: Array) -> str:
    role = tensor_role(graph, name, {name: value})
    shape = "" if value.ndim == 0 else f"[{','.join(str(n) for n in value.shape)}]"
    return (
        f'<tr><th scope="row">{sign(ROLES[role].sign, "c-" + role)} {text(name)}</th>'
        f'<td class="num">{text(values(value))} <small>{text(dtype_name(value.dtype))}{shape}</small></td></tr>'
    )


def values(value: Array) -> str:
    """The first entries of a tensor: ``0.01, 0.02, 0.03``."""
    flat = np.asarray(value).reshape(-1)
    listed = ", ".join(show(entry) for entry in flat[:SHOWN])
    return (listed or "empty") + (", …" if flat.size > SHOWN else "")


def attribute(value: Any) -> str:
    """An attribute's value: ``[1, 1]``, ``NOTSET``."""
    if isinstance(value, np.ndarray):
        return values(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(attribute(entry) for entry in value) + "]"
    return show(value) if isinstance(value, (int, float)) else str(value)
