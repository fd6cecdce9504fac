"""The answer first: title, verdict, what the specification says, and what one can do with it."""

import logging
import time
from concurrent.futures import Future
from urllib.parse import urlencode

import streamlit as st

from qlab.engines.results import RunStatus
from qlab.errors import QlabError
from qlab.export.archive import Export
from qlab.formats.case_json import case_to_json
from qlab.report import Report
from qlab.ui import parts
from qlab.ui.running import export_key, export_of, report_of, with_elsewhere
from qlab.ui.state import Explored
from qlab.views import verdict as views
from qlab.views.address import TOO_LONG, command, to_query
from qlab.views.markup import plain, text

QUIET = 1.0  # seconds without an edit before the script is run: an edit comes first
Made = tuple[Export, bytes]
_log = logging.getLogger(__name__)


def banner(state: Explored) -> None:
    """Say so where the case, or its settings, are not those that the link asked for."""
    if not state.banner:
        return
    end = "" if state.banner.endswith(("?", ".")) else "."
    why = plain(f"{state.banner}{end}")
    if state.linked:
        words = f"The case is the one that was linked, with the usual settings: {why}"
        st.warning(words, title="The link could not be read whole")
    else:
        st.warning(
            f"This is **not** the case that was linked, but the gallery's first one: {why}",
            title="The link could not be opened",
        )


def answer(state: Explored, report: Report, key: str) -> None:
    """Title, verdict, findings, failures."""
    st.html(views.title(report) + views.verdict(report.verdict))
    failed = views.failures(report.ort_runs)
    if failed:
        with st.expander("The engine’s own words, in full"):
            st.html(failed)
    for number, found in enumerate(report.findings):
        said = any(found.rule in sentence for sentence in report.verdict.sentences)
        if not said:
            st.html(views.finding(found, report))
        if found.fixed is not None:
            st.button(
                f"Take the nearest form: {plain(found.nearest)}",
                key=f"fix{number}",
                on_click=state.rewrite,
                args=(found.fixed,),
            )
    if any(r.status in (RunStatus.CRASHED, RunStatus.TIMED_OUT) for r in report.ort_runs):
        st.button("Run again", on_click=_forget, args=(key,))


def _forget(key: str) -> None:
    report_of.clear(key)


def actions(state: Explored, report: Report, key: str) -> Made | None:
    """Link, reproducer, report, command. Returns the exports where they are ready."""
    query = to_query(state.address)
    report = with_elsewhere(report)
    key = export_key(key, report)
    made: Made | None = None
    with st.container(key="actions", horizontal=True, vertical_alignment="center"):
        if query.get("case") == TOO_LONG:
            st.download_button(
                "Download the case (too large for a link)",
                lambda: case_to_json(state.address.case),
                "case.json",
                "application/json",
                on_click="ignore",
            )
        else:
            parts.copy_link(urlencode(query))
        future = export_of(key, report) if _is_quiet(state, key) else None
        if future is not None and future.done():
            made = _ready(future, report)
        else:
            st.fragment(_wait, run_every=0.8)(state, report, key)
    st.code(command(state.address), language=None, wrap_lines=True)
    return made


def _is_quiet(state: Explored, key: str) -> bool:
    """True where the script may be run now: nothing was edited for a while, or it has been run already."""
    started: set[str] = st.session_state.setdefault("exported", set())
    if key in started or time.monotonic() - state.changed >= QUIET:
        started.add(key)
        return True
    return False


def _wait(state: Explored, report: Report, key: str) -> None:
    if _is_quiet(state, key) and export_of(key, report).done():
        st.rerun()
    st.html('<span class="q-ran" role="status">Reproducer: running it in fresh processes …</span>')


def _ready(future: "Future[Made]", report: Report) -> Made | None:
    error = future.exception()
    if error is not None:
        if not isinstance(error, QlabError):
            _log.error("an export failed", exc_info=error)
        why = str(error) if isinstance(error, QlabError) else "it could not be made on this machine"
        st.html(f'<span class="q-ran">No reproducer: {text(why)}.</span>')
        return None
    made = future.result()
    export, zipped = made
    st.download_button(
        "Download reproducer", zipped, "reproducer.zip", "application/zip", on_click="ignore"
    )
    if report.verdict.status in ("differs", "failed"):
        st.link_button("Open issue form ↗", export.link.url)
    checked = export.verification
    sign = "✓" if checked is not None and checked.ok else "!"
    st.html(f'<span class="q-ran">{sign} Script {text(export.sentence)}</span>')
    return made
