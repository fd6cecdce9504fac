"""What batteries are made of: codes at the ends of their range, scales, values on ties and beside them. All seeded."""

from typing import Any

import numpy as np

from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES, Array, bounds

OPSET = {"": 21, "com.microsoft": 1}
Tensors = dict[str, Array]


def one_node(
    op_type: str, names: tuple[str, ...], tensors: Tensors, inputs: tuple[str, ...], outputs: tuple[str, ...] = ("y",),
    *, domain: str = "", attributes: dict[str, object] | None = None, opset: int = 21,
) -> Case:  # fmt: skip
    """A case of one node; ``inputs`` are fed at run time, the other tensors are constants."""
    present = tuple(n if n in tensors else "" for n in names)
    node = Node(op_type, present, outputs, domain, attributes or {})
    constants = {k: v for k, v in tensors.items() if k not in inputs}
    graph = Graph((node,), constants, inputs, outputs, {**OPSET, "": opset})
    return Case(graph, {k: tensors[k] for k in inputs}, title=op_type)


def codes(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    """Random codes, a third of them at the ends of the range."""
    low, high = bounds(dtype)
    values = rng.integers(low, high + 1, shape)
    edges = rng.choice([low, high], shape)
    return np.where(rng.random(shape) < 1 / 3, edges, values).astype(DTYPES[dtype])


def scalar(dtype: str, value: Any) -> Array:
    """A 0-d tensor."""
    return np.asarray(value, DTYPES[dtype])


def zero_point(rng: np.random.Generator, dtype: str, shape: tuple[int, ...] = ()) -> Array:
    """Zero points: the ends, odd ones in the middle, any."""
    low, high = bounds(dtype)
    middle = (low + high + 1) // 2
    choices = [low, high, middle, middle + 1, middle - 1, int(rng.integers(low, high + 1))]
    return np.asarray(rng.choice(choices, shape)).astype(DTYPES[dtype])


def scale(
    rng: np.random.Generator, shape: tuple[int, ...] = (), low: int = -12, high: int = 1
) -> Array:
    """Scales over powers of two, a third of them round."""
    powers = 2.0 ** rng.uniform(low, high, shape)
    rounded = 2.0 ** np.rint(np.log2(powers))
    return np.asarray(np.where(rng.random(shape) < 1 / 3, rounded, powers)).astype(np.float32)


def beside(rng: np.random.Generator, values: Array, steps: int = 1) -> Array:
    """Float32 values moved by up to ``steps`` units in the last place."""
    bits = np.ascontiguousarray(values.astype(np.float32)).view(np.int32)
    return (
        (bits + rng.integers(-steps, steps + 1, bits.shape, dtype=np.int32))
        .view(np.float32)
        .reshape(values.shape)
    )


def tie_multipliers(
    rng: np.random.Generator, accumulators: Array, unit: float | np.floating = 1.0
) -> Array:
    """One scale for each accumulator so that accumulator · scale / unit is an odd half, or one ulp beside."""
    halves = rng.integers(-130, 130, accumulators.shape) + 0.5
    nonzero = np.where(accumulators == 0, 1, accumulators)
    return beside(rng, np.abs(halves / nonzero * np.float64(unit)).astype(np.float32))
