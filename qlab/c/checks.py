"""Inputs on which a C file is checked, and what the trace has there: the case's own, directed ones and random ones."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from qlab.case import Case
from qlab.errors import TraceError
from qlab.kernels.qlinearadd import first_is_scalar
from qlab.probes import all_codes, elementwise, of_shape, probes
from qlab.qtypes import Array, bounds, is_float, is_integer
from qlab.schemes import Scheme, scheme
from qlab.trace import Trace, trace

ELEMENTS = 4096  # single elements that are checked where elements stand alone
VALUES = 6000  # of all runs of a graph whose elements do not
RUNS = 24
_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38)


@dataclasses.dataclass(frozen=True)
class Elements:
    """Single elements: values of the graph's inputs and of its output, all of one length."""

    inputs: dict[str, Array]
    expected: Array


def runs(case: Case, arithmetic: Scheme, first: Trace) -> list[tuple[Case, Trace]]:
    """Further inputs of the case's shapes, each with its trace; the case itself is the first."""
    made = [(case, first)]
    size = sum(v.size for v in (*case.inputs.values(), *first.outputs.values()))
    count = min(RUNS, VALUES // max(size, 1))
    for probe in itertools.islice(of_shape(case), count):
        try:
            made.append((probe, trace(probe.graph, probe.inputs, arithmetic)))
        except TraceError:
            continue
    return made


def elements(case: Case, arithmetic: Scheme) -> Elements | None:
    """Directed and random elements; None where elements do not stand alone."""
    names = case.graph.inputs
    if len(case.graph.nodes) != 1 or not elementwise(case.graph) or len(names) not in (1, 2):
        return None
    if len(names) == 1:
        values = next(probes(case)).inputs[names[0]].reshape(-1)
        if is_float(values.dtype):
            with np.errstate(over="ignore"):  # of 3e38 in smaller formats
                values = np.concatenate([np.asarray(_SPECIAL, values.dtype), values])
        inputs = {names[0]: values[:ELEMENTS]}
        return Elements(inputs, _traced(case, arithmetic, inputs))
    if not all(is_integer(case.inputs[n].dtype) for n in names):
        return None
    flat = dict(zip(names, _pairs(case), strict=True))
    shapes = [case.inputs[n].shape for n in names]
    # Which operand is a scalar decides the order of ONNX Runtime's kernel: the shapes here decide as the case's do.
    alone = [first_is_scalar(*shapes), first_is_scalar(*reversed(shapes))]
    if not any(alone):
        return Elements(flat, _traced(case, arithmetic, flat))
    one, other = names if alone[0] else (names[1], names[0])
    laid = {one: flat[one][:, None], other: np.stack([flat[other]] * 2, 1)}
    return Elements(flat, _traced(case, arithmetic, laid)[:, 0])


def _traced(case: Case, arithmetic: Scheme, inputs: dict[str, Array]) -> Array:
    made = trace(case.graph, inputs, arithmetic)
    return made.outputs[case.graph.outputs[0]]


def _pairs(case: Case) -> Sequence[Array]:
    """Pairs of codes: the ends and their neighbours, those nearest to a tie, random ones."""
    rng = np.random.default_rng(0)
    dtypes = [case.inputs[n].dtype for n in case.graph.inputs]
    columns = []
    for dtype in dtypes:
        low, high = bounds(dtype)
        middle = (low + high + 1) // 2
        edges = [low, low + 1, high - 1, high, middle - 1, middle, middle + 1]
        columns.append((np.asarray(edges), rng.integers(low, high, ELEMENTS // 2, endpoint=True)))
    corners = np.stack(np.meshgrid(columns[0][0], columns[1][0]), -1).reshape(-1, 2)
    drawn = np.stack([c[1] for c in columns], 1)
    pairs = np.concatenate([corners, _ties(case, ELEMENTS - len(corners) - len(drawn)), drawn])
    return [pairs[:, i].astype(dtype) for i, dtype in enumerate(dtypes)]


def _ties(case: Case, count: int) -> Array:
    """Of all pairs of codes those whose result lies nearest to the middle between two codes."""
    whole = all_codes(case)
    none = np.zeros((0, 2), np.int64)
    if whole is None:
        return none
    steps = trace(whole.graph, whole.inputs, scheme("float64")).nodes[0].steps
    decides = next((s.value for s in steps if s.decides), None)
    a, b = (whole.inputs[n].astype(np.int64).reshape(-1) for n in whole.graph.inputs)
    if decides is None or decides.shape != (len(a), len(b)):
        return none
    with np.errstate(all="ignore"):
        distance = np.abs(np.abs(decides - np.floor(decides)) - 0.5)
    nearest = np.argsort(np.nan_to_num(distance, nan=1.0), axis=None, kind="stable")[:count]
    rows, columns = np.unravel_index(nearest, decides.shape)
    return np.stack([a[rows], b[columns]], 1)
