"""run: one case through all engines and schemes, compared and explained."""

import dataclasses
from collections.abc import Mapping, Sequence

from qlab.case import Case
from qlab.compare import Comparison, compare_outputs
from qlab.engines.onnx_reference import run_reference
from qlab.engines.ort import run_ort
from qlab.engines.results import LEVELS, EngineRun, RunStatus, SessionConfig
from qlab.errors import TraceError
from qlab.explain import ignored_bias, part
from qlab.forms import to_qoperator
from qlab.graph import Graph, same_graph, same_outputs
from qlab.reference import reference_of
from qlab.report import Explanation, Finding, Report, SchemeRun, Verdict, run_label
from qlab.rules import find_broken_rules
from qlab.runtimes import store
from qlab.schemes import DEFAULT, Scheme, schemes
from qlab.schemes.ort_cpu import CPUS, OrtCpu
from qlab.trace import Trace, trace
from qlab.verdict import verdict

__all__ = ["Explanation", "Finding", "Report", "SchemeRun", "Verdict", "run", "run_label"]


def run(
    case: Case,
    *,
    levels: Sequence[str] = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"),
    entries: Mapping[str, str] | None = None,
    cpu: str = "this",
    version: str = "",
    timeout: float = 20.0,
) -> Report:
    """Run a case through ONNX Runtime at each level, the reference evaluator and every scheme of ``DEFAULT``.

    Args:
        levels: ONNX Runtime's graph optimization levels, by its own literals.
        entries: session config entries.
        cpu: where ONNX Runtime runs: ``this`` machine, or ``avx2``, ``sse`` or ``arm64`` under qemu-user.
        version: the release, one of ``qlab.runtimes.store.here()``; "" is the installed one.
        timeout: seconds for one request to an engine.

    Raises:
        QlabError: an unknown level, or none; a release that is not here.
    """
    if version:
        store.find(version)
    if not levels:
        raise TraceError(f"no level is given; ONNX Runtime has {', '.join(LEVELS)}")
    for level in levels:
        if level not in LEVELS:
            raise TraceError(f"unknown level {level!r}; ONNX Runtime has {', '.join(LEVELS)}")
    settings = dict(entries or {})
    engine_runs = [
        run_ort(case, SessionConfig(level, settings), cpu=cpu, version=version, timeout=timeout)
        for level in levels
    ]
    engine_runs.append(run_reference(case))
    traces = _Traces(case, engine_runs)
    # Where no run gave an output there is nothing that a prediction could be checked against: none is made.
    ran = any(r.status is RunStatus.OK for r in engine_runs[:-1])
    for name in DEFAULT:
        if name != "ort_cpu":
            traces.add("given", case.graph, schemes()[name])
        elif ran:
            traces.add("given", case.graph, traces.ort_cpu())
    explanations = []
    for engine_run in engine_runs[:-1]:
        if engine_run.graph is not None:
            level = engine_run.config.level
            traces.add(level, engine_run.graph, traces.ort_cpu())
            traces.add(level, engine_run.graph, schemes()["exact"])
        explanations.append(_explain(engine_run, traces))
    traces.add_other_cpus(engine_runs)
    fused = to_qoperator(case)
    if fused is not None and ran:
        traces.add("fused", fused.graph, traces.ort_cpu())
        traces.add("fused", fused.graph, schemes()["exact"])
    comparisons = _comparisons(case, engine_runs, traces, explanations)
    report = Report(
        case,
        tuple(engine_runs),
        tuple(traces.runs),
        comparisons,
        tuple(explanations),
        find_broken_rules(case),
        Verdict("unknown", "", ()),
    )
    return dataclasses.replace(report, verdict=verdict(report))


class _Traces:
    """The scheme runs of one case, as they are made; a graph that is the same is traced once."""

    def __init__(self, case: Case, engine_runs: Sequence[EngineRun]) -> None:
        self.case = case
        ran = next((r for r in engine_runs if r.cpu), None)
        self.cpu = ran.cpu if ran else "avx2"
        self.avx512 = ran.avx512 if ran else None
        self.version = ran.version if ran else ""
        self.runs: list[SchemeRun] = []

    def ort_cpu(self, cpu: str = "") -> OrtCpu:
        # session.x64quantprecision rewrites the graph, from ORT_ENABLE_EXTENDED on: the graph that ran shows it.
        wide = self.avx512 if cpu in ("", self.cpu) else None
        return OrtCpu(cpu or self.cpu, version=self.version, avx512=wide)

    def get(self, scheme: str, graph: Graph | None, cpu: str = "") -> SchemeRun | None:
        """The run of a scheme on a graph of this form."""
        found = (
            r
            for r in self.runs
            if graph is not None
            and r.scheme == scheme
            and cpu in ("", r.cpu)
            and same_graph(r.graph, graph)
        )
        return next(found, None)

    def add(self, of: str, graph: Graph, scheme: Scheme) -> SchemeRun:
        """Trace a graph; one of the same form is traced once, and the given graph is listed once."""
        same = self.get(scheme.name, graph, scheme.cpu)
        if same is not None and same.of == "given":
            return same
        if same is not None:
            result = dataclasses.replace(same, of=of)
        else:
            try:
                traced, message = trace(graph, self.case.inputs, scheme), ""
            except TraceError as error:
                traced, message = None, str(error)
            result = SchemeRun(scheme.name, scheme.cpu, of, graph, traced, message)
        self.runs.append(result)
        return result

    def add_other_cpus(self, engine_runs: Sequence[EngineRun]) -> None:
        """ort_cpu of the most optimized graph for the other CPUs, where that changes an output."""
        ran = next((r.graph for r in reversed(engine_runs) if r.graph is not None), self.case.graph)
        here = self.get("ort_cpu", ran, self.cpu)
        for cpu in CPUS:
            if here is None or here.trace is None or cpu == self.cpu:
                continue
            there = self.add(here.of, here.graph, self.ort_cpu(cpu))
            if there.trace is None or same_outputs(there.trace.outputs, here.trace.outputs):
                self.runs.remove(there)


def _explain(engine_run: EngineRun, traces: _Traces) -> Explanation:
    """Is the output what ort_cpu predicts for the graph that ran?"""
    level = engine_run.config.level
    predicted = traces.get("ort_cpu", engine_run.graph, traces.cpu)
    if engine_run.status is not RunStatus.OK:
        return Explanation(level, None, 0, 0, "there is no output to explain")
    if predicted is None:
        return Explanation(
            level, None, 0, 0, "ONNX Runtime did not write out the graph that it ran"
        )
    if predicted.trace is None:
        return Explanation(
            level, None, 0, 0, f"Our model cannot compute this graph: {predicted.message}"
        )
    if any(node.opaque for node in predicted.trace.nodes):
        names = {n.node.qualified_name for n in predicted.trace.nodes if n.opaque}
        return Explanation(
            level,
            None,
            0,
            0,
            f"Our model has no arithmetic for {', '.join(sorted(names))}, so it explains nothing here",
        )
    if not engine_run.repeatable:
        return Explanation(
            level, None, 0, 0, "The output changes from run to run, so there is nothing to explain"
        )
    known = predicted.trace
    compared = compare_outputs(
        predicted.graph, known, ("ort_cpu", known.outputs), ("onnxruntime", engine_run.outputs)
    )
    size = sum(c.size for c in compared)
    wrong = sum(c.mismatches for c in compared)
    if any(c.size < 0 for c in compared):
        return Explanation(
            level, False, 0, 0, "Not explained by our model: it has other shapes or types"
        )
    if wrong:
        codes = "code" if size == 1 else "codes"
        return Explanation(
            level,
            False,
            size,
            wrong,
            f"Not explained by our model: it mispredicts {wrong:,} of {size:,} {codes}",
        )
    codes = "code" if size == 1 else "codes"
    return Explanation(
        level,
        True,
        size,
        0,
        f"ONNX Runtime computed this: predicted and equal in {size:,} of {size:,} {codes}",
    )


def _comparisons(
    case: Case,
    engine_runs: Sequence[EngineRun],
    traces: _Traces,
    explanations: Sequence[Explanation],
) -> tuple[Comparison, ...]:
    exact = traces.get("exact", case.graph)
    known = exact.trace if exact is not None else None
    reference = reference_of(case, known)
    if known is None or reference.label != "exact":
        return tuple(
            c
            for engine_run in engine_runs
            if engine_run.status is RunStatus.OK
            for c in reference.compare(run_label(engine_run), engine_run.outputs)
        )
    found: list[Comparison] = []
    explained = {e.level for e in explanations if e.explained}
    for engine_run in engine_runs:
        if engine_run.status is not RunStatus.OK:
            continue
        label = run_label(engine_run)
        for c in reference.compare(label, engine_run.outputs):
            if c.mismatches and engine_run.engine == "onnxruntime":
                step, why = _why(case.graph, traces, engine_run, explained, known)
                c = dataclasses.replace(c, first_differing_step=step, why=why)
            found.append(c)
    for scheme_run in traces.runs:
        if scheme_run.trace is None or scheme_run is exact:
            continue
        for c in reference.compare(scheme_run.label, scheme_run.trace.outputs):
            if c.mismatches:
                step, why = _why_scheme(case.graph, scheme_run, known, traces)
                c = dataclasses.replace(c, first_differing_step=step, why=why)
            found.append(c)
    return tuple(found)


def _why(
    given: Graph, traces: _Traces, engine_run: EngineRun, explained: set[str], exact: Trace
) -> tuple[str, str]:
    """The first differing step of an ONNX Runtime run, and why: only where the model explains the run."""
    if engine_run.config.level not in explained:
        return "", "not explained by our model"
    predicted = traces.get("ort_cpu", engine_run.graph, traces.cpu)
    return _why_scheme(given, predicted, exact, traces) if predicted else ("", "")


def _why_scheme(
    given: Graph, scheme_run: SchemeRun, exact: Trace, traces: _Traces
) -> tuple[str, str]:
    """The first step at which a scheme's trace parts from exact.

    On a graph that was rewritten, exact arithmetic of the rewritten graph tells the two causes apart: the rewriting
    (the graph means something else) or the arithmetic (the graph means the same).
    """
    if scheme_run.trace is None:
        return "", ""
    same = same_graph(scheme_run.graph, given)
    if same:
        rewritten: Trace | None = exact
    else:
        meant = traces.get("exact", scheme_run.graph)
        rewritten = meant.trace if meant is not None else None
    if rewritten is None:
        return "", ""
    meaning = compare_outputs(given, exact, ("exact", exact.outputs), ("exact", rewritten.outputs))
    if not same and any(c.mismatches for c in meaning):
        bias = ignored_bias(given, scheme_run.graph)
        if bias is not None:
            return f"{bias[0].outputs[0]}:with_bias", bias[1]
        return (
            "",
            "the rewritten graph means something else: exact arithmetic on it gives another result",
        )
    if scheme_run.scheme == "exact":
        return "", ""
    parted = part(rewritten, scheme_run.trace)
    return (parted.label, parted.why) if parted else ("", "")
