"""The two sides of a comparison: a scheme, ONNX Runtime with its settings, or the ONNX reference evaluator, by one name.

``exact``, ``tflite (single rounding)``: any label of `qlab.schemes.variants`. ``onnxruntime``, or short ``ort``, may be
followed by a release, a level and a CPU in any order: ``ort:1.27.0:DISABLE_ALL:avx2``. ``onnx_reference`` is the
ONNX reference evaluator.
"""

import dataclasses
from collections.abc import Mapping

from qlab.case import Case
from qlab.compare import Comparison, differing
from qlab.engines.onnx_reference import run_reference
from qlab.engines.ort import run_ort, run_ort_each
from qlab.engines.pool import CPUS
from qlab.engines.results import LEVELS, EngineRun, RunStatus, SessionConfig
from qlab.errors import QlabError, TraceError
from qlab.graph import Graph
from qlab.qtypes import Array
from qlab.reference import exact_trace, reference_of
from qlab.runtimes import store
from qlab.runtimes.versions import checked
from qlab.schemes import Scheme, variant
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import Trace, trace

ORT = ("onnxruntime", "ort")
REFERENCE = "onnx_reference"
DEFAULT_LEVEL = "ORT_ENABLE_ALL"


@dataclasses.dataclass(frozen=True)
class Side:
    """What computes one side.

    Attributes:
        engine: ``onnxruntime``, ``onnx_reference``, or "" for a scheme.
        scheme: its label. level, version, cpu: ONNX Runtime's; a version "" is the installed one.
    """

    engine: str = ""
    scheme: str = ""
    level: str = ""
    version: str = ""
    cpu: str = "this"

    @property
    def label(self) -> str:
        """The name that `side` reads, in full: ``onnxruntime:1.27.0:ORT_ENABLE_ALL``."""
        if self.engine != "onnxruntime":
            return self.scheme or self.engine
        cpu = self.cpu if self.cpu != "this" else ""
        return ":".join(filter(None, (self.engine, self.version, self.level, cpu)))

    def run(self, case: Case, *, once: bool = False, timeout: float = 20.0) -> "Result":
        """Compute a case. What keeps this side from it is in the result's message, never raised.

        Args:
            once: ONNX Runtime runs it once: it is faster, but the graph that ran and its trace are not known.
            timeout: seconds for a request to ONNX Runtime.
        """
        if self.engine == REFERENCE:
            return self._of_run(case, run_reference(case))
        if self.engine:
            return self._of_run(case, self._ort(case, once=once, timeout=timeout))
        try:
            traced = trace(case.graph, case.inputs, self.arithmetic())
        except TraceError as error:
            return Result(self, {}, str(error), case.graph)
        return Result(self, traced.outputs, "", case.graph, traced)

    def _ort(self, case: Case, *, once: bool, timeout: float) -> EngineRun:
        config = SessionConfig(self.level)
        if not once:
            return run_ort(case, config, cpu=self.cpu, version=self.version, timeout=timeout)
        feeds = [case.inputs]
        return run_ort_each(
            case, feeds, config, cpu=self.cpu, version=self.version, timeout=timeout
        )[0]

    def arithmetic(self) -> Scheme:
        """The scheme of a side that is one."""
        return variant(self.scheme)

    def _of_run(self, case: Case, run: EngineRun) -> "Result":
        graph = run.graph or case.graph
        message = f"{run.status.value}: {run.message}" if run.status is not RunStatus.OK else ""
        predicted = _prediction(case, run) if run.graph is not None else None
        return Result(self, run.outputs, message, graph, predicted, run)


@dataclasses.dataclass(frozen=True)
class Result:
    """What one side gives for one case.

    Attributes:
        outputs: name → array; empty where there is none, and ``message`` says why.
        graph: the graph that was computed: the given one, or what ONNX Runtime made of it.
        trace: of that graph: the scheme's, or ort_cpu's where it predicts every output of ONNX Runtime; else None.
        run: the engine's own answer; None for a scheme.
    """

    side: Side
    outputs: Mapping[str, Array]
    message: str
    graph: Graph
    trace: Trace | None = None
    run: EngineRun | None = None


def side(name: str) -> Side:
    """A side by its name.

    Raises:
        QlabError: there is no such scheme, level, CPU or form of a release; the line says what there is.
    """
    engine, *parts = name.strip().split(":")
    if engine == REFERENCE and not parts:
        return Side(REFERENCE)
    if engine not in ORT:
        return Side(scheme=_scheme_label(name.strip()))
    found = {"level": "", "version": "", "cpu": ""}
    for part in parts:
        kind, value = _setting(part, name)
        if found[kind]:
            raise QlabError(f"{name}: it has two of {kind}, {found[kind]} and {value}")
        found[kind] = value
    if found["version"]:
        store.find(found["version"])
    return Side(
        "onnxruntime",
        level=found["level"] or DEFAULT_LEVEL,
        version=found["version"],
        cpu=found["cpu"] or "this",
    )


def _scheme_label(name: str) -> str:
    try:
        variant(name)
    except TraceError as error:
        raise QlabError(
            f"{error}; or an engine: ort, ort:DISABLE_ALL, ort:1.27.0:ALL:avx2, {REFERENCE}"
        ) from None
    return name


def _setting(part: str, name: str) -> tuple[str, str]:
    """Which setting of ONNX Runtime a part of a name is, and its value."""
    short = part.upper().removeprefix("ORT_").removeprefix("ENABLE_")
    for level in LEVELS:
        if short == level.removeprefix("ORT_").removeprefix("ENABLE_"):
            return "level", level
    if part in CPUS:
        return "cpu", part
    if part[:1].isdigit():
        return "version", checked(part)
    levels = ", ".join(level.removeprefix("ORT_").removeprefix("ENABLE_") for level in LEVELS)
    raise QlabError(
        f"{name[:80]}: {part[:40]!r} is no level ({levels}), CPU ({', '.join(CPUS)}) or release such as 1.27.0"
    )


def compare(case: Case, expected: Result, actual: Result) -> tuple[Comparison, ...]:
    """Actual against expected, one for each output that both have."""
    known = next(
        (r.trace for r in (expected, actual) if r.trace is not None and r.graph is case.graph),
        None,
    ) or exact_trace(case)
    between = (expected.side.label, expected.outputs), (actual.side.label, actual.outputs)
    return reference_of(case, known).between(*between)


def _prediction(case: Case, run: EngineRun) -> Trace | None:
    """ort_cpu's trace of the graph that ran, where each of its outputs is what ONNX Runtime returned."""
    assert run.graph is not None
    try:
        scheme = OrtCpu(run.cpu, version=run.version, avx512=run.avx512)
        predicted = trace(run.graph, case.inputs, scheme)
    except TraceError:
        return None
    if any(node.opaque for node in predicted.nodes) or not run.repeatable:
        return None
    same = all(_same(predicted.outputs[name], value) for name, value in run.outputs.items())
    return predicted if same else None


def _same(a: Array, b: Array) -> bool:
    return (a.dtype, a.shape) == (b.dtype, b.shape) and not differing(a, b).any()
