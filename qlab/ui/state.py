"""What one person explores: the case, the settings, the chosen element; in the session and in the address bar."""

import dataclasses
import time
from collections.abc import Callable

import streamlit as st

from qlab.case import Case
from qlab.errors import CaseError
from qlab.gallery import DEFAULT, gallery_case
from qlab.trace import Index
from qlab.ui import parts
from qlab.views.address import Address, Pick, Settings, case_of, from_query, to_query
from qlab.views.editing import (
    Rejected,
    attribute_field,
    tensor_field,
    with_attribute,
    with_step,
    with_text,
)

_KEY = "explored"
EDITED = "Edited: "


@dataclasses.dataclass
class Explored:
    """One session's state of the page Explore.

    Attributes:
        query, saved: the address bar as it was last read or written, and what it stands for.
        rejected: field → what was typed there in vain.
        banner: what of the link could not be read; "" where all was. linked: the case is the one that it asks for.
        opened: the large tensor that is open as a table, "" for none.
        away: another page was shown since; the navigation drops the query then.
        answered: events of the editor so far: it is drawn anew after each, also where no value changed.
        changed: when the case last changed (time.monotonic).
    """

    address: Address
    query: dict[str, str]
    saved: Address
    rejected: dict[str, Rejected] = dataclasses.field(default_factory=dict)
    banner: str = ""
    linked: bool = True
    opened: str = ""
    away: bool = False
    answered: int = 0
    changed: float = dataclasses.field(default_factory=time.monotonic)

    def take(self, case: Case) -> None:
        """Another case: nothing of the one before stays but the settings."""
        self.address = dataclasses.replace(self.address, case=case, pick=None)
        self.rejected, self.opened, self.banner = {}, "", ""
        self.changed = time.monotonic()

    def edit(self, case: Case) -> None:
        """The same case with another number; everything else stays as it is."""
        if case is not self.address.case:
            self.address = dataclasses.replace(self.address, case=_edited(case))
            self.banner, self.changed = "", time.monotonic()

    def rewrite(self, case: Case) -> None:
        """The same case in another form or type."""
        self.take(_edited(case))

    def set(self, settings: Settings) -> None:
        """Other settings."""
        self.address = dataclasses.replace(self.address, settings=settings)
        self.changed = time.monotonic()

    def pick(self, output: str, index: Index, source: str) -> None:
        """Choose the element that is traced."""
        self.address = dataclasses.replace(self.address, pick=Pick(output, index, source))


def _edited(case: Case) -> Case:
    """A title says what the numbers of its author do: with other numbers it says that they are others."""
    if not case.title or case.title.startswith(EDITED):
        return case
    return dataclasses.replace(case, title=f"{EDITED}{case.title}")


def current() -> Explored:
    """The session's state; read anew where the address bar says something else than it did."""
    query = st.query_params.to_dict()
    state: Explored | None = st.session_state.get(_KEY)
    if state is None or (query != state.query and (query or not state.away)):
        state = _read(query)
    state.away = False
    st.session_state[_KEY] = state
    return state


def _read(query: dict[str, str]) -> Explored:
    try:
        address, banner, linked = from_query(query), "", True
    except CaseError as error:
        banner = str(error)
        try:
            address, linked = Address(case_of(query)), True
        except CaseError:
            address, linked = Address(gallery_case(DEFAULT)), False
    return Explored(address, query, address, banner=banner, linked=linked)


def save(state: Explored) -> None:
    """Write the address bar, only where it changes: each write is an entry of the browser's history."""
    a, b = state.address, state.saved
    same = a.case is b.case and a.settings == b.settings and a.pick == b.pick
    if same and st.query_params.to_dict() == state.query:
        return
    state.query, state.saved = (state.query if same else to_query(a)), a
    st.query_params.from_dict(state.query)


def leave() -> None:
    """Called by the other pages: coming back without a query means this state, not the default case."""
    state: Explored | None = st.session_state.get(_KEY)
    if state is not None:
        state.away = True


def on_edit() -> None:
    """What the editor sent, before the page is drawn again: applied, or kept with the reason why not."""
    state: Explored = st.session_state[_KEY]
    event = parts.edit_event()
    if event is None:
        return
    state.answered += 1
    case = state.address.case
    kind, typed = event.get("kind"), str(event.get("text", ""))
    if kind == "open":
        state.opened = str(event["tensor"])
    elif kind == "attribute":
        node, name = int(event["node"]), str(event["name"])
        _try(
            state,
            attribute_field(node, name),
            typed,
            lambda: with_attribute(case, node, name, typed),
        )
    elif kind in ("text", "step"):
        tensor, flat = str(event["tensor"]), int(event["flat"])
        by = 1 if int(event.get("by", 0)) > 0 else -1
        if kind == "text":
            _entry(state, tensor, flat, typed)
        else:
            field = tensor_field(tensor, flat)
            _try(state, field, "", lambda: with_step(case, tensor, flat, by))


def on_table(tensor: str, columns: int, key: str) -> None:
    """What was typed into the table of a large tensor."""
    state: Explored = st.session_state[_KEY]
    for row, edits in st.session_state[key]["edited_rows"].items():
        for column, typed in edits.items():
            _entry(state, tensor, int(row) * columns + int(column), str(typed or ""))


def _entry(state: Explored, tensor: str, flat: int, typed: str) -> None:
    case = state.address.case
    _try(state, tensor_field(tensor, flat), typed, lambda: with_text(case, tensor, flat, typed))


def _try(state: Explored, field: str, typed: str, edit: Callable[[], Case]) -> None:
    try:
        case = edit()
    except CaseError as error:
        state.rejected[field] = Rejected(typed, str(error))
    else:
        state.rejected.pop(field, None)
        state.edit(case)


def on_pick(output: str, key: str) -> None:
    """A cell of an output was chosen."""
    state: Explored = st.session_state[_KEY]
    event = parts.pick_event(key)
    if event is not None:
        index = tuple(int(i) for i in event["index"])
        state.pick(output, index, str(event.get("source", "")))
