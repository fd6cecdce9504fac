"""Reports and exports for the pages: run once for each case and setting, shared by all sessions, bounded."""

import contextlib
import dataclasses
import hashlib
import json
from concurrent.futures import Future, ThreadPoolExecutor

import streamlit as st

from qlab import history, recorded
from qlab.arithmetic import shared
from qlab.c import Written, written
from qlab.candidates import different
from qlab.case import Case
from qlab.errors import TraceError
from qlab.export.archive import Export, export
from qlab.probes import thinned
from qlab.qtypes import dtype_name
from qlab.report import Report
from qlab.schemes import variant
from qlab.session import run
from qlab.trace import trace
from qlab.ui.matrix_job import JOB, MatrixJob
from qlab.views.address import Settings

# One script is verified at a time: it takes three processes, and edits come first.
_exports = ThreadPoolExecutor(max_workers=1, thread_name_prefix="export")


def key_of(case: Case, settings: Settings) -> str:
    """A digest of all that a report depends on."""
    hashed = hashlib.sha256(repr((settings, case.title, case.source, case.note)).encode())
    graph = case.graph
    described = [dict(graph.opset), graph.inputs, graph.outputs]
    hashed.update(json.dumps(described, sort_keys=True).encode())
    for node in graph.nodes:
        hashed.update(repr((node.qualified_name, node.inputs, node.outputs, node.name)).encode())
        for name, value in node.attributes.items():
            hashed.update(name.encode())
            hashed.update(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode())
    for tensors in (graph.constants, case.inputs, case.expected):
        for name, value in tensors.items():
            hashed.update(repr((name, dtype_name(value.dtype), value.shape)).encode())
            hashed.update(value.tobytes())
        hashed.update(b"|")
    return hashed.hexdigest()


@st.cache_resource(max_entries=64, show_spinner="Running the engines …")
def report_of(key: str, _case: Case, _settings: Settings) -> Report:
    """The report of a case. Raises QlabError, as `run`."""
    return run(
        _case,
        levels=_settings.levels,
        entries=_settings.entries,
        cpu=_settings.cpu,
        version=_settings.version,
    )


def with_elsewhere(report: Report) -> Report:
    """The report with what the session has found on the page Versions, and what was recorded of its case."""
    job: MatrixJob | None = st.session_state.get(JOB)
    said = recorded.elsewhere(report.case)
    if job is not None and job.case is report.case and job.found is not None:
        said = (*history.elsewhere(job.found), *said)
    return dataclasses.replace(report, elsewhere=said)


def export_key(key: str, report: Report) -> str:
    """The report's key, with what it says of other releases."""
    return f"{key} {hash(report.elsewhere)}"


@st.cache_resource(max_entries=64, show_spinner="Writing, compiling and running …")
def in_c(key: str, label: str, _case: Case) -> Written:
    """A case in C as the scheme of a label has it. ``key`` names the case."""
    return written(_case, variant(label))


@st.cache_resource(max_entries=64, show_spinner=False)
def computing(key: str, _case: Case) -> tuple[str, ...]:
    """Labels of the schemes that compute a case, one of each that compute it alike. ``key`` names it."""
    small, found = thinned(_case), []
    with shared():
        for label, scheme in different(_case).items():
            with contextlib.suppress(TraceError):
                trace(small.graph, small.inputs, scheme)
                found.append(label)
    return tuple(found)


@st.cache_resource(max_entries=32, show_spinner=False)
def export_of(key: str, _report: Report) -> "Future[tuple[Export, bytes]]":
    """The files to take away and their .zip, made and verified in the background."""
    return _exports.submit(_export, _report)


def _export(report: Report) -> tuple[Export, bytes]:
    made = export(report)
    return made, made.zip()
