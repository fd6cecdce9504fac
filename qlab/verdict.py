"""The verdict: the answer first, in sentences that a reporter of the bug would be glad to read."""

from collections.abc import Sequence

import numpy as np

from qlab.compare import Comparison
from qlab.engines.messages import plain_words
from qlab.engines.results import EngineRun, RunStatus
from qlab.explain import ignored_bias
from qlab.graph import Graph, same_graph
from qlab.qtypes import Array, is_float
from qlab.releases import known_releases
from qlab.report import Explanation, Finding, Report, SchemeRun, Verdict, run_label
from qlab.views.numbers import integer, show

CPU_WORDS = {
    "avx2": "a CPU with AVX2 and no VNNI",
    "sse": "a CPU with SSE only",
    "vnni": "a CPU with VNNI",
    "arm64": "ARM64",
}
SHOWN = 4  # values listed in a sentence
FAR = 2**20  # a distance in units in the last place that tells nobody anything


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
    return Verdict(status, _sentence(headline), tuple(map(_sentence, _details(report, status))))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "…")) or not text else f"{text}."


def _engine(run: EngineRun) -> str:
    emulated = f" (on an emulated {run.cpu} CPU)" if run.emulated else ""
    return f"ONNX Runtime {run.version}{emulated}"


def _reference(report: Report) -> str:
    compared = report.comparisons[0].expected if report.comparisons else "exact"
    return "exact arithmetic" if compared == "exact" else "the expected result"


def _codes(size: int) -> str:
    return "1 code" if size == 1 else f"{size:,} codes"


def values_text(values: Array, limit: int = SHOWN) -> str:
    """The first values of a result: ``0, 0, 0.05``; repeats along the end are not cut, only the count is."""
    flat = values.reshape(-1)
    shown = [show(v) if is_float(values.dtype) else integer(v) for v in flat[:limit]]
    return ", ".join(shown) + (" …" if flat.size > limit else "")


def _unit(c: Comparison) -> str:
    unit = {"step": "step", "ulp": "unit in the last place"}[c.unit]
    if c.max_difference == 1:
        return f"1 {unit}"
    return f"{c.max_difference:,} {unit.replace('unit', 'units') if c.unit == 'ulp' else 'steps'}"


def _count(c: Comparison) -> str:
    verb = "differs" if c.mismatches == 1 else "differ"
    by = "by" if c.mismatches == 1 else "by up to"
    of = "codes" if c.size != 1 else "code"
    if c.unit == "ulp":
        of = f"values of {c.output}" if c.size != 1 else f"value of {c.output}"
        if c.max_difference >= FAR:
            return f"{c.mismatches:,} of {c.size:,} {of} {verb}"
    return f"{c.mismatches:,} of {c.size:,} {of} {verb}, {by} {_unit(c)}"


def _pair(c: Comparison, report: Report, outputs: Array, expected: Array) -> str:
    """``−88 where exact arithmetic has −87``: all values where they are few, else the first that differs."""
    if c.first_mismatch is None:
        return ""
    if outputs.size <= SHOWN:
        return f"{values_text(outputs)} where {_reference(report)} has {values_text(expected)}"
    at = f"{c.output}{list(c.first_mismatch)}" if c.first_mismatch else c.output
    got, want = (np.asarray(v[c.first_mismatch]) for v in (outputs, expected))
    return f"first at {at}: {values_text(got)} where {_reference(report)} has {values_text(want)}"


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
        return f"{_engine(run)} {verb}{where}: {report.findings[0].found}"
    words = f", in its words: {plain_words(run.message)}" if run.message else ""
    return f"{_engine(run)} {verb}{where}{words}"


def _not_repeatable(report: Report, run: EngineRun) -> str:
    exact = report.scheme("exact")
    outputs = exact.trace.outputs if exact is not None and exact.trace is not None else {}
    right = "; ".join(values_text(v) for v in outputs.values() if v.size)
    return (
        f"The output of {_engine(run)} is not repeatable: two runs of one session gave different codes, so it is "
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
    return f"{_engine(run)} returns {shown}; there is no exact result to compare with ({reason})"


def _equal(report: Report) -> str:
    run = report.ort_runs[-1]
    size = sum(c.size for c in report.comparisons_of(run))
    values = [values_text(_distinct(v)) for v in run.outputs.values() if _distinct(v).size <= SHOWN]
    given = f": {'; '.join(values)}" if len(values) == len(run.outputs) and values else ""
    agree = "the code agrees with" if size == 1 else f"all {size:,} codes agree with"
    same = f"{agree} {_reference(report)}{given}"
    if report.findings:
        all_same = "the formula taken literally gives the same"
        return f"{report.findings[0].found}. {_engine(run)} runs it all the same{given}; {all_same}"
    elsewhere = _other_cpus(report) + _fused(report) + list(known_releases(report.case))
    if elsewhere:
        return f"{_engine(run)} is right here, {same}. {elsewhere[0]}"
    return f"{_engine(run)} is right: {same}"


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
    text = f"{_count(c)}: {_engine(run)} gives {_pair(c, report, outputs, expected)}"
    if outputs.size > SHOWN:
        text = f"{_count(c)}, {_pair(c, report, outputs, expected)}".replace(
            "where", f"from {_engine(run)} where", 1
        )
    if right:
        return f"At {run.config.level} {text}; {', '.join(right)} is right"
    return text


def _details(report: Report, status: str) -> list[str]:
    found: list[str] = []
    if status == "differs":
        found += _why(report) if all(r.repeatable for r in report.ort_runs) else []
    if status == "failed":
        found += [_broken(f, said=f is report.findings[0]) for f in report.findings]
        found += [
            f"Its words: {plain_words(r.message)}"
            for r in report.ort_runs
            if r.message and report.findings
        ]
    found += _explained(report.explanations)
    elsewhere = _other_cpus(report) + _fused(report) + list(known_releases(report.case))
    # Where all is right, the headline has the first of these already.
    found += elsewhere[1:] if status == "equal" and not report.findings else elsewhere
    if status != "failed":
        found += [
            _broken(f, said=status == "equal" and f is report.findings[0]) for f in report.findings
        ]
    found += _second_opinions(report)
    return [s for s in dict.fromkeys(found) if s]


def _broken(finding: Finding, *, said: bool) -> str:
    """Rule, what the case has (unless the headline said it), the nearest form."""
    found = "" if said else f". {finding.found}"
    nearest = f". Nearest form that runs: {finding.nearest}" if finding.nearest else ""
    return f"{finding.rule}{found}{nearest}"


def _why(report: Report) -> list[str]:
    for run in reversed(report.ort_runs):
        for c in report.comparisons_of(run):
            if c.mismatches and c.why:
                rewritten = _rewritten_types(report, run)
                if not c.first_differing_step:
                    return [*rewritten, c.why]
                return [*rewritten, f"They part at {_place(c.first_differing_step, run)}: {c.why}"]
    return []


STEP_WORDS = {
    "with_bias": "the bias",
    "wrapped": "the int32 sum",
    "clamped": "the clamped value",
    "centered": "the code less its zero point",
    "biased": "the zero point",
    "part": "the partial sum",
    "scaled": "the scaled value",
    "rounded": "the rounding",
    "output": "the result",
    "real_zero_point": "the zero point",
}


def _place(step: str, run: EngineRun) -> str:
    """``C:sum`` → "the sum of QLinearAdd"."""
    tensor, name = step.rsplit(":", 1)
    made = run.graph.producer(tensor) if run.graph is not None else None
    return (
        f"{STEP_WORDS.get(name, f'the {name}')} of {made.op_type if made is not None else tensor}"
    )


def _rewritten_types(report: Report, run: EngineRun) -> list[str]:
    """int8 activations that the optimizer turned to uint8."""
    graph = run.graph
    if graph is None or same_graph(graph, report.case.graph):
        return []
    before, after = (_quantize_types(g) for g in (report.case.graph, graph))
    if "int8" in before and "int8" not in after and "uint8" in after:
        return [
            f"At {run.config.level} ONNX Runtime rewrites the int8 activations to uint8 before it fuses"
        ]
    return []


def _quantize_types(graph: Graph) -> set[str]:
    return {
        str(graph.constants[n.inputs[2]].dtype)
        for n in graph.nodes
        if n.op_type == "QuantizeLinear" and len(n.inputs) > 2 and n.inputs[2] in graph.constants
    }


def _explained(explanations: Sequence[Explanation]) -> list[str]:
    if not explanations:
        return []
    judged = [e for e in explanations if e.explained is not None]
    if not judged:
        return [e.sentence for e in explanations[-1:] if "no output" not in e.sentence]
    if all(e.explained for e in judged):
        return [judged[-1].sentence]
    return [f"{e.level}: {e.sentence}" for e in judged if not e.explained]


def _other_cpus(report: Report) -> list[str]:
    """What ort_cpu predicts on other classes of CPU, where that is another result."""
    here = next((r.cpu for r in report.ort_runs if r.cpu), "")
    by_text: dict[str, list[str]] = {}
    for run in report.scheme_runs:
        if run.scheme != "ort_cpu" or run.cpu == here or run.trace is None or run.of == "fused":
            continue
        for c in report.comparisons_of(run):
            values = values_text(run.trace.outputs[c.output]) if c.size <= SHOWN else ""
            text = "the result is exact" if c.equal else _count(c)
            text += f": {values}" if values else ""
            text += f", since {c.why}" if c.why else ""
            by_text.setdefault(text, []).append(CPU_WORDS[run.cpu])
    return [
        f"On {_list(names)} {'our model predicts that ' if 'exact' in text else 'our model predicts: '}{text}"
        for text, names in by_text.items()
    ]


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _fused(report: Report) -> list[str]:
    """What a release that fuses the group computes, where that is not what ran here."""
    run = report.scheme("ort_cpu", "fused")
    if (
        run is None
        or run.trace is None
        or any(r.graph is not None and _has_fused(r.graph, run) for r in report.ort_runs)
    ):
        return []
    bias = ignored_bias(report.case.graph, run.graph)
    sentences = []
    for c in report.comparisons_of(run):
        if c.equal or c.size < 0 or bias is None:
            continue
        outputs = run.trace.outputs[c.output]
        values = values_text(_distinct(outputs))
        releases = " (1.25.1 and older)" if bias[0].op_type == "QLinearConv" else ""
        sentences.append(
            f"A release that fuses this group{releases} gives {values}: {_count(c)}, since {bias[1]}"
        )
    return sentences


def _distinct(values: Array) -> Array:
    """One value a channel where a channel is constant: 0, 0, 0.05 instead of four of each."""
    if values.ndim < 3 or values.size == 0:
        return values
    per_channel = values.reshape(values.shape[0] * values.shape[1], -1)
    constant = bool((per_channel == per_channel[:, :1]).all())
    return per_channel[:, 0] if constant else values


def _has_fused(graph: Graph, fused: SchemeRun) -> bool:
    wanted = {n.op_type for n in fused.graph.nodes if n.op_type.startswith(("QLinear", "QGemm"))}
    return bool(wanted & {n.op_type for n in graph.nodes})


def _second_opinions(report: Report) -> list[str]:
    """Where the reference evaluator, or what the case expects, is not what exact arithmetic gives."""
    sentences = []
    exact = report.scheme("exact")
    for run in report.engine_runs:
        if run.engine != "onnx_reference" or run.status is not RunStatus.OK:
            continue
        for c in report.comparisons_of(run):
            if not c.equal:
                what = c.why if c.size < 0 else f"{_count(c)}, so it is no second opinion here"
                if (
                    c.size == 1
                    and c.unit == "ulp"
                    and exact is not None
                    and exact.trace is not None
                ):
                    ort = report.ort_runs[-1].outputs.get(c.output)
                    ours = exact.trace.outputs[c.output]
                    what = f"The answers for {c.output}: {values_text(ours)} by the specification's formula, "
                    what += f"{values_text(run.outputs[c.output])} by the ONNX reference evaluator"
                    what += f", {values_text(ort)} by ONNX Runtime" if ort is not None else ""
                    sentences.append(what)
                    continue
                sentences.append(f"{run_label(run)}: {what}")
    return sentences
