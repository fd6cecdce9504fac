"""Report: everything that is known about one case. What the page, the command line and the exports show."""

import dataclasses

from qlab.case import Case
from qlab.compare import Comparison
from qlab.engines.results import LEVELS, EngineRun, RunStatus
from qlab.graph import Graph, same_graph
from qlab.trace import Trace


@dataclasses.dataclass(frozen=True)
class SchemeRun:
    """One scheme's answer on one graph.

    Attributes:
        scheme, cpu: as in `Trace`.
        of: which graph: ``given``; a level (``ORT_ENABLE_ALL``: the graph that ONNX Runtime ran there);
            ``fused``: the QOperator form that a fusing release computes.
        trace: None where the scheme cannot compute it; ``message`` then says why.
    """

    scheme: str
    cpu: str
    of: str
    graph: Graph
    trace: Trace | None
    message: str = ""

    @property
    def label(self) -> str:
        """``exact``, ``ort_cpu (avx2)``, ``ort_cpu (avx2) of the graph at ORT_ENABLE_ALL``."""
        name = f"{self.scheme} ({self.cpu})" if self.cpu else self.scheme
        if self.of == "given":
            return name
        where = "of the fused form" if self.of == "fused" else f"of the graph at {self.of}"
        return f"{name} {where}"


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Is what ONNX Runtime returned what ort_cpu predicts for the graph that it ran?

    Attributes:
        explained: True: every code equal; False: not; None: no prediction, or no output to compare.
        size, mispredicted: codes compared and codes that differ.
        sentence: "ONNX Runtime computed this: predicted and equal in 1 of 1 codes", or what is not explained.
    """

    level: str
    explained: bool | None
    size: int
    mispredicted: int
    sentence: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """A rule of the specification that the case breaks.

    Attributes:
        node: index of the node in the graph. tensor: the offending input's name.
        rule: in words, from the ONNX schema. found: what the case has.
        nearest: the nearest form that runs, in words; "" where none is known.
        fixed: the case in that form, if it can be made.
    """

    node: int
    tensor: str
    rule: str
    found: str
    nearest: str = ""
    fixed: Case | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The answer first.

    Attributes:
        status: ``equal``, ``differs``, ``failed`` (the engine rejected, crashed or timed out) or ``unknown``.
        headline: one sentence with the counts and the values.
        sentences: why, whether the model explains it, what other CPUs or releases do. Each one sentence.
    """

    status: str
    headline: str
    sentences: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Report:
    """Everything that is known about one case, from one call of `run`.

    ``engine_runs`` has one ONNX Runtime run a level, then the reference evaluator. ``scheme_runs`` has the four
    schemes on the given graph, then ort_cpu and exact on each graph that ONNX Runtime ran where it is another one,
    then ort_cpu for other CPUs where that changes the result, then the fused form where there is one.
    ``comparisons`` compare each against ``exact`` of the given graph. ``elsewhere`` says what other releases, levels,
    passes and CPUs do, run or recorded: one sentence each; `run` leaves it empty.
    """

    case: Case
    engine_runs: tuple[EngineRun, ...]
    scheme_runs: tuple[SchemeRun, ...]
    comparisons: tuple[Comparison, ...]
    explanations: tuple[Explanation, ...]
    findings: tuple[Finding, ...]
    verdict: Verdict
    elsewhere: tuple[str, ...] = ()

    @property
    def ort_explained(self) -> bool | None:
        """True where every ONNX Runtime run that gave outputs is explained; None where none could be judged."""
        judged = [e.explained for e in self.explanations if e.explained is not None]
        return all(judged) if judged else None

    @property
    def exit_status(self) -> int:
        """0 all codes of ONNX Runtime agree with exact, 1 some differ, 3 a run of it failed."""
        runs = self.ort_runs
        if any(r.status is not RunStatus.OK for r in runs):
            return 3
        return 0 if all(c.equal for r in runs for c in self.comparisons_of(r)) else 1

    @property
    def ort_runs(self) -> tuple[EngineRun, ...]:
        """The runs of ONNX Runtime, one a level."""
        return tuple(r for r in self.engine_runs if r.engine == "onnxruntime")

    def comparisons_of(self, run: "EngineRun | SchemeRun") -> tuple[Comparison, ...]:
        """The comparisons of one run against exact, one a graph output."""
        label = run_label(run) if isinstance(run, EngineRun) else run.label
        return tuple(c for c in self.comparisons if c.actual == label)

    def scheme(self, name: str, of: str = "given", cpu: str | None = None) -> SchemeRun | None:
        """The run of one scheme on one graph, or None. A level that ran the given graph has that graph's run."""
        found = [
            r
            for r in self.scheme_runs
            if r.scheme == name and r.of in (of, "given") and cpu in (None, r.cpu)
        ]
        if of in LEVELS and not any(r.of == of for r in found):
            unchanged = any(
                r.config.level == of
                and r.graph is not None
                and same_graph(r.graph, self.case.graph)
                for r in self.ort_runs
            )
            return next(iter(found), None) if unchanged else None
        return next((r for r in found if r.of == of), None)


def run_label(run: EngineRun) -> str:
    """``onnxruntime 1.32.0 ORT_ENABLE_ALL``, ``onnx_reference 1.23.2``."""
    level = f" {run.config.level}" if run.engine == "onnxruntime" else ""
    return f"{run.engine} {run.version}{level}"
