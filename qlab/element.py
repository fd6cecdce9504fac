"""One element of a result, followed back through the nodes that made it, in every scheme side by side."""

import dataclasses

import numpy as np

from qlab.errors import TraceError
from qlab.explain import Parting, part
from qlab.graph import Graph, Node, same_graph
from qlab.report import Report, SchemeRun, run_label
from qlab.trace import Index, Trace

SAME_INDEX = ("QuantizeLinear", "DequantizeLinear", "Relu", "Clip", "Identity")
RESHAPING = ("Reshape", "Flatten")


@dataclasses.dataclass(frozen=True)
class ElementNode:
    """One node on the way to the element.

    Attributes:
        node: index in the graph. tensor, index: the node's result that the element comes from.
        runs: the schemes that computed it, exact first.
        parting: where exact and ONNX Runtime's arithmetic part at this node; None where they do not.
    """

    node: int
    op_type: str
    tensor: str
    index: Index
    runs: tuple[SchemeRun, ...]
    parting: Parting | None


def graph_runs(report: Report, of: str = "given") -> tuple[SchemeRun, ...]:
    """The scheme runs of one graph, exact first: all four of the given one, exact and ort_cpu of one that ran.

    Args:
        of: ``given``, a level, or ``fused``.
    """
    names = ("exact", "ort_cpu", "float32", "float64")
    here = next((r.cpu for r in report.ort_runs if r.cpu), None)
    found = [report.scheme(name, of, here if name == "ort_cpu" else None) for name in names]
    return tuple(run for run in found if run is not None and run.trace is not None)


def graph_of(report: Report, label: str) -> str:
    """Which graph made a result: ``given``, or a level whose graph is another one.

    Args:
        label: of an engine or scheme run, as the comparisons name it.
    """
    for run in report.ort_runs:
        if run_label(run) == label and run.graph is not None:
            return "given" if same_graph(run.graph, report.case.graph) else run.config.level
    return next((run.of for run in report.scheme_runs if run.label == label), "given")


def element_nodes(
    report: Report, tensor: str, index: Index, of: str = "given"
) -> tuple[ElementNode, ...]:
    """The nodes that an element comes from, first to last, each with its steps in ``graph_runs(report, of)``.

    Raises:
        TraceError: no scheme computed that graph, or there is no such tensor or element.
    """
    runs = graph_runs(report, of)
    if not runs:
        reasons = [r.message for r in report.scheme_runs if r.of == of and r.message]
        raise TraceError(
            f"no scheme computes this graph: {reasons[0] if reasons else 'there is none'}"
        )
    first = runs[0].trace
    assert first is not None
    first.element(tensor, index)
    exact = next((r.trace for r in runs if r.scheme == "exact"), None)
    ort = next((r.trace for r in runs if r.scheme == "ort_cpu"), None)
    return tuple(
        ElementNode(
            number,
            runs[0].graph.nodes[number].op_type,
            name,
            at,
            runs,
            part(exact, ort, (name, at)) if exact is not None and ort is not None else None,
        )
        for number, name, at in way(runs[0].graph, first, tensor, index)
    )


def way(
    graph: Graph, trace: Trace, tensor: str, index: Index
) -> tuple[tuple[int, str, Index], ...]:
    """(node, result, element) from the first node that has only this one way on to the element, to its own.

    It ends where a node takes many elements, or two computed operands.
    """
    found: list[tuple[int, str, Index]] = []
    while (node := graph.producer(tensor)) is not None:
        found.append((graph.nodes.index(node), tensor, index))
        before = _before(node, trace, index)
        if before is None:
            break
        tensor, index = before
    return tuple(reversed(found))


def _before(node: Node, trace: Trace, index: Index) -> tuple[str, Index] | None:
    """The one element of the first input that becomes this one; None where more than one do."""
    source = node.inputs[0] if node.inputs else ""
    if source not in trace.tensors:
        return None
    shape = trace.tensors[source].shape
    if node.op_type in SAME_INDEX:
        return source, index
    if node.op_type == "Transpose":
        order = node.attributes.get("perm", tuple(reversed(range(len(shape)))))
        return source, tuple(index[list(order).index(axis)] for axis in range(len(shape)))
    if node.op_type in RESHAPING:
        after = trace.tensors[node.outputs[0]].shape
        flat = int(np.ravel_multi_index(index, after)) if after else 0
        return source, tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()
    return None
