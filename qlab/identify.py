"""Identify: which arithmetic explains what a person's own implementation returned?

Every scheme in every variant traces the case. Those that give all of the output explain it; where several do, a
further input is searched on which they differ.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from qlab.case import Case
from qlab.engines.ort import run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.errors import CaseError, TraceError
from qlab.forms import to_qoperator
from qlab.graph import Graph
from qlab.probes import thinned
from qlab.qtypes import Array, dtype_name, is_float
from qlab.report import SchemeRun
from qlab.schemes import Scheme, variants
from qlab.separation import Arithmetic, Separation, separate, stored
from qlab.trace import Index, trace

Progress = Callable[[str], None]
RAN = "ran"


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One arithmetic on one graph.

    Attributes:
        label: ``float64 (half away from zero)``, ``ort_cpu (sse)``; of the fused form where it says so.
        run: its trace; ``trace`` None where it cannot compute the case, and ``message`` says why.
        mismatches: elements that are not the given ones; -1 where there is no trace, or another shape.
        distance: the sum of their differences (of codes in steps).
        first: the first such element; None where all agree.
    """

    label: str
    scheme: Scheme
    run: SchemeRun
    mismatches: int
    distance: float
    first: Index | None

    @property
    def explains(self) -> bool:
        """True where every element is the given one."""
        return self.mismatches == 0


@dataclasses.dataclass(frozen=True)
class Identification:
    """What was found.

    Attributes:
        tensor, output: what the person returned, of that tensor.
        candidates: the best first; those without a trace last.
        separation: where several explain it and some further input tells them apart; else None.
        tried: further inputs on which those that explain it were compared.
    """

    case: Case
    tensor: str
    output: Array
    candidates: tuple[Candidate, ...]
    separation: Separation | None
    tried: int

    @property
    def explaining(self) -> tuple[Candidate, ...]:
        """Those that explain all of it."""
        return tuple(c for c in self.candidates if c.explains)

    @property
    def groups(self) -> tuple[tuple[Candidate, ...], ...]:
        """Those with a trace, the best first; candidates that give the same for this case are one group."""
        found: dict[bytes, list[Candidate]] = {}
        for candidate in self.candidates:
            if candidate.run.trace is not None:
                traced = candidate.run.trace
                value = stored(traced.outputs.get(self.tensor, traced.tensors[self.tensor]))
                if is_float(value.dtype):
                    value = value.astype(np.float32)
                found.setdefault(value.tobytes(), []).append(candidate)
        return tuple(tuple(group) for group in found.values())

    @property
    def best(self) -> Candidate | None:
        """The one that explains most; None where nothing computes the case."""
        return next((c for c in self.candidates if c.mismatches >= 0), None)


def asked_for(case: Case, tensor: str = "") -> tuple[str, str, Index]:
    """Name, dtype and shape of the tensor whose values are asked for: ``tensor``, else the first graph output.

    Raises:
        CaseError: there is no such tensor, or no scheme computes the case, so that its shape is not known.
    """
    name = tensor or next(iter(case.graph.outputs), "")
    reason = ""
    for scheme in variants().values():
        try:
            found = trace(case.graph, case.inputs, scheme)
        except TraceError as error:
            reason = reason or str(error)
            continue
        made = [o for node in case.graph.nodes for o in node.outputs if o]
        if name not in made:
            raise CaseError(f"{name!r} is made by no node; made are {', '.join(made)}")
        if name in found.outputs:
            value = found.outputs[name]
            return name, dtype_name(value.dtype), value.shape
        value = found.tensors[name]
        dtype = "float32" if value.dtype == object else dtype_name(value.dtype)
        return name, dtype, value.shape
    raise CaseError(f"no scheme computes this case, so there is nothing to compare with: {reason}")


def identify(
    case: Case, output: Array, *, tensor: str = "", progress: Progress | None = None
) -> Identification:
    """Which schemes and settings give ``output`` for the case?

    Args:
        output: what the person's implementation returned: of the dtype and shape of the tensor (`asked_for`).
        tensor: one that a node makes; "" is the first graph output.
        progress: called with the label of each arithmetic before it is tried.

    Raises:
        CaseError: another dtype or shape than the tensor's, or no scheme computes the case.
    """
    name, dtype, shape = asked_for(case, tensor)
    if output.shape != shape or dtype_name(output.dtype) != dtype:
        raise CaseError(
            f"{name} is {dtype} of the shape {list(shape)}; "
            f"given is {dtype_name(output.dtype)} of the shape {list(output.shape)}"
        )
    tell = progress or (lambda _: None)
    graphs = {"given": case.graph}
    fused = to_qoperator(case)
    if fused is not None and name in {o for n in fused.graph.nodes for o in n.outputs}:
        graphs["fused"] = fused.graph
    candidates = []
    for label, scheme in _different(case).items():
        tell(label)
        for of, graph in graphs.items():
            shown = label if of == "given" else f"{label} of the fused form"
            candidates.append(_candidate(shown, scheme, of, graph, case, name, output))
    if not any(c.explains for c in candidates):
        tell("the graph that ONNX Runtime runs by default")
        candidates += _of_the_run(case, name, output)
    candidates.sort(
        key=lambda c: (c.mismatches < 0, c.mismatches, c.distance)
    )  # stable: the simplest first
    explaining = [c for c in candidates if c.explains]
    separation, tried = None, 0
    if len(explaining) > 1 and explaining[0].run.of != RAN:  # that graph is made for these inputs
        tell("an input that tells them apart")
        several = (Arithmetic(c.label, c.scheme, c.run.of) for c in explaining)
        separation, tried = separate(case, name, several)
    return Identification(case, name, output, tuple(candidates), separation, tried)


def _of_the_run(case: Case, name: str, output: Array) -> list[Candidate]:
    """ort_cpu on the graph that ONNX Runtime makes of the case at ORT_ENABLE_ALL, where it is another one."""
    run = run_ort(case, SessionConfig("ORT_ENABLE_ALL"))
    graph = run.graph
    if run.status is not RunStatus.OK or graph is None:
        return []
    if [n.qualified_name for n in graph.nodes] == [n.qualified_name for n in case.graph.nodes]:
        return []
    if name not in {o for node in graph.nodes for o in node.outputs}:
        return []
    schemes = {label: s for label, s in variants().items() if s.name == "ort_cpu"}
    return [
        _candidate(f"{label} of the graph at ORT_ENABLE_ALL", s, RAN, graph, case, name, output)
        for label, s in schemes.items()
    ]


def _different(case: Case) -> dict[str, Scheme]:
    """The variants without those that are another's name for this operator.

    Where the zero point is added before rounding anyway, the variant that says so is the scheme itself. Two are one
    where they take the same steps by the same formulas to the same numbers, seen on a small part of the case.
    """
    small = thinned(case)
    found: dict[str, Scheme] = {}
    seen: set[object] = set()
    for label, scheme in variants().items():
        try:
            traced = trace(small.graph, small.inputs, scheme)
        except TraceError:
            found[label] = scheme  # said with its reason
            continue
        steps = tuple(
            (s.name, s.formula, s.note, stored(s.value).tobytes())
            for n in traced.nodes
            for s in n.steps
        )
        if (scheme.name, steps) not in seen or scheme.name == "ort_cpu":
            found[label] = scheme
        seen.add((scheme.name, steps))
    return found


def _candidate(
    label: str, scheme: Scheme, of: str, graph: Graph, case: Case, tensor: str, output: Array
) -> Candidate:
    try:
        traced = trace(graph, case.inputs, scheme)
    except TraceError as error:
        run = SchemeRun(scheme.name, scheme.cpu, of, graph, None, str(error))
        return Candidate(label, scheme, run, -1, 0, None)
    run = SchemeRun(scheme.name, scheme.cpu, of, graph, traced)
    value = stored(traced.outputs.get(tensor, traced.tensors[tensor]))
    if value.shape != output.shape:
        return Candidate(label, scheme, run, -1, 0, None)
    differs = _differs(value, output)
    wrong = np.argwhere(differs)
    first = tuple(int(i) for i in wrong[0]) if len(wrong) else None
    with np.errstate(invalid="ignore"):
        far = np.abs(value[differs].astype(np.float64) - output[differs].astype(np.float64))
    return Candidate(label, scheme, run, len(wrong), float(np.nan_to_num(far).sum()), first)


def _differs(one: Array, other: Array) -> Array:
    if is_float(one.dtype) or is_float(other.dtype):
        one, other = one.astype(np.float32), other.astype(np.float32)
        return np.asarray((one != other) & ~(np.isnan(one) & np.isnan(other)))
    return np.asarray(one.astype(np.int64) != other.astype(np.int64))
