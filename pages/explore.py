"""What does this operator do to these numbers, and at which step do the results part?"""

import streamlit as st
from qlab.errors import QlabError
from qlab.ui.answer import actions, answer, banner
from qlab.ui.entry import ensure_entry
from qlab.ui.numbers import fields, outputs, rounding
from qlab.ui.parts import style
from qlab.ui.running import key_of, report_of
from qlab.ui.sidebar import sidebar
from qlab.ui.state import current, save
from qlab.ui.taking import reproduce
from qlab.ui.tracing import graphs, nodes_or_reason, trace
from qlab.views.tracing import chosen

ensure_entry()
style()
state = current()
save(state)
sidebar(state)
case, settings = state.address.case, state.address.settings
key = key_of(case, settings)
with st.container(key="explore"):
    report, made = None, None
    with st.container(key="answer"):
        banner(state)
        try:
            report = report_of(key, case, settings)
        except QlabError as error:
            st.error(f"This case cannot be run: {error}")
        else:
            answer(state, report, key)
            made = actions(state, report, key)
    with st.container(key="fields"):
        fields(state)
    if report is not None:
        pick, missing = chosen(report, state.address.pick)
        with st.container(key="numbers"):
            if missing:
                st.warning(missing)
            outputs(report, pick)
            nodes, reason = nodes_or_reason(report, pick)
            rounding(report, pick, nodes)
        with st.container(key="trace"):
            trace(state, report, pick, nodes, reason)
        with st.container(key="more"):
            graphs(report)
            reproduce(report, made)
