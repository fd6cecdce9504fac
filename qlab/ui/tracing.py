"""The trace of the chosen element, node by node, and the graphs."""

from collections.abc import Sequence

import streamlit as st

from qlab.element import ElementNode, graph_of
from qlab.errors import CaseError, TraceError
from qlab.graph import same_graph
from qlab.notation import VIEWS
from qlab.report import Report
from qlab.ui import parts
from qlab.ui.state import Explored
from qlab.views import taps as taps_views
from qlab.views.address import Pick
from qlab.views.fields import parse_index
from qlab.views.graph_diagram import graph_html
from qlab.views.markup import index_text, text
from qlab.views.outputs import sources
from qlab.views.trace_table import trace_html, trace_rows
from qlab.views.tracing import Parted, nodes_of, operand_names, parted_at, taps_of


def nodes_or_reason(report: Report, pick: Pick) -> tuple[tuple[ElementNode, ...], str]:
    """The nodes on the way to the chosen element, or () and why there are none."""
    try:
        return nodes_of(report, pick), ""
    except TraceError as error:
        return (), str(error)


def trace(
    state: Explored, report: Report, pick: Pick, nodes: Sequence[ElementNode], reason: str
) -> None:
    """Heading, the field for the index, then every node on the way to the element."""
    of = graph_of(report, pick.source)
    where = (
        "the graph as given"
        if of == "given"
        else ("the fused form" if of == "fused" else f"the graph that ONNX Runtime ran at {of}")
    )
    at = index_text(pick.output, pick.index)
    with st.container(horizontal=True, key="tracehead", vertical_alignment="center"):
        st.html(f'<h2 class="q-h2">Trace of {text(at)} <small>{text(where)}</small></h2>')
        _index_field(state, report, pick)
        view = st.segmented_control(
            "Numbers",
            VIEWS,
            default="decimal",
            key="view",
            label_visibility="collapsed",
            required=True,
        )
    if not nodes:
        st.html(f'<p class="q-hint">Nothing to trace: {text(reason)}.</p>')
        return
    parted = parted_at(report, pick, nodes)
    if len(nodes) == 1:
        _node(nodes[0], parted, view or "decimal")
        return
    opened = parted.node if parted else _first_with_taps(nodes)
    for node in nodes:
        mark = "  ▶ they part here" if parted is not None and node is parted.node else ""
        label = f"{node.op_type} → {index_text(node.tensor, node.index)}{mark}"
        with st.expander(label.replace("[", "\\["), expanded=node is opened):
            _node(node, parted, view or "decimal")


def _first_with_taps(nodes: Sequence[ElementNode]) -> ElementNode:
    return next((n for n in nodes if taps_of(n) is not None), nodes[-1])


def _index_field(state: Explored, report: Report, pick: Pick) -> None:
    shape = next(
        (s.outputs[pick.output].shape for s in sources(report) if pick.output in s.outputs), ()
    )
    if not shape:
        return

    def choose() -> None:
        try:
            index = parse_index(st.session_state["index"], shape)
        except CaseError as error:
            st.session_state["index_error"] = str(error)
        else:
            st.session_state["index_error"] = ""
            state.pick(pick.output, index, pick.source)

    if not st.session_state.get("index_error"):
        st.session_state["index"] = ",".join(str(i) for i in pick.index)
    st.text_input(
        "Element to trace", key="index", on_change=choose, width=120, label_visibility="collapsed"
    )
    if st.session_state.get("index_error"):
        st.html(
            f'<span class="t-differs" role="status">{text(st.session_state["index_error"])}</span>'
        )


def _node(node: ElementNode, parted: Parted | None, view: str) -> None:
    runs = [run for run in node.runs if run.trace is not None]
    here = parted if parted is not None and parted.node is node else None
    if here is not None and here.why:
        st.html(f'<p class="q-hint">They part at <b>{text(here.step)}</b>: {text(here.why)}.</p>')
    found = taps_of(node)
    if found is not None:
        with st.expander(
            f"accumulator: {taps_views.summary(found)}", expanded=len(found.products) <= 16
        ):
            st.html(taps_views.taps_html(found, operand_names(node), view))
    rows = trace_rows(runs, node.tensor, node.index, here.step if here else "")
    caption = f"Steps of {index_text(node.tensor, node.index)} in each scheme"
    parts.markup(trace_html(runs, rows, view, caption), f"steps-{node.tensor}")


def graphs(report: Report) -> None:
    """The graph as given, and as ONNX Runtime ran it at each level; equal ones once."""
    st.html('<h2 class="q-h2">Graph</h2>')
    given = report.case.graph
    shown = [(["as given"], given)]
    for run in report.ort_runs:
        if run.graph is None:
            continue
        same = next((names for names, graph in shown if same_graph(graph, run.graph)), None)
        if same is not None:
            same.append(f"ran at {run.config.level}")
        else:
            shown.append(([f"ran at {run.config.level}"], run.graph))
    columns = "".join(
        f"<section><h3>{text(', '.join(names))}</h3>"
        f"{graph_html(graph, report.case.inputs, None if graph is given else given)}</section>"
        for names, graph in shown
    )
    st.html(f'<div class="q-graphs">{columns}</div>')
