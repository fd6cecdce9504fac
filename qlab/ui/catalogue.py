"""The gallery as a list: one row a case, with what differs here in one line."""

from collections.abc import Sequence

import streamlit as st

from qlab.gallery import gallery_case
from qlab.recorded import recorded_cells
from qlab.ui.running import key_of, report_of
from qlab.views.address import Settings
from qlab.views.markup import sign, source_link, text
from qlab.views.palette import STATES
from qlab.views.strip import strip_html
from qlab.views.verdict import WORDS, operators, signed_numbers


def catalogue(names: Sequence[str]) -> None:
    """Run every case once, with progress, and list them; a title opens its case in Explore."""
    st.html(
        '<h1 class="q-h1">Gallery</h1><p class="q-hint">Cases in which quantized operators surprised people, run here and now; what was recorded earlier says so.</p>'
    )
    rows = []
    progress = st.progress(0.0, "Running the cases …")
    for number, name in enumerate(names):
        rows.append((name, *_line(name)))
        progress.progress((number + 1) / len(names), f"Running the cases … {name}")
    progress.empty()
    for name, status, headline, operator in rows:
        case = gallery_case(name)
        with st.container(key=f"row-{name}"):
            st.page_link(
                "pages/explore.py",
                label=signed_numbers(case.title or name),
                query_params={"gallery": name},
            )
            mark = STATES[status]
            st.html(
                f'<p><span class="t-{status}">{sign(mark.sign, "")} {WORDS[status]}</span> {text(headline)}</p>'
                f'<p class="q-hint">{text(operator)} · {source_link(case.source)}</p>'
                f"{strip_html(recorded_cells(case))}"
            )
            st.page_link(
                "pages/versions.py", label="Run other releases", query_params={"gallery": name}
            )


@st.cache_resource(show_spinner=False)
def _line(name: str) -> tuple[str, str, str]:
    """Status, headline and operators of a gallery case, run once."""
    case, settings = gallery_case(name), Settings()
    report = report_of(key_of(case, settings), case, settings)
    return report.verdict.status, report.verdict.headline, operators(report)
