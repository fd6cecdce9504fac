"""The page Versions: which releases, levels and CPUs are run for a case, and what is searched for."""

import shlex
from collections.abc import Sequence

import streamlit as st

from qlab.bisection import PREDICATES
from qlab.engines.pool import emulated_cpus
from qlab.engines.results import LEVELS
from qlab.errors import QlabError
from qlab.gallery import gallery_name
from qlab.matrix import Cell, Column, columns
from qlab.runtimes import store, versions
from qlab.summary import Summary
from qlab.ui.matrix_job import JOB, MatrixJob
from qlab.ui.matrix_view import drawn, forget_pick, picked_cell
from qlab.ui.state import Explored
from qlab.views.address import QUANTPRECISION
from qlab.views.markup import source_link, text
from qlab.views.verdict import signed_numbers

ROWS = {
    "installed": "all that are here",
    "latest": "the newest of the last five minor releases",
    "around": "around a release",
}


def releases(state: Explored) -> None:
    """Title, settings, then the matrix as it comes, and what was recorded earlier."""
    case = state.address.case
    heading = signed_numbers(case.title or "A case without a title")
    st.html(
        f'<div class="q-title"><h1>{text(heading)}</h1><span class="q-source">{source_link(case.source)}</span></div>'
    )
    job: MatrixJob | None = st.session_state.get(JOB)
    if job is None or job.case is not case:
        if job is not None:
            job.stop()
        forget_pick()
        # What is here is run at once; nothing is installed unasked.
        here = store.versions_here()
        search = "" if len(here) > 1 else " --no-search"
        command = f"python -m qlab versions {_name(state)} --preset installed{search} --no-install"
        searched = _searched(install=False) if len(here) > 1 else ()
        job = MatrixJob(case, here, columns(), searched=searched, command=command)
        st.session_state[JOB] = job
        job.wait(1.0)
    _settings(state, job)
    job = st.session_state[JOB]
    st.fragment(drawn, run_every=0.5 if job.running else None)(job, run_live)


def run_live(job: MatrixJob, found: Summary) -> None:
    """Run what was recorded: the releases at both ends of each row, on the CPUs that differ and are here."""
    rows = recorded_ends(found)
    every = {c.cpu for group in found.columns for c in group}
    alike = all({c.cpu for c in group} == every for group in found.columns)
    cpus = () if alike else tuple(c for c in emulated_cpus() if c in every)
    install = store.may_install()
    _start(job, rows, ("this", *cpus), searched=_searched(install=install), install=install)


def recorded_ends(found: Summary) -> tuple[str, ...]:
    """The oldest and the newest release of each row."""
    return tuple(dict.fromkeys(v for row in found.rows for v in (row[0], row[-1])))


def _settings(state: Explored, job: MatrixJob) -> None:
    may = store.may_install()
    cell = picked_cell(job)
    chosen = cell if cell is not None and not cell.recorded else None
    than = f"{chosen.version} {chosen.column.label}" if chosen else "the newest"
    with st.form("matrix", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            preset = st.selectbox(
                "Releases", tuple(ROWS), 1 if may else 0, format_func=ROWS.__getitem__
            )
            release = st.text_input("Around", "1.27.0", width=110)
            cpus = st.multiselect("Emulated CPUs too", emulated_cpus())
            predicate = st.selectbox(
                "Search for",
                tuple(PREDICATES),
                format_func=lambda p: PREDICATES[p].replace("a chosen run", than),
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
    named = f"around:{release.strip()}" if preset == "around" else preset
    _start(
        job,
        rows,
        ("this", *cpus),
        entries=[{}, {QUANTPRECISION: "1"}] if quantprecision else [{}],
        searched=searched if search else (),
        predicate=predicate,
        than=chosen if predicate == "changed" else None,
        install=install,
        preset=named,
    )


def _start(
    job: MatrixJob,
    rows: Sequence[str],
    cpus: Sequence[str],
    *,
    entries: Sequence[dict[str, str]] = ({},),
    searched: Sequence[str] = (),
    predicate: str = "wrong",
    than: Cell | None = None,
    install: bool,
    preset: str = "",
) -> None:
    """End the job that is there and start another; its command line says the same."""
    job.stop()
    words = ["python", "-m", "qlab", "versions", gallery_name(job.case) or "case.json"]
    if preset:
        words += ["--preset", preset]
    else:
        words += [word for version in rows for word in ("--runtime", version)]
    words += [word for cpu in cpus if cpu != "this" for word in ("--cpu", cpu)]
    for entry in entries:
        words += [word for key, value in entry.items() for word in ("--entry", f"{key}={value}")]
    if not searched:
        words.append("--no-search")
    elif than is not None:
        words += ["--than", _than(than.version, than.column)]
    elif predicate != "wrong":
        words += ["--predicate", predicate]
    if not install:
        words.append("--no-install")
    st.session_state[JOB] = MatrixJob(
        job.case,
        rows,
        columns(LEVELS, cpus=cpus, entries=entries),
        searched=searched,
        predicate=predicate,
        than=(than.version, than.column) if than is not None else None,
        install=install,
        command=shlex.join(words),
    )


def _than(version: str, column: Column) -> str:
    return ":".join([version, column.level, *([column.cpu] if column.cpu != "this" else [])])


def _name(state: Explored) -> str:
    return gallery_name(state.address.case) or "case.json"


def _chosen(preset: str, release: str, *, install: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rows, and the releases that are searched. Raises QlabError."""
    here = store.versions_here()
    rows = {
        "installed": lambda: here,
        "latest": lambda: versions.newest_of_minors(also=here),
        "around": lambda: versions.around(versions.checked(release), also=here),
    }[preset]()
    return rows, _searched(install=install)


def _searched(*, install: bool) -> tuple[str, ...]:
    here = store.versions_here()
    newest = max((*versions.RELEASES, *here), key=versions.key)
    return versions.between(versions.OLDEST_SEARCHED, newest, here) if install else here
