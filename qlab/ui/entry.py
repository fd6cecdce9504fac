"""Every way into the app goes through app.py.

Streamlit runs a file of ``pages/`` alone where that is the first address that a fresh server is asked for; then the
navigation is missing, and every later session gets the wrong one.
"""

import runpy
from pathlib import Path

import streamlit as st

APP = Path(__file__).resolve().parent.parent.parent / "app.py"
_MARK = "_entered_by_app"


def mark() -> None:
    """Called by app.py before it runs a page."""
    st.session_state[_MARK] = True


def ensure_entry() -> None:
    """First line of a page: where app.py has not run, run it instead."""
    if not st.session_state.get(_MARK):
        runpy.run_path(str(APP), run_name="__main__")
        st.stop()
    del st.session_state[_MARK]
