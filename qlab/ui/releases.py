"""The page Versions: the matrix of one case, its search, and one chosen cell."""

import streamlit as st

from qlab.bisection import PREDICATES
from qlab.engines.pool import emulated_cpus
from qlab.engines.results import LEVELS
from qlab.errors import QlabError
from qlab.matrix import Cell, columns
from qlab.runtimes import arm64, store, versions
from qlab.ui import parts
from qlab.ui.matrix_job import MatrixJob
from qlab.ui.state import Explored
from qlab.views.address import QUANTPRECISION, gallery_name
from qlab.views.graph_diagram import graph_html
from qlab.views.markup import source_link, text
from qlab.views.verdict import signed_numbers
from qlab.views.versions_page import (
    answer_html,
    cell_html,
    difference_text,
    predictions_html,
    table_data,
)

ROWS = {
    "installed": "all that are here",
    "latest": "the newest of the last five minor releases",
    "around": "around a release",
}
_JOB, _PICK, _OTHER = "matrix_job", "matrix_pick", "matrix_other"


def releases(state: Explored) -> None:
    """Title, settings, then the matrix as it comes."""
    case = state.address.case
    heading = signed_numbers(case.title or "A case without a title")
    st.html(
        f'<div class="q-title"><h1>{text(heading)}</h1><span class="q-source">{source_link(case.source)}</span></div>'
    )
    job: MatrixJob | None = st.session_state.get(_JOB)
    if job is None or job.case is not case:
        if job is not None:
            job.stop()
        # What is here is run at once; nothing is installed unasked.
        job = MatrixJob(case, store.versions_here(), columns())
        st.session_state[_JOB] = job
        st.session_state.pop(_PICK, None)
        job.wait(1.0)
    _settings(state)
    job = st.session_state[_JOB]
    st.fragment(_drawn, run_every=0.5 if job.running else None)(job)


def _settings(state: Explored) -> None:
    may = store.may_install()
    with st.form("matrix", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            preset = st.selectbox(
                "Releases", tuple(ROWS), 1 if may else 0, format_func=ROWS.__getitem__
            )
            release = st.text_input("Around", "1.27.0", width=110)
            cpus = st.multiselect("Emulated CPUs too", emulated_cpus())
            predicate = st.selectbox(
                "Search for", tuple(PREDICATES), format_func=PREDICATES.__getitem__
            )
        with st.container(horizontal=True, vertical_alignment="center"):
            quantprecision = st.checkbox(f"{QUANTPRECISION} too")
            install = st.checkbox(
                "Install what is missing (110 to 140 MB a release)", may, disabled=not may
            )
            search = st.checkbox("Search the release at which it changed", True)
            started = st.form_submit_button("Run")
    if not may:
        st.html('<p class="q-hint">Installing releases is turned off on this server.</p>')
    if not started:
        return
    try:
        rows, searched = _chosen(preset, release, install=install)
    except QlabError as error:
        st.error(str(error))
        return
    st.session_state[_JOB].stop()
    entries = [{}, {QUANTPRECISION: "1"}] if quantprecision else [{}]
    st.session_state[_JOB] = MatrixJob(
        state.address.case,
        rows,
        columns(LEVELS, cpus=("this", *cpus), entries=entries),
        searched=searched if search else (),
        predicate=predicate,
        install=install,
    )


def _chosen(preset: str, release: str, *, install: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rows, and the releases that are searched. Raises QlabError."""
    here = store.versions_here()
    rows = {
        "installed": lambda: here,
        "latest": lambda: versions.newest_of_minors(also=here),
        "around": lambda: versions.around(versions.checked(release), also=here),
    }[preset]()
    newest = max((*versions.RELEASES, *here), key=versions.key)
    between = versions.between(versions.OLDEST_SEARCHED, newest, here)
    return rows, between if install else here


def _drawn(job: MatrixJob) -> None:
    if job.running:
        came = sum(job.cell(v, c) is not None for v in job.rows for c in job.columns)
        every = len(job.rows) * len(job.columns)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(
                came / every if every else 0.0, f"{came} of {every} · {_plain(job.message)}"
            )
            st.button("Stop", on_click=job.stop)
    elif st.session_state.get("matrix_seen") is not job:
        st.session_state["matrix_seen"] = job
        st.rerun()  # once more without the clock
    if job.error:
        st.error(_plain(job.error))
    if job.found is not None:
        st.html(answer_html(job.found))
    picked: tuple[str, int] | None = st.session_state.get(_PICK)
    parts.matrix(table_data(job.versions, job.columns, job.cell, job.found, picked), _on_pick)
    name = gallery_name(job.case) or "case.json"
    st.code(f"python -m qlab versions {name}", language=None, wrap_lines=True)
    _chosen_cell(job, picked)
    if job.found is not None:
        _passes(job)
        _cpus(job)


def _plain(words: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\`*_[]$<>~#:" else letter for letter in words)


def _on_pick() -> None:
    event = parts.pick_event("matrix_table")
    if event is not None:
        st.session_state[_PICK] = (str(event["version"]), int(event["column"]))


def _chosen_cell(job: MatrixJob, picked: tuple[str, int] | None) -> None:
    if picked is None or picked[1] >= len(job.columns):
        st.html('<p class="q-hint">Choose a cell to see its outputs and its graph.</p>')
        return
    cell = job.cell(picked[0], job.columns[picked[1]])
    if cell is None:
        return
    st.html('<h2 class="q-h2">Chosen cell</h2>' + cell_html(cell))
    came = {
        f"{c.version} {c.column.label}": c
        for v in job.versions
        for column in job.columns
        if (c := job.cell(v, column)) is not None and c is not cell
    }
    other: Cell | None = came.get(
        st.selectbox("Compare with", tuple(came), None, key=_OTHER, placeholder="another cell")
        or ""
    )
    if other is not None:
        st.html(f"<p>{text(difference_text(cell, other))}</p>{cell_html(other)}")
    graphs = [c for c in (cell, other) if c is not None and c.run is not None and c.run.graph]
    sections = "".join(
        f"<section><h3>{text(f'ran on {c.version} {c.column.label}')}</h3>"
        f"{graph_html(c.run.graph, job.case.inputs, job.case.graph)}</section>"
        for c in graphs
        if c.run is not None and c.run.graph is not None
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
    sections = "".join(
        f"<section><h3>{text(name)}</h3>{graph_html(run.graph, job.case.inputs, job.case.graph)}</section>"
        for name, run in shown
        if run.graph is not None
    )
    st.html(f'<div class="q-graphs">{sections}</div>')


def _cpus(job: MatrixJob) -> None:
    found = job.found
    if found is None or not found.predicted:
        return
    st.html(
        '<h2 class="q-h2">Other CPUs <small>predicted by ort_cpu, which predicts the run on this CPU code for code; '
        f"not run</small></h2>{predictions_html(found)}"
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
