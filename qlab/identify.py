"""Identify: which arithmetic explains what a person's own implementation returned?

Every scheme in every variant traces the case. Those that give all of the output explain it; where several do, a
further input is searched on which they differ.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from qlab.arithmetic import shared
from qlab.candidates import (
    Candidate,
    Evidence,
    Given,
    different,
    differs,
    forms,
    judged,
    makes,
    real_type,
)
from qlab.case import Case
from qlab.engines.ort import run_ort
from qlab.engines.results import EngineRun, RunStatus, SessionConfig
from qlab.errors import CaseError, TraceError
from qlab.graph import Graph
from qlab.qtypes import Array, dtype_name, is_float
from qlab.schemes import variants
from qlab.separation import Arithmetic, Separation, separate, value_of
from qlab.trace import Index, trace

Progress = Callable[[str], None]
RAN = "ran"


@dataclasses.dataclass(frozen=True)
class Returned:
    """What ONNX Runtime returned for the case at ORT_ENABLE_ALL, beside the given output.

    Attributes:
        run: its run. mismatches: elements that are not the given ones, -1 where it returned nothing to compare.
        first: the first of them, or None.
    """

    run: EngineRun
    mismatches: int = -1
    first: Index | None = None

    @property
    def lost(self) -> bool:
        """True where the run may end otherwise another time."""
        return self.run.status in (RunStatus.CRASHED, RunStatus.TIMED_OUT)


@dataclasses.dataclass(frozen=True)
class Identification:
    """What was found.

    Attributes:
        tensor, output: what the person returned, of that tensor.
        candidates: the best first; those without a trace last.
        separation: where several explain it and some further input tells them apart; else None.
        tried: further results in which those that explain it were compared.
        further: elements of the further outputs.
        returned: what ONNX Runtime returned.
        swapped: the first arithmetic that explains all of it with the last two axes swapped; None where something
            explains it as it is, or nothing does so.
    """

    case: Case
    tensor: str
    output: Array
    candidates: tuple[Candidate, ...]
    separation: Separation | None
    tried: int
    further: int
    returned: Returned
    swapped: Candidate | None

    @property
    def explaining(self) -> tuple[Candidate, ...]:
        """Those that explain all of it."""
        return tuple(c for c in self.candidates if c.explains)

    @property
    def groups(self) -> tuple[tuple[Candidate, ...], ...]:
        """Those with a trace, the best first; candidates that give the same for this case are one group."""
        found: dict[tuple[bytes, int], list[Candidate]] = {}
        for candidate in self.candidates:
            if candidate.run.trace is not None:
                value = value_of(candidate.run.trace, self.tensor)
                if is_float(value.dtype):
                    value = value.astype(real_type(self.output))
                found.setdefault((value.tobytes(), candidate.further), []).append(candidate)
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
    for scheme in sorted(variants().values(), key=lambda s: s.name != "float32"):  # quick
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
    case: Case,
    output: Array,
    *,
    tensor: str = "",
    further: Sequence[Evidence] = (),
    progress: Progress | None = None,
) -> Identification:
    """Which schemes and settings give ``output`` for the case?

    Args:
        output: what the person's implementation returned: of the dtype and shape of the tensor (`asked_for`).
        tensor: one that a node makes; "" is the first graph output.
        further: what it returned for other cases, such as those that told explanations apart before.
        progress: called with the label of each arithmetic before it is tried.

    Raises:
        CaseError: another dtype or shape than the tensor's, or no scheme computes the case.
    """
    name = asked_for(case, tensor)[0]
    given = [Given(e, forms(e.case, name)) for e in (Evidence(case, output), *further)]
    for evidence in (one.evidence for one in given):
        _check(evidence, name)
        if _operators(evidence.case.graph) != _operators(case.graph):
            raise CaseError(
                f"a further output is of another graph ({', '.join(_operators(evidence.case.graph))}) than the case's "
                f"({', '.join(_operators(case.graph))}): give cases of one graph"
            )
    tell = progress or (lambda _: None)
    candidates = []
    with shared():
        for of, graph in given[0].graphs.items():
            for label, scheme in different(dataclasses.replace(case, graph=graph)).items():
                shown = label if of == "given" else f"{label} of the fused form"
                tell(shown)
                candidates.append(judged(shown, scheme, of, given, name))
    tell("ONNX Runtime")
    run = _ran(given[0], name)
    if not any(c.explains for c in candidates) and RAN in given[0].graphs:
        for one in given[1:]:
            _ran(one, name)
        for label, scheme in variants().items():
            if scheme.name == "ort_cpu":
                shown = f"{label} of the graph at ORT_ENABLE_ALL"
                candidates.append(judged(shown, scheme, RAN, given, name))
    # Stable: the simplest first.
    candidates.sort(key=lambda c: (c.mismatches < 0, c.mismatches + c.further, c.distance))
    explaining = [c for c in candidates if c.explains]
    separation, tried = None, 0
    if len(explaining) > 1 and explaining[0].run.of != RAN:  # that graph is made for these inputs
        tell("an input that tells them apart")
        several = (Arithmetic(c.label, c.scheme, c.run.of) for c in explaining)
        separation, tried = separate(case, name, several)
    return Identification(
        case,
        name,
        output,
        tuple(candidates),
        separation,
        tried,
        sum(one.output.size for one in given[1:]),
        _returned(run, name, output),
        None if explaining else _swapped(candidates, name, output),
    )


def _operators(graph: Graph) -> list[str]:
    return [node.qualified_name for node in graph.nodes]


def _check(evidence: Evidence, name: str) -> None:
    """Raises CaseError where the output is not of the tensor's dtype and shape."""
    _, dtype, shape = asked_for(evidence.case, name)
    shape = (len(evidence.indexes),) if evidence.indexes else shape
    output = evidence.output
    if output.shape != shape or dtype_name(output.dtype) != dtype:
        raise CaseError(
            f"{name} is {dtype} of the shape {list(shape)}; "
            f"given is {dtype_name(output.dtype)} of the shape {list(output.shape)}"
        )


def _ran(given: Given, name: str) -> EngineRun:
    """The case's run at ORT_ENABLE_ALL; its graph is added as ``ran`` where it is another one."""
    run = run_ort(given.case, SessionConfig("ORT_ENABLE_ALL"))
    graph = run.graph if run.status is RunStatus.OK else None
    other = graph is not None and _operators(graph) != _operators(given.case.graph)
    if graph is not None and other and makes(graph, name):
        given.graphs[RAN] = graph
    return run


def _returned(run: EngineRun, name: str, output: Array) -> Returned:
    value = run.outputs.get(name)
    if value is None or value.shape != output.shape or not run.repeatable:
        return Returned(run)
    wrong = np.argwhere(differs(value, output))
    return Returned(run, len(wrong), tuple(int(i) for i in wrong[0]) if len(wrong) else None)


def _swapped(candidates: Sequence[Candidate], name: str, output: Array) -> Candidate | None:
    """The first that explains it where its values are taken with the last two axes swapped."""
    if output.ndim < 2 or min(output.shape[-2:]) == 1:
        return None
    *outer, rows, columns = output.shape
    other = output.reshape(*outer, columns, rows).swapaxes(-1, -2)
    for candidate in candidates:
        if candidate.mismatches > 0 and candidate.run.trace is not None:
            value = value_of(candidate.run.trace, name)
            if not differs(value, other).any():
                return candidate
    return None
