"""The matrix as it is drawn: progress, answer, table, one chosen cell, the pass, other CPUs; and what was recorded."""

from collections.abc import Callable

import streamlit as st

from qlab.engines.pool import emulated_cpus
from qlab.engines.results import EngineRun
from qlab.matrix import Cell
from qlab.recorded import recorded_cells
from qlab.runtimes import arm64, store
from qlab.summary import Summary, summary
from qlab.ui import parts
from qlab.ui.matrix_job import JOB, MatrixJob
from qlab.ui.state import current, leave
from qlab.views.address import QUANTPRECISION, Settings
from qlab.views.graph_diagram import graph_html
from qlab.views.markup import plain, text
from qlab.views.versions import places
from qlab.views.versions_page import (
    answer_html,
    cell_html,
    difference_text,
    predictions_html,
    recorded_data,
    table_data,
)

LIVE, RECORDED = "matrix_table", "recorded_table"
_PICK, _OTHER = "matrix_pick", "matrix_other"
Pick = tuple[str, str, int]  # the table's key, the release, the column's position


def drawn(job: MatrixJob, run_live: Callable[[MatrixJob, Summary], None]) -> None:
    """All that is below the settings; drawn again and again while the matrix is filled."""
    if st.session_state[JOB] is not job:
        st.rerun()  # a button of this fragment has started another
    if job.running:
        came = sum(job.cell(v, c) is not None for v in job.rows for c in job.columns)
        every = len(job.rows) * len(job.columns)
        with st.container(horizontal=True, vertical_alignment="center"):
            done = came / every if every else 0.0
            st.progress(done, f"{came} of {every} · {plain(job.message)}")
            st.button("Stop", on_click=job.stop)
    elif st.session_state.get("matrix_seen") is not job:
        st.session_state["matrix_seen"] = job
        st.rerun()  # once more without the clock
    if job.error:
        st.error(plain(job.error))
    if job.found is not None:
        st.html(answer_html(job.found))
    data = table_data(job.versions, job.columns, job.cell, job.found, _picked(LIVE))
    parts.matrix(data, _on_pick(LIVE), LIVE)
    st.code(job.command, language=None, wrap_lines=True)
    _recorded(job, run_live)
    _chosen_cell(job)
    if job.found is not None:
        _passes(job)
        _cpus(job)


def forget_pick() -> None:
    """No cell is chosen any more."""
    st.session_state.pop(_PICK, None)


def picked_cell(job: MatrixJob) -> Cell | None:
    """The chosen cell, run now or recorded; None where none is."""
    pick: Pick | None = st.session_state.get(_PICK)
    if pick is None:
        return None
    table, version, position = pick
    if table == LIVE:
        return job.cell(version, job.columns[position]) if position < len(job.columns) else None
    found = summary(recorded_cells(job.case))
    row = next((k for k, versions in enumerate(found.rows) if versions[-1] == version), None)
    return found.cells[row][position] if row is not None and position < len(found.columns) else None


def _picked(table: str) -> tuple[str, int] | None:
    pick: Pick | None = st.session_state.get(_PICK)
    return pick[1:] if pick is not None and pick[0] == table else None


def _on_pick(table: str) -> Callable[[], None]:
    def pick() -> None:
        event = parts.pick_event(table)
        if event is not None:
            st.session_state[_PICK] = (table, str(event["version"]), int(event["column"]))

    return pick


def _recorded(job: MatrixJob, run_live: Callable[[MatrixJob, Summary], None]) -> None:
    cells = recorded_cells(job.case)
    if not cells:
        return
    found = summary(cells)
    with st.container(horizontal=True, vertical_alignment="center", key="recorded"):
        st.html('<h2 class="q-h2">Recorded earlier <small>not run now</small></h2>')
        install = store.may_install()
        st.button(
            "Run these here",
            on_click=run_live,
            args=(job, found),
            disabled=job.running,
            help="The oldest and the newest release of each row, at every level"
            + ("; what is missing is installed." if install else "; those that are here."),
        )
    parts.matrix(recorded_data(found, _picked(RECORDED)), _on_pick(RECORDED), RECORDED)
    st.html(f'<p class="q-hint">{text(places(cells))}</p>')


def _chosen_cell(job: MatrixJob) -> None:
    cell = picked_cell(job)
    if cell is None:
        st.html('<p class="q-hint">Choose a cell to see its outputs and its graph.</p>')
        return
    st.html('<h2 class="q-h2">Chosen cell</h2>' + cell_html(cell))
    if not cell.recorded and cell.run is not None:
        _open_in_explore(cell)
    live = [job.cell(v, column) for v in job.versions for column in job.columns]
    kept = [c for row in summary(recorded_cells(job.case)).cells for c in row]
    others = {_name(c): c for c in (*live, *kept) if c is not None and c is not cell}
    chosen = st.selectbox(
        "Compare with", tuple(others), None, key=_OTHER, placeholder="another cell"
    )
    other = others.get(chosen or "")
    if other is not None:
        said = difference_text(cell, other, job.matrix.reference)
        st.html(f"<p>{text(said)}</p>{cell_html(other)}")
    shown = [(f"ran on {_name(c)}", c.run) for c in (cell, other) if c is not None]
    _graphs(job, [(name, run) for name, run in shown if run is not None])


def _open_in_explore(cell: Cell) -> None:
    """Trace, reproducer and report of this very run are on the page Explore."""
    if st.button("Trace and reproduce it in Explore"):
        state = current()
        levels = dict.fromkeys(("ORT_DISABLE_ALL", cell.column.level))
        installed = cell.version == store.installed_version()
        quantprecision = dict(cell.column.entries).get(QUANTPRECISION) == "1"
        version = "" if installed else cell.version
        state.set(Settings(tuple(levels), cell.column.cpu, quantprecision, version))
        leave()  # the navigation drops the query: what the session holds is meant
        st.switch_page("pages/explore.py")


def _name(cell: Cell) -> str:
    return f"{cell.version} {cell.column.label}{', recorded' if cell.recorded else ''}"


def _graphs(job: MatrixJob, shown: list[tuple[str, EngineRun]]) -> None:
    sections = "".join(
        f"<section><h3>{text(name)}</h3>{graph_html(run.graph, job.case.inputs, job.case.graph)}</section>"
        for name, run in shown
        if run.graph is not None
    )
    st.html(f'<div class="q-graphs">{sections}</div>')


def _passes(job: MatrixJob) -> None:
    found = job.found.passes if job.found is not None else None
    if found is None:
        return
    level = found.optimized.config.level
    st.html(
        f'<h2 class="q-h2">Optimizer pass <small>{text(found.optimized.version)} {text(level)}</small></h2>'
        f"<p>{text(found.sentence)}</p>"
        f'<p class="q-hint">By ONNX Runtime’s log these changed the graph: {text(", ".join(found.changed) or "none named")}</p>'
    )
    shown = [("as it ran", found.optimized)]
    if found.restored is not None:
        shown.append((f"without {', '.join(found.disabled)}", found.restored))
    _graphs(job, shown)


def _cpus(job: MatrixJob) -> None:
    found = job.found
    if found is None or not found.predicted:
        return
    st.html(
        '<h2 class="q-h2">Other CPUs <small>predicted by ort_cpu for '
        f"{text(found.predicted[0].of)}, where it predicts the run on this CPU code for code; not run</small></h2>{predictions_html(found)}"
    )
    lacking = []
    if not {"avx2", "sse"} & set(emulated_cpus()):
        lacking.append("AVX2 and SSE-only CPUs are emulated by qemu-user (apt install qemu-user)")
    if "arm64" not in emulated_cpus():
        why = arm64.missing()
        how = why or f"python -m qlab runtimes add {store.installed_version()} --cpu arm64"
        lacking.append(f"ARM64: {how}")
    if lacking:
        st.html(f'<p class="q-hint">To run it there: {text("; ".join(lacking))}.</p>')
