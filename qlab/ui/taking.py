"""What one takes away: script, test, report, case, model with data; shown and to download."""

import html

import streamlit as st

from qlab.export.archive import SCRIPT, TEST, Export
from qlab.formats.case_json import case_to_json
from qlab.report import Report, run_label
from qlab.ui import parts
from qlab.ui.running import computing, in_c
from qlab.views.markup import text

SHOWN = ("Script", "Regression test", "C", "Report", "Case JSON", "ONNX")


def reproduce(report: Report, made: tuple[Export, bytes] | None) -> None:
    """The chosen file to read, copy and download; the scripts only after they were run.

    One at a time and no tabs: hidden tabs are drawn too, and an edit waits for them.
    """
    st.html('<h2 class="q-h2">Reproduce</h2>')
    shown = st.segmented_control(
        "File", SHOWN, default=SHOWN[0], key="file", label_visibility="collapsed", required=True
    )
    if shown == "Case JSON":
        _file("case.json", case_to_json(report.case))
    elif made is None:
        st.html(
            '<p class="q-hint">Offered as soon as the script has been run in fresh processes.</p>'
        )
    elif shown == "Report":
        _report(made[0])
    elif shown == "C":
        _c(report, made[0])
    elif shown == "ONNX":
        _model(*made)
    else:
        export, name = made[0], SCRIPT if shown == "Script" else TEST
        st.html(f'<p class="q-hint">Script {text(export.sentence)}.</p>')
        if name in export.files:
            _command(export)
            _file(name, export.files[name].decode())


def _command(export: Export) -> None:
    """The line that runs the script on the release that the report is about; was it run so?"""
    ran = export.verification is not None and export.verification.by_uv
    how = "By this command" if ran else "On any machine with uv (here it was run by this Python)"
    st.html(
        f'<p class="q-hint">{how}:</p><pre class="q-code" tabindex="0">{text(export.command)}</pre>'
    )


def _c(report: Report, export: Export) -> None:
    """How to write it, as any scheme has it; after it was compiled and run where there is a compiler."""
    ran = next((run for run in reversed(report.ort_runs) if run.cpu), None)
    usual = f"{run_label(ran)}, the graph that ran" if ran else "ort_cpu"
    key = case_to_json(report.case)
    labels = (usual, *computing(key, report.case))
    chosen = st.selectbox("Arithmetic", labels, key="c_scheme", width=420)
    made = export.in_c if chosen == usual else in_c(key, chosen, report.case)
    if made is None:
        return
    st.html(
        f'<p class="q-hint" role="status">{text(made.sentence[:1].upper() + made.sentence[1:])}.</p>'
    )
    if made.source:
        st.html(
            '<p class="q-hint">The function; the download has a main that checks it beside it.</p>'
        )
        _file(made.name, made.source, made.function_only)


def _report(export: Export) -> None:
    if export.link.paste:
        st.html(f'<p class="q-hint">{text(export.link.paste)}</p>')
    chosen = "; ".join(f"{label}: {option}" for label, option in export.issue.choices)
    st.html(
        f'<p class="q-hint">A link cannot choose from the form’s lists. Choose {text(chosen)}.</p>'
    )
    _file("report.md", export.files["report.md"].decode())


def _model(export: Export, zipped: bytes) -> None:
    st.html(
        '<p class="q-hint">model.onnx and test_data_set_0/ are in the .zip, in ONNX’s own layout.</p>'
    )
    with st.container(horizontal=True, key="take-model"):
        model = export.files["model.onnx"]
        st.download_button("Download model.onnx", model, "model.onnx", on_click="ignore")
        st.download_button(
            "Download all as .zip", zipped, "reproducer.zip", on_click="ignore", key="all"
        )


def _file(name: str, content: str, shown: str = "") -> None:
    """``shown``: the part of it that is read and copied; all where it is ""."""
    shown = shown or content
    with st.container(horizontal=True, key=f"take-{name}", vertical_alignment="center"):
        st.download_button(f"Download {name}", content, name, on_click="ignore", key=f"file-{name}")
        parts.copy_text(shown, f"copy-{name}")
    # st.code scrolls without being reached by the keyboard.
    st.html(
        f'<pre class="q-code" tabindex="0" role="region" aria-label="{text(name)}">{html.escape(shown)}</pre>'
    )
