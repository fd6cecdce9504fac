"""Identify: which arithmetic explains what a person's own implementation returned?

Every scheme in every variant traces the case. Those that give all of the output explain it; where several do, a
further input is searched on which they differ.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from qlab.case import Case
from qlab.errors import CaseError, TraceError
from qlab.forms import to_qoperator
from qlab.graph import Graph
from qlab.probes import elementwise, other_parameters, probes, resting
from qlab.qtypes import Array, dtype_name, is_float
from qlab.report import SchemeRun
from qlab.schemes import Scheme, variants
from qlab.trace import Index, Number, trace

MOST_TRIALS = 300  # of making an input simpler
Progress = Callable[[str], None]


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
class Separation:
    """An input on which candidates that explain the given output differ.

    Attributes:
        case: the input. tensor, index: the element in which they differ.
        answers: value → labels of the candidates that give it, in the candidates' order.
        parameters: True where scales and zero points are others too: with the given ones no input was found.
    """

    case: Case
    tensor: str
    index: Index
    answers: tuple[tuple[Number, tuple[str, ...]], ...]
    parameters: bool


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
                value = _stored(traced.outputs.get(self.tensor, traced.tensors[self.tensor]))
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
    for label, scheme in variants().items():
        tell(label)
        for of, graph in graphs.items():
            shown = label if of == "given" else f"{label} of the fused form"
            candidates.append(_candidate(shown, scheme, of, graph, case, name, output))
    candidates.sort(
        key=lambda c: (c.mismatches < 0, c.mismatches, c.distance)
    )  # stable: the simplest first
    explaining = [c for c in candidates if c.explains]
    separation, tried = None, 0
    if len(explaining) > 1:
        tell("an input that tells them apart")
        separation, tried = _separate(case, name, explaining)
    return Identification(case, name, output, tuple(candidates), separation, tried)


def _candidate(
    label: str, scheme: Scheme, of: str, graph: Graph, case: Case, tensor: str, output: Array
) -> Candidate:
    try:
        traced = trace(graph, case.inputs, scheme)
    except TraceError as error:
        run = SchemeRun(scheme.name, scheme.cpu, of, graph, None, str(error))
        return Candidate(label, scheme, run, -1, 0, None)
    run = SchemeRun(scheme.name, scheme.cpu, of, graph, traced)
    value = _stored(traced.outputs.get(tensor, traced.tensors[tensor]))
    if value.shape != output.shape:
        return Candidate(label, scheme, run, -1, 0, None)
    differs = _differs(value, output)
    wrong = np.argwhere(differs)
    first = tuple(int(i) for i in wrong[0]) if len(wrong) else None
    with np.errstate(invalid="ignore"):
        far = np.abs(value[differs].astype(np.float64) - output[differs].astype(np.float64))
    return Candidate(label, scheme, run, len(wrong), float(np.nan_to_num(far).sum()), first)


def _stored(value: Array) -> Array:
    """Exact reals as float64, which is closer than any engine's."""
    return value.astype(np.float64) if value.dtype == object else value


def _differs(one: Array, other: Array) -> Array:
    if is_float(one.dtype) or is_float(other.dtype):
        one, other = one.astype(np.float32), other.astype(np.float32)
        return np.asarray((one != other) & ~(np.isnan(one) & np.isnan(other)))
    return np.asarray(one.astype(np.int64) != other.astype(np.int64))


def _separate(
    case: Case, tensor: str, explaining: Iterable[Candidate]
) -> tuple[Separation | None, int]:
    """The further input on which most candidates differ, made simple; and how many elements were compared.

    With the given parameters where there is one, else with others.
    """
    candidates = list(explaining)
    tried = 0
    for parameters, found in ((False, probes(case)), (True, other_parameters(case))):
        best, compared = _best(found, tensor, candidates)
        tried += 0 if parameters else compared
        if best is not None:
            simple, index = _simplest(*best, tensor, candidates)
            answers = _answers(simple, tensor, index, candidates)
            return Separation(simple, tensor, index, answers, parameters), tried
    return None, tried


def _best(
    cases: Iterable[Case], tensor: str, candidates: list[Candidate]
) -> tuple[tuple[Case, Index] | None, int]:
    """The case and element with the most different results; and how many elements were compared."""
    best, most, tried = None, 1, 0
    for probe in cases:
        results = list(_results(probe, tensor, candidates).values())
        if len(results) < 2:
            continue
        stack = np.stack([v.astype(np.float64) for v in results])
        tried += stack[0].size
        kinds = 1 + (np.diff(np.sort(stack, axis=0), axis=0) != 0).sum(0)
        if int(kinds.max(initial=1)) > most:
            most = int(kinds.max())
            best = probe, _nearest(probe, np.argwhere(kinds == most))
        if most == len(candidates):
            break
    return best, tried


def _results(case: Case, tensor: str, candidates: Iterable[Candidate]) -> dict[str, Array]:
    """What each candidate gives; those that cannot compute the input are left out."""
    candidates = list(candidates)
    found: dict[str, Array] = {}
    fused = to_qoperator(case) if any(c.run.of == "fused" for c in candidates) else None
    for candidate in candidates:
        graph = fused.graph if candidate.run.of == "fused" and fused is not None else case.graph
        try:
            traced = trace(graph, case.inputs, candidate.scheme)
        except TraceError:
            continue
        found[candidate.label] = _stored(traced.outputs.get(tensor, traced.tensors[tensor]))
    return found


def _answers(
    case: Case, tensor: str, index: Index, candidates: Iterable[Candidate]
) -> tuple[tuple[Number, tuple[str, ...]], ...]:
    grouped: dict[Number, list[str]] = {}
    for label, value in _results(case, tensor, candidates).items():
        grouped.setdefault(value[index].item(), []).append(label)
    return tuple((value, tuple(labels)) for value, labels in grouped.items())


def _nearest(probe: Case, places: Array) -> Index:
    """Of elements of an elementwise result the one whose inputs are nearest to their zero points."""
    shape = np.broadcast_shapes(*(v.shape for v in probe.inputs.values()))
    if places.shape[1] != len(shape) or any(v.size == 0 for v in probe.inputs.values()):
        return tuple(int(i) for i in places[0])
    distance = np.zeros(len(places))
    for name, value in probe.inputs.items():
        rest = float(resting(probe, name).astype(np.float64))
        broadcast = np.broadcast_to(value, shape)
        if any(p.max() >= n for p, n in zip(places.T, shape, strict=True)):
            return tuple(int(i) for i in places[0])
        distance += np.abs(broadcast[tuple(places.T)].astype(np.float64) - rest)
    return tuple(int(i) for i in places[int(np.argmin(distance))])


def _simplest(
    case: Case, index: Index, tensor: str, candidates: list[Candidate]
) -> tuple[Case, Index]:
    """The same difference with less input: one element of an elementwise case, else entries at rest."""
    wanted = len(_answers(case, tensor, index, candidates))
    alone = _alone(case, index)
    if alone is not None:
        origin = (0,) * len(index)
        if len(_answers(alone, tensor, origin, candidates)) == wanted:
            return alone, origin
        return case, index
    trials = 0
    for name, value in case.inputs.items():
        rest = resting(case, name)
        step = max(value.size // 2, 1)
        while step and trials < MOST_TRIALS:
            for start in range(0, value.size, step):
                current = case.inputs[name]
                changed = current.copy().reshape(-1)
                changed[start : start + step] = rest
                if np.array_equal(changed, current.reshape(-1)) or trials >= MOST_TRIALS:
                    continue
                trials += 1
                inputs: Mapping[str, Array] = {**case.inputs, name: changed.reshape(value.shape)}
                simpler = dataclasses.replace(case, inputs=inputs)
                if len(_answers(simpler, tensor, index, candidates)) >= wanted:
                    case = simpler
            step //= 2
    return case, index


def _alone(case: Case, index: Index) -> Case | None:
    """One element of an elementwise case; None where elements do not stand alone."""
    if not elementwise(case.graph):
        return None
    inputs = {}
    for name, value in case.inputs.items():
        own = index[len(index) - value.ndim :]
        at = tuple(0 if n == 1 else i for n, i in zip(value.shape, own, strict=True))
        inputs[name] = value[at].reshape((1,) * len(index))
    return dataclasses.replace(case, inputs=inputs)
