"""Candidates: one arithmetic beside what a person's implementation returned."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from qlab.case import Case
from qlab.errors import TraceError
from qlab.forms import to_qoperator
from qlab.graph import Graph
from qlab.probes import thinned
from qlab.qtypes import Array, is_float
from qlab.report import SchemeRun
from qlab.schemes import Scheme, variants
from qlab.separation import stored, value_of
from qlab.trace import Index, trace


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One arithmetic on one graph.

    Attributes:
        label: ``float64 (half away from zero)``, ``ort_cpu (sse)``; of the fused form where it says so.
        run: its trace; ``trace`` None where it cannot compute the case, and ``message`` says why.
        mismatches: elements that are not the given ones; -1 where there is no trace, or another shape.
        distance: the sum of their differences (of codes in steps).
        first: the first such element; None where all agree.
        further: how many of the further outputs' elements are not the given ones.
    """

    label: str
    scheme: Scheme
    run: SchemeRun
    mismatches: int
    distance: float
    first: Index | None
    further: int = 0

    @property
    def explains(self) -> bool:
        """True where every element is the given one, of the further outputs too."""
        return self.mismatches == 0 and self.further == 0


@dataclasses.dataclass(frozen=True)
class Evidence:
    """A case and what the person's implementation returned there.

    Attributes:
        output: of the tensor's dtype and shape; with ``indexes`` of the shape (len(indexes),).
        indexes: the elements that ``output`` holds; () where it holds all.
    """

    case: Case
    output: Array
    indexes: tuple[Index, ...] = ()

    def part(self, value: Array) -> Array:
        """Those elements of the whole tensor that ``output`` holds."""
        return np.asarray([value[i] for i in self.indexes], value.dtype) if self.indexes else value


@dataclasses.dataclass(frozen=True)
class Given:
    """Evidence with the case's graphs: ``given``, ``fused``, ``ran``."""

    evidence: Evidence
    graphs: dict[str, Graph]

    @property
    def case(self) -> Case:
        """Of the evidence."""
        return self.evidence.case

    @property
    def output(self) -> Array:
        """Of the evidence."""
        return self.evidence.output


def forms(case: Case, name: str) -> dict[str, Graph]:
    """The graphs of a case that make the tensor: ``given``, and ``fused`` where one operator takes a group's place."""
    graphs = {"given": case.graph}
    fused = to_qoperator(case)
    if fused is not None and makes(fused.graph, name):
        graphs["fused"] = fused.graph
    return graphs


def makes(graph: Graph, name: str) -> bool:
    """True where a node of the graph has this output."""
    return name in {o for node in graph.nodes for o in node.outputs}


def different(case: Case) -> dict[str, Scheme]:
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


def judged(label: str, scheme: Scheme, of: str, given: Sequence[Given], tensor: str) -> Candidate:
    """The scheme on that graph of each case, beside what the person returned."""
    first, *others = given
    graph = first.graphs[of]
    try:
        traced = trace(graph, first.case.inputs, scheme)
    except TraceError as error:
        run = SchemeRun(scheme.name, scheme.cpu, of, graph, None, str(error))
        return Candidate(label, scheme, run, -1, 0, None)
    run = SchemeRun(scheme.name, scheme.cpu, of, graph, traced)
    value = value_of(traced, tensor)
    if value.shape != first.output.shape:
        return Candidate(label, scheme, run, -1, 0, None)
    apart = differs(value, first.output)
    wrong = np.argwhere(apart)
    at = tuple(int(i) for i in wrong[0]) if len(wrong) else None
    with np.errstate(invalid="ignore"):
        far = np.abs(value[apart].astype(np.float64) - first.output[apart].astype(np.float64))
    distance = float(np.nan_to_num(far).sum())
    further = sum(_further(scheme, of, other, tensor) for other in others)
    return Candidate(label, scheme, run, len(wrong), distance, at, further)


def _further(scheme: Scheme, of: str, given: Given, tensor: str) -> int:
    """How many elements of a further output are not the given ones; all where the scheme does not compute it."""
    graph = given.graphs.get(of)
    if graph is None:
        return given.output.size
    try:
        value = given.evidence.part(value_of(trace(graph, given.case.inputs, scheme), tensor))
    except (TraceError, IndexError):
        return given.output.size
    if value.shape != given.output.shape:
        return given.output.size
    return int(differs(value, given.output).sum())


def real_type(output: Array) -> type[np.floating[Any]]:
    """The type in which reals are compared: float64 where the person's are, else float32, which holds the smaller."""
    return np.float64 if output.dtype == np.float64 else np.float32


def differs(one: Array, other: Array) -> Array:
    """Elementwise: other codes, or other reals as `real_type` of the second; NaN is NaN."""
    if is_float(one.dtype) or is_float(other.dtype):
        kind = real_type(other)
        one, other = one.astype(kind), other.astype(kind)
        return np.asarray((one != other) & ~(np.isnan(one) & np.isnan(other)))
    return np.asarray(one.astype(np.int64) != other.astype(np.int64))
