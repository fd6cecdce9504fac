"""A report and a trace as plain text for a terminal."""

import textwrap
from collections.abc import Sequence

from qlab.element import ElementNode
from qlab.engines.results import RunStatus
from qlab.notation import integer, show, steps
from qlab.qtypes import Array, is_float
from qlab.report import Report
from qlab.trace import ElementStep
from qlab.views.markup import index_text
from qlab.views.outputs import Source, sources
from qlab.views.palette import STATES
from qlab.views.taps import shown_rows
from qlab.views.trace_table import trace_rows

WIDTH = 100
VALUES = 8


def report_text(report: Report) -> str:
    """Title, verdict, then one row for each engine and scheme."""
    case = report.case
    title = case.title or "A case without a title"
    lines = [f"{title}  ({case.source})" if case.source else title, ""]
    sign = STATES[report.verdict.status].sign
    lines += _wrapped(report.verdict.headline, f"{sign} ", "  ")
    for sentence in report.verdict.sentences:
        lines += _wrapped(sentence, "  - ", "    ")
    listed = sources(report)
    for output in case.graph.outputs:
        rows = [_source_row(report, source, output) for source in listed]
        lines += ["", *table(("", "graph", output, "against exact"), rows, right=(2,))]
    return "\n".join(lines)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest)


def _source_row(report: Report, source: Source, output: str) -> tuple[str, ...]:
    value = source.outputs.get(output)
    if value is None:
        return source.name, source.note, "–", textwrap.shorten(source.message, 90, placeholder=" …")
    compared = next(
        (c for c in report.comparisons if c.actual == source.label and c.output == output), None
    )
    words = ""
    if compared is not None and compared.size < 0:
        words = "other shape or type"
    elif compared is not None:
        words = (
            "= equal"
            if compared.equal
            else f"≠ {compared.mismatches:,} of {compared.size:,}, by up to "
            f"{steps(compared.max_difference, compared.unit)}"
        )
    return source.name, source.note, values(value), words


def values(value: Array) -> str:
    """The first values and the count of the others."""
    flat = value.reshape(-1)
    texts = [show(v) if is_float(value.dtype) else integer(v) for v in flat[:VALUES]]
    more = f" … ({flat.size:,})" if flat.size > VALUES else ""
    return (", ".join(texts) if flat.size else "empty") + more


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> list[str]:
    """Aligned columns, two spaces apart; ``right`` names the columns that are right-aligned."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.rjust(width) if k in right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return [line(head), *(line(row) for row in rows)]


def trace_text(nodes: Sequence[ElementNode], view: str = "decimal") -> str:
    """Every node on the way to an element: its products, then its steps with a column for each scheme."""
    lines: list[str] = []
    parted = next((n for n in nodes if n.parting is not None), None)
    for node in nodes:
        runs = [r for r in node.runs if r.trace is not None]
        lines += [f"{index_text(node.tensor, node.index)}  {node.op_type}"]
        parting = node.parting if node is parted else None
        rows = trace_rows(runs, node.tensor, node.index, parting.step if parting else "")
        lines += _taps(rows[0].steps + tuple(s for row in rows[1:] for s in row.steps))
        body = [
            (
                "▶ " + row.name if row.parts else "  " + row.name,
                row.formulas[-1][1] if row.formulas else "",
                *(_value(step, view) for step in row.steps),
                "← they part here" if row.parts else "",
            )
            for row in rows
        ]
        names = [f"{r.scheme} ({r.cpu})" if r.cpu else r.scheme for r in runs]
        number_columns = range(2, 2 + len(runs))
        lines += [
            f"  {text}" for text in table(("  step", "formula", *names, ""), body, number_columns)
        ]
        if parting and parting.why:
            lines += _wrapped(f"They part at {parting.label}: {parting.why}", "  ", "  ")
        lines.append("")
    return "\n".join(lines).rstrip()


def _value(step: ElementStep | None, view: str) -> str:
    return "" if step is None else show(step.value, view)


def _taps(found: Sequence[ElementStep | None]) -> list[str]:
    """The products of an accumulator; of those of several schemes the ones that saturate, else the first."""
    taps = [s.taps for s in found if s is not None and s.taps is not None]
    if not taps:
        return []
    shown = next((t for t in taps if (t.lost != 0).any()), taps[0])
    rows: list[tuple[str, ...]] = []
    last = -1
    for k in shown_rows(shown):
        if k != last + 1:
            rows.append(("…",) * 6)
        last = k
        position = ",".join(str(i) for i in shown.positions[k])
        lost = f"≠ saturated, lost {integer(int(shown.lost[k]))}" if shown.lost[k] != 0 else ""
        numbers = (shown.a[k], shown.b[k], shown.products[k], shown.running[k])
        rows.append((position, *(show(v) for v in numbers), lost))
    head = (",".join(shown.axes), "a", "b", "product", "running sum", "")
    return [f"    {text}" for text in table(head, rows, right=(1, 2, 3, 4))]


def failures_text(report: Report) -> str:
    """What the engines said that did not run the case, in full."""
    return "\n".join(
        f"{run.engine} {run.version} {run.config.level}: {run.message}"
        for run in report.ort_runs
        if run.status is not RunStatus.OK
    )
