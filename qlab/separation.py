"""Separation: a further input on which arithmetics differ that agree on the given one. "Run this one: you are A if …"."""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from qlab.arithmetic import shared
from qlab.case import Case
from qlab.errors import TraceError
from qlab.forms import to_qoperator
from qlab.probes import elementwise, other_parameters, probes, resting
from qlab.qtypes import Array
from qlab.schemes import Scheme
from qlab.trace import Index, Number, Trace, broadcasts, trace

MOST_TRIALS = 300  # of making an input simpler
MOST_ELEMENTS = 8  # that are looked at


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """A scheme on a form of the graph: ``given``, or ``fused``."""

    label: str
    scheme: Scheme
    of: str


@dataclasses.dataclass(frozen=True)
class Separation:
    """An input on which arithmetics differ.

    Attributes:
        case: the input. tensor, indexes: the elements that tell, at most ``MOST_ELEMENTS``.
        answers: the values there → labels of those that give them, in their order.
        parameters: True where scales and zero points are others too: with the given ones no input was found.
    """

    case: Case
    tensor: str
    indexes: tuple[Index, ...]
    answers: tuple[tuple[tuple[Number, ...], tuple[str, ...]], ...]
    parameters: bool


def separate(
    case: Case, tensor: str, arithmetics: Iterable[Arithmetic]
) -> tuple[Separation | None, int]:
    """The input that tells most of them apart, made simple; and how many results of each were compared.

    With the given parameters where there is such an input, else with others.
    """
    several = list(arithmetics)
    tried = 0
    for parameters, cases in ((False, probes(case)), (True, other_parameters(case))):
        best: tuple[int, Case, tuple[Index, ...]] | None = None
        for probe in cases:
            if not parameters and _same_inputs(probe, case):
                continue  # there they agree
            with shared():
                found = results(probe, tensor, several)
            tried += 0 if parameters or not found else next(iter(found.values())).size
            kinds, indexes = _telling(probe, list(found.values()))
            if kinds > (best[0] if best else 1):
                best = kinds, probe, indexes
            if kinds == len(several):
                break
        if best is not None:
            simple, indexes = _simplest(best[1], best[2], tensor, several)
            operators = ", ".join(dict.fromkeys(node.op_type for node in case.graph.nodes))
            title = f"{operators}: tells {len(several)} arithmetics apart"
            simple = dataclasses.replace(simple, title=title, source="", note="")
            answers = _answers(simple, tensor, indexes, several)
            return Separation(simple, tensor, indexes, answers, parameters), tried
    return None, tried


def _same_inputs(one: Case, other: Case) -> bool:
    return all(np.array_equal(value, other.inputs[name]) for name, value in one.inputs.items())


def results(case: Case, tensor: str, arithmetics: Iterable[Arithmetic]) -> dict[str, Array]:
    """Label → what it gives, of one shape; those that cannot compute the input are left out."""
    several = list(arithmetics)
    found: dict[str, Array] = {}
    fused = to_qoperator(case) if any(a.of == "fused" for a in several) else None
    for arithmetic in several:
        graph = fused.graph if arithmetic.of == "fused" and fused is not None else case.graph
        try:
            traced = trace(graph, case.inputs, arithmetic.scheme)
        except TraceError:
            continue
        value = value_of(traced, tensor)
        if not found or value.shape == next(iter(found.values())).shape:
            found[arithmetic.label] = value
    return found


def value_of(traced: Trace, tensor: str) -> Array:
    """What a trace has of a tensor, as `stored`."""
    return stored(traced.outputs.get(tensor, traced.tensors[tensor]))


def stored(value: Array) -> Array:
    """Exact reals as float64, which is closer than any engine's."""
    return value.astype(np.float64) if value.dtype == object else value


def _telling(probe: Case, values: list[Array]) -> tuple[int, tuple[Index, ...]]:
    """How many are told apart by a few elements, and these: always the one that tells most of what is left."""
    if len(values) < 2 or not values[0].size:
        return 1, ()
    columns = np.stack([v.astype(np.float64).reshape(-1) for v in values])
    groups = np.zeros(len(values), np.int64)
    kinds, chosen = 1, []
    differing = np.flatnonzero((columns != columns[0]).any(0))  # NaN counts as differing from NaN
    for _ in range(MOST_ELEMENTS if len(differing) else 0):
        coded = np.empty((len(values), len(differing)), np.int64)
        for place, column in enumerate(columns[:, differing].T[:MOST_COLUMNS]):
            coded[:, place] = np.unique(column, return_inverse=True)[1]
        coded = coded[:, : min(len(differing), MOST_COLUMNS)] + groups[:, None] * len(values)
        count = 1 + (np.diff(np.sort(coded, axis=0), axis=0) != 0).sum(0)
        if int(count.max()) <= kinds:
            break
        kinds = int(count.max())
        places = np.flatnonzero(count == kinds)
        place = places[_nearest(probe, values[0].shape, differing[places])]
        chosen.append(int(differing[place]))
        groups = np.unique(coded[:, place], return_inverse=True)[1]
    shape = values[0].shape
    return kinds, tuple(tuple(int(i) for i in np.unravel_index(c, shape)) for c in chosen)


MOST_COLUMNS = 4096  # differing elements that are looked at


def _nearest(probe: Case, shape: Index, places: Array) -> int:
    """Which of these elements of an elementwise result has inputs nearest to their zero points; else the first."""
    if not elementwise(probe.graph):
        return 0
    distance = np.zeros(len(places))
    for name, value in probe.inputs.items():
        if not broadcasts(value.shape, shape):
            continue  # an intermediate result does not depend on every input
        rest = float(resting(probe, name).astype(np.float64))
        flat = np.broadcast_to(value, shape).reshape(-1)
        distance += np.abs(flat[places].astype(np.float64) - rest)
    return int(np.argmin(distance))


def _answers(
    case: Case, tensor: str, indexes: tuple[Index, ...], arithmetics: Iterable[Arithmetic]
) -> tuple[tuple[tuple[Number, ...], tuple[str, ...]], ...]:
    grouped: dict[tuple[Number, ...], list[str]] = {}
    for label, value in results(case, tensor, arithmetics).items():
        grouped.setdefault(tuple(value[i] for i in indexes), []).append(label)
    return tuple((values, tuple(labels)) for values, labels in grouped.items())


def _simplest(
    case: Case, indexes: tuple[Index, ...], tensor: str, arithmetics: list[Arithmetic]
) -> tuple[Case, tuple[Index, ...]]:
    """The same differences with less input: those elements of an elementwise case, else entries at rest."""
    wanted = len(_answers(case, tensor, indexes, arithmetics))
    if elementwise(case.graph):
        alone = alone_of(case, indexes)
        places = tuple((k,) for k in range(len(indexes)))
        # One element can take another path through a kernel than many: so it is computed again.
        if len(_answers(alone, tensor, places, arithmetics)) >= wanted:
            return alone, places
        return case, indexes
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
                if len(_answers(simpler, tensor, indexes, arithmetics)) >= wanted:
                    case = simpler
            step //= 2
    return case, indexes


def alone_of(case: Case, indexes: tuple[Index, ...]) -> Case:
    """Only these elements of an elementwise case, one after the other: inputs of shape (n,)."""
    inputs = {}
    for name, value in case.inputs.items():
        taken = []
        for index in indexes:
            own = index[len(index) - value.ndim :]
            taken.append(
                value[tuple(0 if n == 1 else i for n, i in zip(value.shape, own, strict=True))]
            )
        inputs[name] = np.asarray(taken, value.dtype)
    return dataclasses.replace(case, inputs=inputs)
