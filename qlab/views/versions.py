"""A case over releases as text."""

import textwrap
from collections.abc import Sequence

from qlab.case import Case
from qlab.engines.messages import plain_words
from qlab.graph import Graph
from qlab.history import Versions
from qlab.matrix import Cell
from qlab.recorded import recorded_cells
from qlab.summary import summary
from qlab.views.terminal import WIDTH, table
from qlab.wording import distinct, values_text


def versions_text(case: Case, found: Versions) -> str:
    """Title, the history in sentences, the matrix, the results that there are, the pass, other CPUs."""
    lines = [
        f"{case.title or 'A case without a title'}  ({case.source})"
        if case.source
        else case.title or "A case without a title",
        "",
    ]
    for sentence in found.history.sentences if found.history is not None else ():
        lines += _wrapped(sentence)
    if found.passes is not None:
        lines += _wrapped(f"On {found.passes.optimized.version}: {found.passes.sentence}")
    short = [_heading(column.label) for column in found.columns]
    rows = []
    for version in found.rows:
        cells = [found.cell(version, column) for column in found.columns]
        rows.append((version, *(f"{c.sign} {c.words}" if c else "" for c in cells)))
    lines += ["", *table(("", *short), rows), ""]
    lines += results(found.cells)
    if found.passes is not None and found.passes.restored is not None:
        p = found.passes
        assert p.restored is not None
        lines += [
            "",
            f"{p.optimized.version} {p.optimized.config.level} changed the graph by {', '.join(p.changed)}",
        ]
        for what, run in (
            ("as it ran", p.optimized),
            (f"without {', '.join(p.disabled)}", p.restored),
        ):
            values = "; ".join(values_text(distinct(v)) for v in run.outputs.values())
            lines.append(f"  {what}: {_nodes(run.graph)} → {values}")
    if found.predicted:
        lines += [
            "",
            f"Other CPUs, predicted by ort_cpu for {found.predicted[0].of} (it predicts the run on this CPU code for code):",
        ]
        lines += [
            f"  {p.cpu.ljust(5)}  {'= equal' if all(c.equal for c in p.comparisons) else '≠ ' + '; '.join(values_text(distinct(v)) for v in p.trace.outputs.values())}"
            for p in found.predicted
        ]
    lines += recorded(recorded_cells(case))
    return "\n".join(lines)


def recorded(cells: Sequence[Cell]) -> list[str]:
    """What was recorded of the case elsewhere, with where and when; [] where nothing was."""
    if not cells:
        return []
    found = summary(cells)
    rows = [
        (found.row_label(k), *(f"{c.sign} {c.words}" if c else "" for c in row))
        for k, row in enumerate(found.cells)
    ]
    labels = [found.column_label(k) for k in range(len(found.columns))]
    head = ["", "Recorded earlier, not run now:"]
    return [*head, *table(("", *labels), rows), *_wrapped(f"Recorded {places(cells)}.")]


def places(cells: Sequence[Cell]) -> str:
    """``2026-12-02: avx2 on Haswell, emulated by qemu; …``."""
    by_date: dict[str, list[str]] = {}
    for c in dict.fromkeys((c.recorded, c.column.cpu) for c in cells):
        date, _, machine = c[0].partition(", ")
        by_date.setdefault(date, []).append(f"{c[1]} on {machine}")
    return "; ".join(f"{date}: {'; '.join(machines)}" for date, machines in by_date.items())


def results(cells: Sequence[Cell]) -> list[str]:
    """Each result that there is, with the cells that have it; each message likewise."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(_result(cell), []).append(cell)
    lines = []
    for text, group in groups.items():
        lines += _wrapped(f"{text}: {_places(group, cells)}")
    return lines


def _result(cell: Cell) -> str:
    if cell.run is None:
        return cell.message
    if not cell.run.outputs:
        return f"✕ {plain_words(cell.run.message) or cell.words}"
    values = (f"{name} = {values_text(distinct(v))}" for name, v in cell.run.outputs.items())
    return f"{cell.sign} {'; '.join(values)}"


def _places(group: Sequence[Cell], cells: Sequence[Cell]) -> str:
    """``1.25.1 to 1.26.0 at ORT_ENABLE_ALL``; all columns are not named."""
    columns = list(dict.fromkeys(c.column for c in cells))
    places: dict[tuple[str, ...], list[str]] = {}
    for version in dict.fromkeys(c.version for c in group):
        at = tuple(c.column.label for c in group if c.version == version)
        places.setdefault(at, []).append(version)
    words = []
    for at, versions in places.items():
        where = "" if len(at) == len(columns) else f" at {', '.join(at)}"
        words.append(f"{', '.join(versions)}{where}")
    return "; ".join(words)


def _nodes(graph: Graph | None) -> str:
    return ", ".join(node.op_type for node in graph.nodes) if graph is not None else "unknown graph"


def _heading(label: str) -> str:
    return label.replace("ORT_ENABLE_", "").replace("ORT_", "")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="    ")
