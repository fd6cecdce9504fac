"""The verdict, the findings and the engines' failures as HTML."""

from collections.abc import Sequence

from qlab.engines.results import EngineRun, RunStatus
from qlab.notation import signed
from qlab.report import Finding, Report, Verdict
from qlab.views.markup import sign, source_link, tag, text
from qlab.views.palette import STATES

WORDS = {"equal": "Equal", "differs": "Differs", "failed": "Did not run", "unknown": "Unknown"}


def title(report: Report) -> str:
    """The case's title as the page's heading, with its source."""
    case = report.case
    heading = case.title or f"A case of {operators(report)}"
    source = tag("span", source_link(case.source), css="q-source") if case.source else ""
    return f'<div class="q-title"><h1>{text(signed_numbers(heading))}</h1>{source}</div>'


def operators(report: Report) -> str:
    """The graph's operators in order, each once."""
    return ", ".join(dict.fromkeys(node.op_type for node in report.case.graph.nodes))


def signed_numbers(words: str) -> str:
    """The real minus sign before digits in a text."""
    return "".join(
        signed(letter)
        if letter == "-" and words[i + 1 : i + 2].isdigit() and not words[i - 1 : i].isalnum()
        else letter
        for i, letter in enumerate(words)
    )


def verdict(result: Verdict) -> str:
    """Headline and sentences, with the state as colour, sign and word."""
    mark = STATES[result.status]
    word = tag("span", f"{sign(mark.sign, '')} {WORDS[result.status]}", css="q-word")
    headline = f'<p class="q-headline">{word} {text(result.headline)}</p>'
    sentences = "".join(f"<li>{text(sentence)}</li>" for sentence in result.sentences)
    listed = f"<ul>{sentences}</ul>" if sentences else ""
    return f'<section class="q-verdict q-{result.status}" aria-label="Verdict">{headline}{listed}</section>'


def finding(found: Finding, report: Report) -> str:
    """One rule that the case breaks: the rule, what the case has, the nearest form."""
    nodes = report.case.graph.nodes
    operator = nodes[found.node].op_type if 0 <= found.node < len(nodes) else "graph"
    where = f"{operator}, {found.tensor}" if found.tensor else operator
    nearest = f"<p>Nearest form: {text(found.nearest)}</p>" if found.nearest else ""
    return (
        f'<div class="q-finding"><p><strong>{text(where)}</strong>: {text(found.rule)}</p>'
        f"<p>{text(found.found)}</p>{nearest}</div>"
    )


def failures(runs: Sequence[EngineRun]) -> str:
    """What the engines said that did not run the case, in their words; empty where all did."""
    items = [
        f"<li><strong>{text(run_name(run))}</strong> {text(STATUS_WORDS[run.status])}: "
        f"<q>{text(run.message)}</q></li>"
        for run in runs
        if run.status is not RunStatus.OK
    ]
    return f'<ul class="q-failures">{"".join(items)}</ul>' if items else ""


STATUS_WORDS = {
    RunStatus.OK: "ran",
    RunStatus.REJECTED: "refuses it",
    RunStatus.FAILED: "failed while running",
    RunStatus.CRASHED: "crashed",
    RunStatus.TIMED_OUT: "timed out",
}


def run_name(run: EngineRun) -> str:
    """``onnxruntime 1.32.0 ORT_ENABLE_ALL``; the reference evaluator has no level."""
    level = f" {run.config.level}" if run.engine == "onnxruntime" else ""
    return f"{run.engine} {run.version}{level}".replace("  ", " ").strip()
