"""Which traces are shown for a chosen element: those of the graph that made it, and the one that was chosen."""

import dataclasses
from collections.abc import Sequence

from qlab.element import ElementNode, element_nodes, graph_of
from qlab.explain import part
from qlab.report import Report, SchemeRun
from qlab.trace import Taps
from qlab.views.address import Pick
from qlab.views.outputs import default_pick, sources
from qlab.views.palette import role_of


def chosen(report: Report, pick: Pick | None) -> tuple[Pick, str]:
    """The element to trace, and a line where the one that was asked for is not there."""
    output, index, source = default_pick(report)
    default = Pick(output, index, source)
    if pick is None:
        return default, ""
    listed = sources(report)
    value = next((s.outputs[pick.output] for s in listed if pick.output in s.outputs), None)
    fits = (
        value is not None
        and len(pick.index) == value.ndim
        and all(i < n for i, n in zip(pick.index, value.shape, strict=True))
    )
    if not fits:
        at = ", ".join(str(i) for i in pick.index)
        return default, f"{pick.output}[{at}] is no element of this case’s outputs"
    known = any(s.label == pick.source for s in listed)
    return dataclasses.replace(pick, source=pick.source if known else ""), ""


def nodes_of(report: Report, pick: Pick) -> tuple[ElementNode, ...]:
    """The nodes that the chosen element comes from, with the chosen scheme among their columns.

    Raises:
        TraceError: nothing can be traced.
    """
    of = graph_of(report, pick.source)
    nodes = element_nodes(report, pick.output, pick.index, of)
    extra = next((r for r in report.scheme_runs if r.label == pick.source and r.trace), None)
    if extra is None or not nodes or extra in nodes[0].runs or extra.of != of:
        return nodes
    return tuple(_with_run(node, extra) for node in nodes)


def _with_run(node: ElementNode, extra: SchemeRun) -> ElementNode:
    """Another column; where the others agree, the parting is that of the added one."""
    exact = next((r.trace for r in node.runs if r.scheme == "exact"), None)
    parting = node.parting
    if parting is None and exact is not None and extra.trace is not None:
        parting = part(exact, extra.trace, (node.tensor, node.index))
    return dataclasses.replace(node, runs=(node.runs[0], extra, *node.runs[1:]), parting=parting)


@dataclasses.dataclass(frozen=True)
class Parted:
    """Where and why the chosen result parts from exact: a node on the way, its step, one sentence."""

    node: ElementNode
    step: str
    why: str


def parted_at(report: Report, pick: Pick, nodes: Sequence[ElementNode]) -> Parted | None:
    """The first node at which the arithmetic parts; else where the rewritten graph came to mean something else."""
    for node in nodes:
        if node.parting is not None:
            return Parted(node, node.parting.step, node.parting.why)
    for compared in report.comparisons:
        if (compared.actual, compared.output) == (pick.source, pick.output) and compared.why:
            tensor, _, step = compared.first_differing_step.rpartition(":")
            found = [n for n in nodes if n.tensor == tensor]
            if found:
                return Parted(found[0], step, compared.why)
    return None


def taps_of(node: ElementNode) -> Taps | None:
    """The products behind an element: those of the scheme in which a pair saturates, else the first's."""
    found = [
        step.taps
        for run in node.runs
        if run.trace is not None
        for step in run.trace.element(node.tensor, node.index)
        if step.taps is not None
    ]
    return next((t for t in found if (t.lost != 0).any()), found[0] if found else None)


def operand_names(node: ElementNode) -> tuple[str, str]:
    """The names of the two operands of a product."""
    inputs = node.runs[0].graph.nodes[node.node].inputs
    codes = [name for name in inputs if name and role_of(name) == "code"]
    return (codes[0], codes[1]) if len(codes) > 1 else ("a", "b")
