"""Probes: further inputs of the same graph, to tell arithmetics apart. Every code where elements stand alone, else random."""

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from qlab.case import Case
from qlab.graph import Graph
from qlab.ops import operators
from qlab.qtypes import DTYPES, Array, bounds, dtype_name, is_float, is_integer

ALL = 256  # values of an input; of a larger type its ends, its middle and random ones
RANDOM = 200  # probes of a graph whose elements do not stand alone


def elementwise(graph: Graph) -> bool:
    """True where each element of a result depends on those at its own place only, and parameters are per tensor.

    The inputs may then have any shapes that broadcast.
    """
    known = operators()
    return all(
        (found := known.get((node.domain, node.op_type))) is not None and found.elementwise
        for node in graph.nodes
    ) and all(value.size == 1 for value in graph.constants.values())


def all_codes(case: Case) -> Case | None:
    """The case over all combinations of codes: the first input along the first axis, the second along the second.

    None where elements do not stand alone, or the inputs are not one or two of integer codes of up to 16 bits.
    """
    names = case.graph.inputs
    if not elementwise(case.graph) or len(names) not in (1, 2):
        return None
    dtypes = [case.inputs[name].dtype for name in names]
    if not all(is_integer(dtype) and dtype.itemsize <= 2 for dtype in dtypes):
        return None
    values = [_every(case.inputs[name].dtype) for name in names]
    if any(v.size > ALL for v in values) and len(names) == 2:
        return None
    return _grid(case, values)


def probes(case: Case, seed: int = 0) -> Iterator[Case]:
    """Cases of the same graph; elementwise ones cover many values in one case, others have the given shapes."""
    rng = np.random.default_rng(seed)
    names = case.graph.inputs
    if elementwise(case.graph) and len(names) in (1, 2):
        whole = all_codes(case)
        if whole is not None:
            yield whole
            return
        for _ in range(4):
            yield _grid(case, [_some(case, name, rng) for name in names])
        return
    yield from of_shape(case, seed)


def of_shape(case: Case, seed: int = 0) -> Iterator[Case]:
    """Cases of the same graph whose inputs have the given shapes."""
    rng = np.random.default_rng(seed)
    for number in range(RANDOM):
        inputs = {name: drawn(case, name, rng, number) for name in case.graph.inputs}
        yield dataclasses.replace(case, inputs=inputs, expected={})


FEW = 48  # values of each operand where parameters are varied
SETS = 40  # of parameters


def other_parameters(case: Case, seed: int = 0) -> Iterator[Case]:
    """Cases of the same graph with other scales and zero points, for what no input of the given ones tells apart.

    Half of the scales are powers of two, so that ties abound; half are near simple fractions of each other, so that
    results come close to ties and the order of roundings decides.
    """
    rng = np.random.default_rng(seed)
    given = case.graph.constants
    for number in range(SETS):
        constants = {n: varied(n, v, rng, exact=number % 2 == 0) for n, v in given.items()}
        graph = dataclasses.replace(case.graph, constants=constants)
        changed = dataclasses.replace(case, graph=graph, expected={})
        probe = next(probes(changed, seed + number))
        yield thinned(probe, number)


def varied(name: str, value: Array, rng: np.random.Generator, *, exact: bool) -> Array:
    """Another scale (a power of two, or near a simple fraction) or zero point (near the middle); any other as it is."""
    if value.dtype == np.float32 and name.lower().endswith("scale"):
        of_result = name[:1] in "CYy"  # the largest, so that many results lie between two codes
        if exact:
            return np.asarray(2.0 ** (rng.integers(-3, 1, value.shape) + 2 * of_result), np.float32)
        fractions = np.ones(value.shape) if of_result else rng.integers(1, 64, value.shape) / 32
        near = (fractions * 0.007).astype(np.float32)
        return np.asarray(
            np.nextafter(near, rng.choice([0.0, 1.0], value.shape).astype(np.float32))
        )
    if is_integer(value.dtype) and name.lower().endswith(_ZERO_POINTS):
        low, high = bounds(value.dtype)
        middle = (low + high + 1) // 2
        return np.asarray(
            np.clip(middle + rng.integers(-3, 4, value.shape), low, high).astype(value.dtype)
        )
    return value


def thinned(case: Case, seed: int = 0) -> Case:
    """An elementwise case with at most `FEW` values along each axis of its inputs; any other as it is."""
    if not elementwise(case.graph):
        return case
    rng = np.random.default_rng(seed)
    shape = np.broadcast_shapes(*(v.shape for v in case.inputs.values()))
    kept = [np.sort(rng.permutation(n)[:FEW]) for n in shape]
    inputs = {}
    for name, value in case.inputs.items():
        for axis, chosen in enumerate(kept[len(shape) - value.ndim :]):
            value = np.take(value, chosen if value.shape[axis] > 1 else [0], axis)
        inputs[name] = value
    return dataclasses.replace(case, inputs=inputs, expected={})


def resting(case: Case, name: str) -> Array:
    """The value of an input or constant that stands for nothing: its zero point, where a node names one, else 0. Shape ()."""
    value = _held(case, name)
    for node in case.graph.nodes:
        if name in node.inputs:
            after = node.inputs[node.inputs.index(name) + 1 :]
            found = next((case.tensor(n) for n in after if n.lower().endswith(_ZERO_POINTS)), None)
            if found is not None and found.size == 1 and found.dtype == value.dtype:
                return found.reshape(())
    return np.zeros((), value.dtype)


_ZERO_POINTS = ("zero_point", "_zp")


def _held(case: Case, name: str) -> Array:
    value = case.tensor(name)
    assert value is not None, name
    return value


def _grid(case: Case, values: list[Array]) -> Case:
    """Values of one or two inputs in all combinations."""
    if len(values) == 2:
        values = [values[0][:, None], values[1][None, :]]
    inputs: Mapping[str, Array] = dict(zip(case.graph.inputs, values, strict=True))
    return dataclasses.replace(case, inputs=inputs, expected={})


def _every(dtype: np.dtype[np.generic]) -> Array:
    low, high = bounds(dtype)
    return np.arange(low, high + 1).astype(dtype)


def _some(case: Case, name: str, rng: np.random.Generator) -> Array:
    """Codes: all, or ends, middle and random. Reals: beside the ties of the scales in the graph, and random."""
    value = case.inputs[name]
    if is_integer(value.dtype):
        low, high = bounds(value.dtype)
        if high - low < ALL:
            return _every(value.dtype)
        middle = (low + high + 1) // 2
        near = [low, low + 1, high - 1, high, *range(middle - 8, middle + 9)]
        drawn = _integers(rng, low, high, (ALL - len(near),))
        return np.asarray([*near, *drawn.tolist()], drawn.dtype).astype(value.dtype)
    return _reals(case, dtype_name(value.dtype), rng, 40 * ALL if len(case.inputs) == 1 else ALL)


def _integers(rng: np.random.Generator, low: int, high: int, shape: tuple[int, ...]) -> Array:
    """Any of the range; uint64 where it goes beyond int64."""
    return rng.integers(low, high, shape, np.uint64 if high >= 2**63 else np.int64, endpoint=True)


def _reals(case: Case, dtype: str, rng: np.random.Generator, size: int) -> Array:
    scales = [
        abs(float(v.reshape(-1)[0]))
        for v in case.graph.constants.values()
        if is_float(v.dtype) and v.size == 1
    ]
    scale = rng.choice([s for s in scales if np.isfinite(s) and s > 0] or [1.0], size)
    halves = rng.integers(-600, 600, size) / 2  # an odd one is a tie of QuantizeLinear
    with np.errstate(over="ignore"):
        values = (halves * scale).astype(DTYPES[dtype])
        beside = np.nextafter(values.astype(np.float32), np.float32(0)).astype(DTYPES[dtype])
    return np.asarray(np.where(rng.random(size) < 0.5, values, beside))


def drawn(case: Case, name: str, rng: np.random.Generator, number: int) -> Array:
    """Values of an input or constant: any codes; a third of the probes at the ends of the range, a third near the zero point."""
    value = _held(case, name)
    if value.dtype == np.bool_:
        return rng.random(value.shape) < 0.5
    if not is_integer(value.dtype):
        return _reals(case, dtype_name(value.dtype), rng, value.size).reshape(value.shape)
    low, high = bounds(value.dtype)
    codes = _integers(rng, low, high, value.shape)
    if number % 3 == 1:
        codes = np.where(rng.random(value.shape) < 0.5, low, high).astype(codes.dtype)
    if number % 3 == 2:
        codes = np.clip(
            min(int(resting(case, name)), 2**62) + rng.integers(-3, 4, value.shape),
            low,
            min(high, 2**63 - 1),
        )
    return codes.astype(value.dtype)
