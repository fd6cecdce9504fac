"""The trace of one element: every step a row, every scheme a column, the first differing row marked."""

import dataclasses
from collections.abc import Sequence

from qlab.notation import bit_pattern, show
from qlab.report import SchemeRun
from qlab.trace import ElementStep, Index
from qlab.views.markup import sign, tag, text
from qlab.views.mathml import mathml
from qlab.views.palette import ROLES, SCHEMES, role_of


@dataclasses.dataclass(frozen=True)
class Row:
    """One step in all schemes.

    Attributes:
        formulas: (scheme, formula), each different one once; the first scheme's comes first.
        steps: one for each column; None where that scheme has no such step.
        parts: True for the first step at which the results part.
    """

    name: str
    formulas: tuple[tuple[str, str], ...]
    steps: tuple[ElementStep | None, ...]
    parts: bool = False

    @property
    def notes(self) -> tuple[tuple[str, str], ...]:
        """(scheme, note) of every scheme that has one."""
        return tuple((step_scheme, note) for step_scheme, note in self._noted)

    _noted: tuple[tuple[str, str], ...] = ()


def trace_rows(
    runs: Sequence[SchemeRun], tensor: str, index: Index, parting: str = ""
) -> tuple[Row, ...]:
    """The steps of several schemes at one element, aligned by their names.

    Args:
        runs: each with a trace that computes ``tensor``.
        parting: name of the step at which the results part; "" for none.
    """
    columns = [list(run.trace.element(tensor, index)) if run.trace else [] for run in runs]
    rows = []
    for name in merge_names([[step.name for step in column] for column in columns]):
        steps = tuple(next((s for s in column if s.name == name), None) for column in columns)
        formulas: dict[str, str] = {}
        notes: dict[str, str] = {}
        for run, step in zip(runs, steps, strict=True):
            if step is not None:
                formulas.setdefault(step.formula, run.scheme)
                if step.note:
                    notes.setdefault(step.note, run.scheme)
        rows.append(
            Row(
                name,
                tuple((scheme, formula) for formula, scheme in formulas.items() if formula),
                steps,
                name == parting,
                tuple((scheme, note) for note, scheme in notes.items()),
            )
        )
    return tuple(rows)


def merge_names(columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """All names, each once, in an order in which every column's own order is kept where the columns agree."""
    merged: list[str] = []
    for column in columns:
        for place, name in enumerate(column):
            if name not in merged:
                # Before the next step that is there already, so that what leads to a common step stands above it.
                following = next((n for n in column[place + 1 :] if n in merged), None)
                merged.insert(len(merged) if following is None else merged.index(following), name)
    return tuple(merged)


def trace_html(
    runs: Sequence[SchemeRun], rows: Sequence[Row], view: str = "decimal", caption: str = ""
) -> str:
    """A table of every step, with MathML formulas: ``st.html`` would take these out, the component keeps them."""
    heads = "".join(f'<th scope="col" class="num">{_scheme_head(run)}</th>' for run in runs)
    body = "".join(_row(runs, row, view) for row in rows)
    return (
        f'<div class="q-scroll" tabindex="0" role="region" aria-label="{text(caption)}"><table class="q-trace">'
        f'<caption class="q-hidden">{text(caption)}</caption>'
        f'<thead><tr><th scope="col">step</th><th scope="col">formula</th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _scheme_head(run: SchemeRun) -> str:
    name = f"{run.scheme} ({run.cpu})" if run.cpu else run.scheme
    return sign(SCHEMES[run.scheme].sign, f"c-{run.scheme}") + " " + text(name)


def _row(runs: Sequence[SchemeRun], row: Row, view: str) -> str:
    role = role_of(row.name)
    mark = '<span class="q-part">▶ part here</span>' if row.parts else ""
    name = f'{sign(ROLES[role].sign, "c-" + role)} <span class="c-{role}">{text(row.name)}</span> {mark}'
    formulas = "".join(
        _formula(scheme, formula, len(row.formulas) > 1) for scheme, formula in row.formulas
    )
    notes = "".join(tag("div", text(note), css="q-note") for _, note in row.notes)
    cells = "".join(_cell(step, run, view) for step, run in zip(row.steps, runs, strict=True))
    css = ' class="parts"' if row.parts else ""
    return f'<tr{css}><th scope="row">{name}</th><td class="formula">{formulas}{notes}</td>{cells}</tr>'


def _formula(scheme: str, formula: str, several: bool) -> str:
    label = sign(SCHEMES[scheme].sign, f"c-{scheme}") if several else ""
    return f'<div class="f">{label}{mathml(formula)}</div>'


def _cell(step: ElementStep | None, run: SchemeRun, view: str) -> str:
    if step is None:
        return '<td class="num none">·</td>'
    shown = show(step.value, view)
    own = {"float64": "float64", "float32": "float32", "ort_cpu": "float32"}.get(run.scheme)
    kind = "" if step.dtype in ("exact", "int64", own) else tag("small", text(step.dtype))
    bits = bit_pattern(step.value)
    title = f"{show(step.value, 'exact')}" + (f", bits {bits}" if bits else "")
    # A narrow screen has no head of the table: each value says whose it is.
    who = tag("span", _scheme_head(run), css="who")
    return f'<td class="num" title="{text(title)}">{who}{text(shown)} {kind}</td>'
