"""What was recorded of a case over the releases, as a strip: a block a release, a line for each kind of CPU."""

from collections.abc import Sequence

from qlab.matrix import STATES, Cell
from qlab.summary import Summary, summary
from qlab.views.markup import tag, text

LEVEL = "ORT_ENABLE_ALL"  # what a session does unless it is told otherwise


def strip_html(cells: Sequence[Cell]) -> str:
    """The recorded runs at ORT_ENABLE_ALL, ONNX Runtime's default; "" where nothing was recorded."""
    found = summary(c for c in cells if c.column.level == LEVEL)
    if not found.columns:
        return ""
    date = min(c.recorded.partition(",")[0] for c in cells)
    lines = "".join(_line(found, column) for column in range(len(found.columns)))
    return f'<div class="q-strip"><p class="q-hint">Recorded {text(date)} at {LEVEL}, not run now</p>{lines}</div>'


def _line(found: Summary, column: int) -> str:
    group = found.columns[column]
    one = len(found.columns) == 1
    cpus = "every CPU" if one and len(group) > 1 else ", ".join(c.cpu for c in group)
    blocks = ""
    for row, versions in enumerate(found.rows):
        cell = found.cells[row][column]
        if cell is None:
            continue
        words = f"{found.row_label(row)} {cell.sign} {cell.words}"
        blocks += tag(
            "span",
            f"<b>{text(found.row_label(row))}</b> {text(cell.sign)} {text(cell.words)}",
            css=f"b-{STATES.get(cell.sign, 'unknown')}",
            title=f"{words}: {', '.join(versions)}",
        )
    return f'<div class="q-strip-line"><span class="q-strip-cpus">{text(cpus)}</span><div>{blocks}</div></div>'
