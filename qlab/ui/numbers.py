"""Inputs and parameters to edit, and the outputs of everyone side by side."""

import functools
from collections.abc import Sequence
from typing import Any

import streamlit as st

from qlab.element import ElementNode
from qlab.forms import to_qdq, to_qoperator
from qlab.report import Report
from qlab.signs import TypeGroup, switchable_types, with_other_sign
from qlab.ui import parts
from qlab.ui.state import Explored, on_edit, on_pick, on_table
from qlab.views.address import Pick
from qlab.views.editing import errors_of, form, table_shape, table_texts
from qlab.views.heat_map import difference_map
from qlab.views.markup import index_text, text
from qlab.views.number_line import number_line, points
from qlab.views.outputs import table_data
from qlab.views.tracing import parted_at

TABLE_ENTRIES = 16_384  # of a tensor that is opened as a table


def fields(state: Explored) -> None:
    """The editor, the table of a large tensor, and the other forms of the case."""
    st.html('<h2 class="q-h2">Inputs and parameters</h2>')
    data = form(state.address.case, state.rejected)
    parts.editor({**data, "answered": state.answered}, on_edit)
    if state.opened:
        _table(state)
    _forms(state)


def _table(state: Explored) -> None:
    name = state.opened
    value = state.address.case.tensor(name)
    if value is None:
        return
    rows, columns = table_shape(value.shape)
    st.html(f'<h3 class="q-h2">{text(name)} <small>{rows:,} × {columns:,}</small></h3>')
    if value.size > TABLE_ENTRIES:
        st.html(
            f'<p class="q-hint">More than {TABLE_ENTRIES:,} entries: edit them in the case’s JSON file.</p>'
        )
        return
    key = f"table-{name}"
    kept = st.session_state.get("table")
    if kept is None or kept[0] != name or key not in st.session_state:
        # The table's own edits are kept by the widget as long as the data beneath stay the same.
        kept = (name, table_texts(value))
        st.session_state["table"] = kept
    labels, texts = kept[1]
    data = {"": labels, **{str(k): [row[k] for row in texts] for k in range(columns)}}
    config: dict[str, Any] = {
        str(k): st.column_config.TextColumn(str(k), alignment="right") for k in range(columns)
    }
    config[""] = st.column_config.TextColumn("", disabled=True, pinned=True)
    st.data_editor(
        data,
        key=key,
        hide_index=True,
        column_config=config,
        on_change=functools.partial(on_table, name, columns, key),
        height=320,
    )
    for line in errors_of(name, value, state.rejected)[:5]:
        st.html(f'<p class="q-hint t-differs" role="status">✕ {text(line)}</p>')
    st.button("Close the table", on_click=_close, args=(state,))


def _close(state: Explored) -> None:
    state.opened = ""


def _forms(state: Explored) -> None:
    case = state.address.case
    groups = switchable_types(case)
    fused = to_qoperator(case)
    other = fused or to_qdq(case)
    if not groups and other is None:
        return
    with st.popover("Change types and form"):
        for group in groups:
            st.button(
                f"{', '.join(group.tensors)}: {group.dtype} → {group.other}",
                key=f"sign {group.tensors[0]}",
                help="Codes and zero points move together, so no real value changes.",
                on_click=_switch,
                args=(state, group),
            )
        if other is not None:
            st.button(
                "Fuse to the quantized operator" if fused is not None else "Unfold to a QDQ group",
                key="form",
                help="The same codes, scales and zero points in the other form. Fusing drops a bias's own scale.",
                on_click=state.rewrite,
                args=(other,),
            )


def _switch(state: Explored, group: TypeGroup) -> None:
    state.rewrite(with_other_sign(state.address.case, group))


def outputs(report: Report, pick: Pick) -> None:
    """One table or grid for each graph output; a click or Enter chooses the element to trace."""
    for name in report.case.graph.outputs:
        chosen = pick.output == name
        data = table_data(
            report, name, pick.index if chosen else (-1,), pick.source if chosen else ""
        )
        shape = f" [{', '.join(str(n) for n in data['shape'])}]" if data["shape"] else ""
        st.html(
            f'<h2 class="q-h2">Output {text(name)} <small>{text(data["dtype"])}{shape}</small></h2>'
        )
        key = f"output-{name}"
        parts.outputs(data, functools.partial(on_pick, name, key), key)
        figure = difference_map(report, name, pick.source) if data["mode"] == "list" else None
        if figure is not None:
            st.plotly_chart(figure, key=f"map-{name}", alt=f"Map of the differences of {name}")


def rounding(report: Report, pick: Pick, nodes: Sequence[ElementNode]) -> None:
    """Where every scheme's value lies before it is rounded, at the node at which they part, else at the last."""
    parted = parted_at(report, pick, nodes)
    for node in (*((parted.node,) if parted else ()), *reversed(nodes)):
        line = number_line(points(node.runs, node.tensor, node.index))
        if line:
            at = index_text(node.tensor, node.index)
            st.html(
                f'<h2 class="q-h2">Rounding of {text(at)} <small>each value before it is rounded</small></h2>{line}'
            )
            return
