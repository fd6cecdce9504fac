"""The page's own components, and its style sheet."""

from importlib import resources
from typing import Any

import streamlit as st

from qlab.views.palette import css_variables


def _read(package: str, name: str) -> str:
    return (resources.files(package) / name).read_text(encoding="utf-8")


_editor = st.components.v2.component(
    "qlab_editor", css=_read("qlab.ui", "editor.css"), js=_read("qlab.ui", "editor.js")
)
_outputs = st.components.v2.component(
    "qlab_outputs", css=_read("qlab.ui", "outputs.css"), js=_read("qlab.ui", "outputs.js")
)
_copy = st.components.v2.component(
    "qlab_copy", css=_read("qlab.ui", "copy.css"), js=_read("qlab.ui", "copy.js")
)
_matrix = st.components.v2.component(
    "qlab_matrix", css=_read("qlab.ui", "matrix.css"), js=_read("qlab.ui", "matrix.js")
)
_markup = st.components.v2.component(
    "qlab_markup", js=_read("qlab.ui", "markup.js"), isolate_styles=False
)
_STYLE = f"<style>{css_variables()}{_read('qlab.views', 'page.css')}</style>"


def style() -> None:
    """Colours and layout; called once by each page."""
    st.html(_STYLE)


def editor(data: dict[str, Any], on_edit: Any) -> None:
    """Fields for every tensor and attribute. ``on_edit`` is called before the next run; read `edit_event` there."""
    _editor(key="editor", data=data, on_edit_change=on_edit)


def outputs(data: dict[str, Any], on_pick: Any, key: str) -> None:
    """One output of all sources. ``on_pick`` is called before the next run; read `pick_event` there."""
    _outputs(key=key, data=data, on_pick_change=on_pick)


def matrix(data: dict[str, Any], on_pick: Any, key: str) -> None:
    """Releases × columns. ``on_pick`` is called before the next run; read `pick_event` there."""
    _matrix(key=key, data=data, on_pick_change=on_pick)


def copy_link(query: str) -> None:
    """A button that copies the link of the case: the page's address with this query."""
    _copy(key="copy", data={"label": "Copy link", "query": query}, width="content")


def copy_text(text: str, key: str) -> None:
    """A button that copies a text."""
    _copy(key=key, data={"label": "Copy", "text": text}, width="content")


def markup(html: str, key: str) -> None:
    """HTML of ours with MathML in it, which ``st.html`` takes out. What others wrote is escaped in it already."""
    _markup(key=key, data={"html": html})


def edit_event() -> dict[str, Any] | None:
    """What was edited, in the callback."""
    return _event("editor", "edit")


def pick_event(key: str) -> dict[str, Any] | None:
    """What was picked, in the callback."""
    return _event(key, "pick")


def _event(key: str, name: str) -> dict[str, Any] | None:
    state = st.session_state.get(key)
    value = state.get(name) if state is not None else None
    return value if isinstance(value, dict) else None
