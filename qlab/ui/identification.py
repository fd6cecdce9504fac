"""The page Identify: what one's own implementation returned on the left, what explains it on the right."""

import hashlib
import shlex

import streamlit as st

from qlab.candidates import Evidence
from qlab.case import Case
from qlab.engines.results import RunStatus
from qlab.errors import QlabError
from qlab.formats.case_json import case_to_json
from qlab.formats.output_values import values_from_bytes, values_from_text
from qlab.gallery import gallery_name
from qlab.identify import Identification, asked_for, identify
from qlab.notation import VIEWS
from qlab.probes import all_codes
from qlab.qtypes import Array, dtype_name
from qlab.separation import Separation
from qlab.trace import Index
from qlab.ui import parts
from qlab.ui.running import key_of, report_of
from qlab.ui.state import Explored, leave
from qlab.views import identify as views
from qlab.views.identify_html import groups_html, separation_html, verdict_html
from qlab.views.markup import index_text, plain, source_link, text
from qlab.views.trace_table import trace_html, trace_rows
from qlab.views.verdict import signed_numbers

GIVEN, ALL = "the case's inputs", "all codes"
MOST_SHOWN = 4096  # values that the example writes into the field


def identification(state: Explored) -> None:
    """Title, answer, then both columns."""
    case = state.address.case
    heading = signed_numbers(case.title or "A case without a title")
    st.html(
        f'<div class="q-title"><h1>{text(heading)}</h1><span class="q-source">{source_link(case.source)}</span></div>'
    )
    with st.container(key="identify"):
        answer = st.container(key="identified")
        with st.container(key="yours"):
            try:
                asked = _asked(state)
            except QlabError as error:
                asked = None
                answer.error(plain(str(error)))  # where the answer would be
        if asked is not None:
            chosen, tensor, output, example = asked
            with answer:
                further = _further(chosen, tensor, output)
                found = _found(chosen, tensor, output, further)
                st.html(verdict_html(found, example=example))
                _command(state, found, len(further), everything=chosen is not case)
            with st.container(key="ranking"):
                _ranking(state, found, further)


def _asked(state: Explored) -> tuple[Case, str, Array, bool] | None:
    """The case, the tensor, its values as they were given, and whether they are an example; None where none are.

    Raises:
        QlabError: the values cannot be read, or nothing computes the case.
    """
    case = state.address.case
    st.html('<h2 class="q-h2">What yours returned</h2>')
    whole = all_codes(case)
    over = GIVEN
    if whole is not None:
        st.session_state.setdefault("over", st.session_state.get("over kept", GIVEN))
        over = st.segmented_control("For", (GIVEN, ALL), key="over", required=True) or GIVEN
        st.session_state["over kept"] = over
    chosen = whole if whole is not None and over == ALL else case
    made = [o for node in chosen.graph.nodes for o in node.outputs if o]
    tensor = made[-1] if made else ""
    if len(made) > 1:
        first = made.index(case.graph.outputs[0]) if case.graph.outputs[0] in made else 0
        tensor = st.selectbox("Tensor", made, first)
    tensor, dtype, shape = asked_for(chosen, tensor)
    st.html(f'<p class="q-hint">{text(_wanted(tensor, dtype, shape, chosen, over))}</p>')
    example = _example(state, chosen, tensor, dtype, shape)
    kept: dict[str, str] = st.session_state.setdefault("yours", {})  # beyond another page
    key = f"values {key_of(chosen, state.address.settings)[:16]} {tensor}"
    st.session_state.setdefault(key, kept.get(key, ""))
    kept[key] = typed = st.text_area(
        "Values",
        height=220,
        key=key,
        placeholder=example or "int8_t y[] = {1, 2, 3};",
        label_visibility="collapsed",
    )
    file = st.file_uploader(".npy, .csv or text", max_upload_size=100)
    st.html('<p class="q-hint">Another case is chosen in Explore or Gallery.</p>')
    if file is not None:
        return chosen, tensor, values_from_bytes(file.getvalue(), file.name, dtype, shape), False
    if typed.strip() or example:
        given = typed if typed.strip() else example
        return chosen, tensor, values_from_text(given, dtype, shape), given is example
    return None


def _wanted(tensor: str, dtype: str, shape: Index, case: Case, over: str) -> str:
    count = 1
    for n in shape:
        count *= n
    words = f"{tensor}: {count:,} values of {dtype}" if count != 1 else f"{tensor}: one {dtype}"
    if len(shape) > 1 and count != 1:
        words += f" ({' × '.join(map(str, shape))})"
    words += "; a C array, a table, .csv or .npy."
    if over == ALL:
        first, *rest = case.graph.inputs
        inner = f", {rest[0]} in the inner" if rest else ""
        words += f" All codes of {first} in the outer loop{inner}, from the lowest to the highest."
    return words


def _example(state: Explored, case: Case, tensor: str, dtype: str, shape: Index) -> str:
    """What ONNX Runtime returns for it, to begin with; "" where that is nothing, or too much to write out."""
    if case is not state.address.case or tensor not in case.graph.outputs:
        return ""
    settings = state.address.settings
    try:
        report = report_of(key_of(case, settings), case, settings)
    except QlabError:
        return ""
    run = next((r for r in reversed(report.ort_runs) if r.status is RunStatus.OK), None)
    if run is None or run.outputs[tensor].size > MOST_SHOWN:
        return ""
    values = run.outputs[tensor]
    if values.shape != shape or str(values.dtype) != dtype:
        return ""
    return ", ".join(str(v) for v in values.reshape(-1))


@st.cache_resource(max_entries=32, show_spinner=False)
def _cache() -> dict[str, Identification]:
    return {}


def _digest(case: Case, tensor: str, output: Array) -> str:
    given = case_to_json(case).encode() + tensor.encode() + output.tobytes()
    return hashlib.sha256(given).hexdigest()


def _further(case: Case, tensor: str, output: Array) -> list[Evidence]:
    """What this person gave beside this output, in this session."""
    kept: dict[str, list[Evidence]] = st.session_state.setdefault("further", {})
    return kept.setdefault(_digest(case, tensor, output), [])


def _found(case: Case, tensor: str, output: Array, further: list[Evidence]) -> Identification:
    """Made once for each case and output; says what is being tried meanwhile."""
    made = _cache()
    key = " ".join(
        [_digest(case, tensor, output), *(_digest(e.case, tensor, e.output) for e in further)]
    )
    if key not in made:
        line = st.empty()

        def tell(words: str) -> None:
            line.html(f'<p class="q-hint" role="status">Trying {text(words)} …</p>')

        made[key] = identify(case, output, tensor=tensor, further=tuple(further), progress=tell)
        line.empty()
        if made[key].returned.lost:
            return made.pop(key)  # another time it may end well
        while len(made) > 32:  # the oldest first
            del made[next(iter(made))]
    return made[key]


def _command(state: Explored, found: Identification, further: int, *, everything: bool) -> None:
    words = ["python", "-m", "qlab", "identify", gallery_name(state.address.case) or "case.json"]
    words += ["--output", "yours.txt"]
    if everything:
        words.append("--all-codes")
    if found.tensor != found.case.graph.outputs[0]:
        words += ["--tensor", found.tensor]
    for number in range(1, further + 1):
        words += ["--also", f"apart-{number}.json", f"there-{number}.txt"]
    commands = [shlex.join(words), views.c_command(found, words[4])]
    st.code("\n".join(f"$ {command}" for command in commands if command), language=None)


def _told(found: Identification, separation: Separation, further: list[Evidence]) -> None:
    """A field for what one's own returned there; with it what explains both is looked for."""
    key = f"told {_digest(separation.case, found.tensor, found.output)[:16]} {len(further)}"
    typed = st.text_input(
        f"What yours gave for {views.where(separation)}",
        key=key,
        placeholder="in this order",
    )
    if not typed.strip():
        return
    dtype = dtype_name(found.output.dtype)
    try:
        output = values_from_text(typed, dtype, (len(separation.indexes),))
    except QlabError as error:
        st.error(plain(str(error)))
        return
    further.append(Evidence(separation.case, output, separation.indexes))
    st.rerun()


def _ranking(state: Explored, found: Identification, further: list[Evidence]) -> None:
    """The input that tells apart, every arithmetic with what it leaves, the first that is not explained."""
    separation = found.separation
    if separation is not None:
        st.html(separation_html(found))
        _told(found, separation, further)
        with st.container(horizontal=True):
            if st.button("Open that input in Explore"):
                state.rewrite(separation.case)
                leave()  # the query, which is dropped now, would else mean another case
                st.switch_page("pages/explore.py")
            content = case_to_json(separation.case)
            st.download_button("Download it as a case", content, "apart.json", on_click="ignore")
    if further:
        count = sum(evidence.output.size for evidence in further)
        st.html(
            f'<p class="q-hint">{count:,} further {"value" if count == 1 else "values"} of yours '
            f"{'is' if count == 1 else 'are'} taken into account.</p>"
        )
        st.button("Forget the further values", on_click=further.clear)
    st.html(groups_html(found))
    nodes = views.nodes_at_first(found)
    best = found.best
    if not nodes or best is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        at = index_text(found.tensor, best.first or ())
        st.html(
            f'<h2 class="q-h2">The first that {text(best.label)} does not explain: {text(at)}</h2>'
        )
        view = st.segmented_control(
            "Numbers", VIEWS, default="decimal", label_visibility="collapsed", required=True
        )
    for node in nodes:
        rows = trace_rows(node.runs, node.tensor, node.index, "")
        caption = f"Steps of {index_text(node.tensor, node.index)} in {best.label}"
        parts.markup(trace_html(node.runs, rows, view or "decimal", caption), f"id-{node.tensor}")
