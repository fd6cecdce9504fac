"""Why, and what else is known: the sentences below the verdict's headline."""

from collections.abc import Sequence

from qlab.engines.messages import plain_words
from qlab.engines.results import EngineRun, RunStatus
from qlab.explain import ignored_bias
from qlab.graph import Graph, same_graph
from qlab.releases import known_releases
from qlab.report import Explanation, Finding, Report, SchemeRun, run_label
from qlab.wording import SHOWN, count, distinct, values_text

CPU_WORDS = {
    "avx2": "a CPU with AVX2 and no VNNI",
    "sse": "a CPU with SSE only",
    "vnni": "a CPU with VNNI",
    "arm64": "ARM64",
}


def details(report: Report, status: str) -> list[str]:
    """All sentences below the headline, each once."""
    found: list[str] = []
    if status == "differs":
        found += _why(report) if all(r.repeatable for r in report.ort_runs) else []
    if status == "failed":
        found += [_broken(f, said=f is report.findings[0], ran=False) for f in report.findings]
        found += [
            f"Its words: {plain_words(r.message)}"
            for r in report.ort_runs
            if r.message and report.findings
        ]
    found += _explained(report.explanations)
    elsewhere = other_cpus(report) + fused_elsewhere(report) + list(known_releases(report.case))
    # Where all is right, the headline has the first of these already.
    found += elsewhere[1:] if status == "equal" and not report.findings else elsewhere
    if status != "failed":
        found += [
            _broken(f, said=status == "equal" and f is report.findings[0], ran=True)
            for f in report.findings
        ]
    found += _second_opinions(report)
    return [s for s in dict.fromkeys(found) if s]


def _broken(finding: Finding, *, said: bool, ran: bool) -> str:
    """Rule, what the case has (unless the headline said it), the nearest form."""
    found = "" if said else f". {finding.found}"
    what = "Nearest form that it allows" if ran else "Nearest form that runs"
    nearest = f". {what}: {finding.nearest}" if finding.nearest else ""
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


def other_cpus(report: Report) -> list[str]:
    """What ort_cpu predicts on other classes of CPU, where that is another result."""
    here = next((r.cpu for r in report.ort_runs if r.cpu), "")
    by_text: dict[str, list[str]] = {}
    for run in report.scheme_runs:
        if run.scheme != "ort_cpu" or run.cpu == here or run.trace is None or run.of == "fused":
            continue
        for c in report.comparisons_of(run):
            values = values_text(run.trace.outputs[c.output]) if c.size <= SHOWN else ""
            text = "the result is exact" if c.equal else count(c)
            text += f": {values}" if values else ""
            text += f", since {c.why}" if c.why else ""
            by_text.setdefault(text, []).append(CPU_WORDS[run.cpu])
    return [
        f"On {_list(names)} {'our model predicts that ' if 'exact' in text else 'our model predicts: '}{text}"
        for text, names in by_text.items()
    ]


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def fused_elsewhere(report: Report) -> list[str]:
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
        values = values_text(distinct(outputs))
        releases = " (1.26.0 and older)" if bias[0].op_type == "QLinearConv" else ""
        sentences.append(
            f"A release that fuses this group{releases} gives {values}: {count(c)}, since {bias[1]}"
        )
    return sentences


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
                what = c.why if c.size < 0 else f"{count(c)}, so it is no second opinion here"
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
