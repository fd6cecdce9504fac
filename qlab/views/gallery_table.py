"""The gallery as a table: one row a case."""

import dataclasses
from collections.abc import Sequence
from urllib.parse import quote

from qlab.report import Report
from qlab.views.markup import sign, source_link, text
from qlab.views.palette import STATES
from qlab.views.verdict import WORDS, operators, signed_numbers


@dataclasses.dataclass(frozen=True)
class Row:
    """A case by its name, with its report."""

    name: str
    report: Report


def gallery_html(rows: Sequence[Row]) -> str:
    """Case, what happens here, operator, source. A case's title leads to Explore."""
    body = "".join(_row(row) for row in rows)
    return (
        '<div class="q-scroll" tabindex="0" role="region" aria-label="Known cases"><table class="q-gallery"><thead><tr>'
        '<th scope="col">case</th><th scope="col">here</th><th scope="col">operator</th><th scope="col">source</th>'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: Row) -> str:
    status = row.report.verdict.status
    case = row.report.case
    title = f'<a href="./?gallery={quote(row.name)}" target="_self">{text(signed_numbers(case.title))}</a>'
    return (
        f'<tr><th scope="row">{title}</th>'
        f'<td class="now"><span class="t-{status}">{sign(STATES[status].sign, "")} {WORDS[status]}</span></td>'
        f'<td class="op">{text(operators(row.report))}</td><td class="src">{source_link(case.source)}</td></tr>'
    )
