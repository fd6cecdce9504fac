"""What the page Versions shows of a matrix: the table's data, and the answer as HTML."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qlab.engines.messages import plain_words
from qlab.graph import same_outputs
from qlab.history import Versions
from qlab.matrix import STATES, Cell, Column
from qlab.qtypes import Array
from qlab.reference import Reference
from qlab.summary import Summary
from qlab.views.markup import tag, text
from qlab.wording import distinct, how_much, values_text


def table_data(
    versions: Sequence[str],
    columns: Sequence[Column],
    cell: Callable[[str, Column], Cell | None],
    found: Versions | None,
    picked: tuple[str, int] | None,
) -> dict[str, Any]:
    """The data of the matrix component; a cell that has not come yet is None."""
    marks = _marks(found)
    return {
        "label": "Every release a row, every setting a column",
        "columns": [{"label": c.label, "short": _short(c.label)} for c in columns],
        "rows": [
            {
                "version": version,
                "label": version,
                "mark": marks.get(version, ""),
                "cells": [_cell(cell(version, column)) for column in columns],
            }
            for version in versions
        ],
        "picked": f"{picked[0]} {picked[1]}" if picked else "",
    }


def recorded_data(found: Summary, picked: tuple[str, int] | None) -> dict[str, Any]:
    """The data of the matrix component for recorded runs: neighbours with the same results are one."""
    labels = [found.column_label(k) for k in range(len(found.columns))]
    return {
        "label": "Recorded earlier: releases with the same results a row, settings with the same results a column",
        "columns": [{"label": label, "short": label} for label in labels],
        "rows": [
            {
                "version": versions[-1],
                "label": found.row_label(k),
                "mark": "",
                "cells": [_cell(cell) for cell in found.cells[k]],
            }
            for k, versions in enumerate(found.rows)
        ],
        "picked": f"{picked[0]} {picked[1]}" if picked else "",
    }


def _short(label: str) -> str:
    return label.replace("ORT_ENABLE_", "").replace("ORT_", "")


def _cell(cell: Cell | None) -> dict[str, str] | None:
    if cell is None:
        return None
    state = STATES.get(cell.sign, "unknown")
    return {"sign": cell.sign, "words": cell.words, "state": state}


def _marks(found: Versions | None) -> dict[str, str]:
    """Release → ``last bad``, ``first good`` … beside its name."""
    history = found.history if found is not None else None
    marks: dict[str, str] = {}
    for change in history.changes if history is not None else ():
        last, first = history.marks(change) if history is not None else ("", "")
        marks |= {change.before.version: last, change.after.version: first}
    return marks


def answer_html(found: Versions) -> str:
    """The change and the pass, in sentences."""
    wrong = [c for c in found.cells if c.wrong]
    judged = [c for c in found.cells if c.wrong is not None]
    every = len(found.rows) * len(found.columns)
    counted = (
        f"{len(wrong)} of {len(judged)} runs differ from exact arithmetic or fail."
        if wrong
        else "The one run agrees with exact arithmetic."
        if len(judged) == 1
        else f"All {len(judged)} runs agree with exact arithmetic."
        if judged
        else "No run could be judged."
    )
    if len(found.cells) < every:
        counted = f"Stopped after {len(found.cells)} of {every} runs. {counted}"
    sentences = list(found.history.sentences) if found.history is not None else [counted]
    if found.passes is not None:
        sentences.append(f"On {found.passes.optimized.version}: {found.passes.sentence}")
    state = "differs" if wrong else "equal" if judged else "unknown"
    first, *others = sentences
    listed = "".join(tag("li", text(s)) for s in others)
    return (
        f'<section class="q-verdict q-{state}" aria-label="Verdict"><p class="q-headline">{text(first)}</p>'
        f"<ul>{listed}</ul></section>"
    )


def predictions_html(found: Versions) -> str:
    """What ort_cpu predicts for each class of CPU; says that it is predicted."""
    items = "".join(
        f"<li><b>{text(p.cpu)}</b> {'= equal' if all(c.equal for c in p.comparisons) else '≠'} "
        f"{text(_values(p.trace.outputs))}</li>"
        for p in found.predicted
    )
    return f"<ul>{items}</ul>"


def cell_html(cell: Cell) -> str:
    """One chosen cell: how it ended, its outputs or the message."""
    head = f"<b>{text(cell.version)} {text(cell.column.label)}</b>: {text(cell.sign)} {text(cell.words)}"
    if cell.recorded:
        head += f" <small>recorded {text(cell.recorded)}; not run now</small>"
    if cell.run is None:
        return f"<p>{head}</p><p>{text(cell.message)}</p>"
    if cell.run.message:
        return f"<p>{head}</p><p><q>{text(plain_words(cell.run.message))}</q></p>"
    where = ""
    if cell.run.cpu and not cell.recorded:
        emulated = " (emulated)" if cell.run.emulated else ""
        where = f" on a CPU of the class {text(cell.run.cpu)}{emulated}"
    return f"<p>{head}{where}</p><p><code>{text(_values(cell.run.outputs))}</code></p>"


def difference_text(a: Cell, b: Cell, reference: Reference) -> str:
    """How one cell's outputs differ from another's, in one sentence."""
    names = f"{a.version} {a.column.label} and {b.version} {b.column.label}"
    if a.run is None or b.run is None or not a.run.outputs or not b.run.outputs:
        return f"{names}: one of them has no output."
    if same_outputs(a.run.outputs, b.run.outputs):
        return f"{names} give the same, bit for bit."
    compared = reference.between((b.version, b.run.outputs), (a.version, a.run.outputs))
    return f"{names} differ: {how_much(compared)}."


def _values(outputs: Mapping[str, Array]) -> str:
    return "; ".join(f"{name} = {values_text(distinct(v), 16)}" for name, v in outputs.items())
