"""The sidebar of Explore: which case, and how ONNX Runtime runs it."""

import streamlit as st

from qlab.builder import build, buildable
from qlab.engines.pool import emulated_cpus
from qlab.engines.results import LEVELS
from qlab.errors import QlabError
from qlab.formats.load import case_from_bytes
from qlab.gallery import gallery_case, gallery_name, gallery_names
from qlab.runtimes import store
from qlab.ui.state import Explored
from qlab.views.address import Settings

UPLOAD_MEGABYTES = 4


def sidebar(state: Explored) -> None:
    """Draw it; each widget shows what the state holds and changes it before the next run."""
    with st.sidebar:
        st.html('<h2 class="q-h2">Case</h2>')
        _gallery(state)
        _upload(state)
        with st.popover("New case", width="stretch"):
            _new(state)
        st.html('<h2 class="q-h2">Settings</h2>')
        _settings(state)


def _gallery(state: Explored) -> None:
    def choose() -> None:
        name = st.session_state["gallery"]
        if name:
            state.take(gallery_case(name))

    st.session_state["gallery"] = gallery_name(state.address.case) or None
    st.selectbox(
        "Gallery",
        gallery_names(),
        key="gallery",
        on_change=choose,
        placeholder="changed, or your own",
    )


def _upload(state: Explored) -> None:
    def read() -> None:
        file = st.session_state["upload"]
        st.session_state["upload_error"] = ""
        if file is None:
            return
        try:
            state.take(case_from_bytes(file.getvalue(), file.name))
        except QlabError as error:
            st.session_state["upload_error"] = str(error)

    st.file_uploader(
        "Case JSON, ONNX test-case .zip or .onnx",
        type=["json", "zip", "onnx"],
        max_upload_size=UPLOAD_MEGABYTES,
        key="upload",
        on_change=read,
    )
    if st.session_state.get("upload_error"):
        st.error(st.session_state["upload_error"])


def _new(state: Explored) -> None:
    known = {b.op_type: b for b in buildable()}
    operator = st.selectbox("Operator", tuple(known), key="new_operator")
    chosen = known[operator]
    form = st.selectbox("Form", chosen.forms, key=f"new_form_{operator}")
    dtype = st.selectbox("Data type", chosen.dtypes, key=f"new_dtype_{operator}")
    weight = "int8"
    if chosen.weight_dtypes:
        default = chosen.weight_dtypes.index("int8")
        weight = st.selectbox(
            "Weight data type", chosen.weight_dtypes, default, key=f"new_weight_{operator}"
        )

    def make() -> None:
        state.take(build(operator, form=form, dtype=dtype, weight_dtype=weight))

    st.button("Make this case", on_click=make, width="stretch")


def _settings(state: Explored) -> None:
    settings = state.address.settings

    def change() -> None:
        chosen = st.session_state["levels"]
        levels = tuple(level for level in LEVELS if level in chosen) or settings.levels
        version = st.session_state["release"]
        state.set(
            Settings(
                levels,
                st.session_state["cpu"],
                st.session_state["quantprecision"],
                "" if version == store.installed_version() else version,
            )
        )

    st.session_state["levels"] = list(settings.levels)
    st.session_state["cpu"] = settings.cpu
    shown = settings.version or store.installed_version()
    st.session_state["release"] = shown
    st.session_state["quantprecision"] = settings.quantprecision
    st.pills(
        "Graph optimization levels",
        LEVELS,
        selection_mode="multi",
        key="levels",
        on_change=change,
        format_func=lambda level: level.removeprefix("ORT_"),
    )
    here = dict.fromkeys((*reversed(store.versions_here()), shown))
    st.selectbox(
        "ONNX Runtime",
        tuple(here),
        key="release",
        on_change=change,
        help="The releases on this machine; the page Versions installs others.",
    )
    cpus = dict.fromkeys(("this", *emulated_cpus(), settings.cpu))
    st.selectbox(
        "CPU",
        tuple(cpus),
        key="cpu",
        on_change=change,
        format_func=lambda cpu: "this machine" if cpu == "this" else f"{cpu}, emulated",
    )
    st.checkbox(
        "session.x64quantprecision",
        key="quantprecision",
        on_change=change,
        help="The session entry that keeps uint8 × int8 products from saturating on AVX2.",
    )
