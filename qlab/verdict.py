"""The verdict: the answer first, in sentences that a reporter of the bug would be glad to read."""

from collections.abc import Sequence

import numpy as np

from qlab.compare import Comparison
from qlab.engines.messages import plain_words
from qlab.engines.results import EngineRun, RunStatus
from qlab.qtypes import Array
from qlab.reasons import details, fused_elsewhere, other_cpus
from qlab.releases import known_releases
from qlab.report import Report, Verdict
from qlab.wording import SHOWN, count, distinct, engine, reference, values_text


def verdict(report: Report) -> Verdict:
    """Headline and sentences of a report whose other fields are complete."""
    runs = report.ort_runs
    failed = [r for r in runs if r.status is not RunStatus.OK]
    unstable = [r for r in runs if not r.repeatable]
    if failed:
        status, headline = "failed", _failed(report, failed)
    elif unstable:
        status, headline = "differs", _not_repeatable(report, unstable[0])
    elif not any(report.comparisons_of(r) for r in runs):
        status, headline = "unknown", _not_compared(report)
    elif all(c.equal for r in runs for c in report.comparisons_of(r)):
        status, headline = "equal", _equal(report)
    else:
        status, headline = "differs", _differs(report)
    return Verdict(status, _sentence(headline), tuple(map(_sentence, details(report, status))))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "…")) or not text else f"{text}."


def _pair(c: Comparison, report: Report, outputs: Array, expected: Array) -> str:
    """``−88 where exact arithmetic has −87``: all values where they are few, else the first that differs."""
    if c.first_mismatch is None:
        return ""
    if outputs.size <= SHOWN:
        return f"{values_text(outputs)} where {reference(report)} has {values_text(expected)}"
    at = f"{c.output}{list(c.first_mismatch)}" if c.first_mismatch else c.output
    got, want = (np.asarray(v[c.first_mismatch]) for v in (outputs, expected))
    return f"first at {at}: {values_text(got)} where {reference(report)} has {values_text(want)}"


def _failed(report: Report, failed: Sequence[EngineRun]) -> str:
    run = failed[0]
    verb = {
        RunStatus.REJECTED: "refuses this",
        RunStatus.FAILED: "accepts the model and fails when it runs",
        RunStatus.CRASHED: "crashes on this",
        RunStatus.TIMED_OUT: "does not finish this in time",
    }[run.status]
    where = (
        ""
        if len(failed) == len(report.ort_runs)
        else f" at {', '.join(r.config.level for r in failed)}"
    )
    if report.findings:
        return f"{engine(run)} {verb}{where}: {report.findings[0].found}"
    words = f", in its words: {plain_words(run.message)}" if run.message else ""
    return f"{engine(run)} {verb}{where}{words}"


def _not_repeatable(report: Report, run: EngineRun) -> str:
    exact = report.scheme("exact")
    outputs = exact.trace.outputs if exact is not None and exact.trace is not None else {}
    right = "; ".join(values_text(v) for v in outputs.values() if v.size)
    return (
        f"The output of {engine(run)} is not repeatable: two runs of one session gave different codes, so it is "
        "memory that was never written" + (f". Exact arithmetic has {right}" if right else "")
    )


def _not_compared(report: Report) -> str:
    run = report.ort_runs[0]
    shown = "; ".join(f"{name} = {values_text(v)}" for name, v in run.outputs.items())
    exact = report.scheme("exact")
    reason = (
        exact.message
        if exact is not None and exact.trace is None
        else "the operator has no arithmetic in qlab"
    )
    return f"{engine(run)} returns {shown}; there is no exact result to compare with ({reason})"


def _equal(report: Report) -> str:
    run = report.ort_runs[-1]
    size = sum(c.size for c in report.comparisons_of(run))
    values = [values_text(distinct(v)) for v in run.outputs.values() if distinct(v).size <= SHOWN]
    given = f": {'; '.join(values)}" if len(values) == len(run.outputs) and values else ""
    agree = "the code agrees with" if size == 1 else f"all {size:,} codes agree with"
    same = f"{agree} {reference(report)}{given}"
    if report.findings:
        all_same = "the formula taken literally gives the same"
        return f"{report.findings[0].found}. {engine(run)} runs it all the same{given}; {all_same}"
    elsewhere = other_cpus(report) + fused_elsewhere(report) + list(known_releases(report.case))
    if elsewhere:
        return f"{engine(run)} is right here, {same}. {elsewhere[0]}"
    return f"{engine(run)} is right: {same}"


def _differs(report: Report) -> str:
    wrong = [(r, c) for r in report.ort_runs for c in report.comparisons_of(r) if not c.equal]
    run, c = wrong[-1]
    right = [
        r.config.level
        for r in report.ort_runs
        if all(o.equal for o in report.comparisons_of(r)) and r.status is RunStatus.OK
    ]
    if c.size < 0:
        return c.why
    expected = c.expected_codes
    exact = report.scheme("exact")
    outputs = run.outputs[c.output]
    if exact is not None and exact.trace is not None and c.expected == "exact":
        expected = exact.trace.outputs[c.output]
    elif c.output in report.case.expected:
        expected = report.case.expected[c.output]
    text = f"{count(c)}: {engine(run)} gives {_pair(c, report, outputs, expected)}"
    if outputs.size > SHOWN:
        text = f"{count(c)}, {_pair(c, report, outputs, expected)}".replace(
            "where", f"from {engine(run)} where", 1
        )
    if right:
        return f"At {run.config.level} {text}; {', '.join(right)} is right"
    return text
