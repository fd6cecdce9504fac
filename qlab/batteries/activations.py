"""Sigmoid, LeakyRelu and Softmax: float32, bit for bit, and as QDQ groups."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS, Builder, Rng, variants
from qlab.batteries.inputs import one_node
from qlab.case import Case
from qlab.qtypes import Array

LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 31, 48, 49, 65, 100, 1000)
LARGEST = float(np.finfo(np.float32).max)
EDGES = (-np.inf, -1e30, 1e30, LARGEST, -LARGEST, 0, -0.0, 90)
SPECIAL = (
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1e-45,
    -1e-45,
    18,
    -18,
    17.999998,
    -18.000002,
    88.5,
    -88.5,
    1e30,
    -1e30,
)


def reals(rng: Rng, count: int) -> Array:
    """Values of every size; the special ones first."""
    small = rng.normal(0, 1, count) * 2.0 ** rng.uniform(-30, 8, count)
    wide = rng.uniform(-25, 25, count)
    return np.concatenate([SPECIAL, np.where(rng.random(count) < 0.5, small, wide)]).astype(
        np.float32
    )


def elementwise_cases(op_type: str, seed: int) -> Iterator[Case]:
    """Few values, where a kernel has only its tail, and many."""
    rng = np.random.default_rng(seed)
    for number, count in enumerate((0, 1, 2, 3, 6, 90_000, 90_000)):
        attributes: dict[str, object] = {}
        if op_type == "LeakyRelu" and number:
            attributes = {"alpha": float(rng.choice([0.2, 1 / 3, -0.5, 0.0]))}
        x = reals(rng, count) if count > 3 else reals(rng, 8)[-count - 1 :]
        yield one_node(op_type, ("X",), {"X": x}, ("X",), attributes=attributes)


def softmax_cases(seed: int) -> Iterator[Case]:
    """Rows of all lengths at which a kernel changes, narrow and wide; infinities; axes, and flat rows of old opsets."""
    rng = np.random.default_rng(seed)

    def case(x: Array, axis: int = -1, opset: int = 21) -> Case:
        attributes: dict[str, object] = {"axis": axis}
        tensors = {"input": x.astype(np.float32)}
        return one_node("Softmax", ("input",), tensors, ("input",), attributes=attributes, opset=opset)  # fmt: skip

    for length in LENGTHS:
        for width in (1, 8, 60):
            yield case(rng.normal(0, width, (-(-4000 // length), length)))
    edges = rng.choice(np.array(EDGES), (9, 5, 21))
    edges[0], edges[1, 0, 3], edges[2, :, 5] = -np.inf, np.inf, np.inf
    for axis in range(3):
        yield case(edges, axis)
        yield case(rng.normal(0, 9, (5, 6, 7)), axis)
        yield case(rng.normal(0, 9, (5, 6, 7)), axis, 11)
    # At the end of exp's range, where AVX2 gives 0 and AVX-512 the smallest float32.
    yield case(np.stack([np.zeros(2000), -rng.uniform(86, 105, 2000)], axis=1))


def group(rng: Rng, op_type: str, dtype: str, number: int, *, exact: bool) -> Case:
    """An activation of 40,000 codes, or rows of them, between DequantizeLinear and QuantizeLinear."""
    g = Builder(rng, dtype, exact)
    if op_type != "Softmax":
        x, x_scale = g.activation((200, 200))
        attributes = (
            {"alpha": float(rng.choice([0.01, 0.2, 0.5]))} if op_type == "LeakyRelu" else {}
        )
        step = (
            1 / 256 if op_type == "Sigmoid" else float(x_scale) * float(rng.choice([0.5, 1, 0.7]))
        )
        return g.finish(g.add(op_type, x, **attributes), step)
    length = int(rng.choice(LENGTHS[1:]))
    x, _ = g.activation((6, -(-20_000 // (6 * length)), length))
    opset = 11 if number == 3 else 21
    case = g.finish(g.add(op_type, x, axis=2 if number != 2 else 0), float(rng.choice([1 / 256, 1 / 255, 0.003])))  # fmt: skip
    return dataclasses.replace(case, graph=dataclasses.replace(case.graph, opset={"": opset}))


def group_cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """Scales that are powers of two, where every half is a tie, and any."""
    for rng, number, exact in variants(seed):
        yield group(rng, op_type, dtype, number, exact=exact)


def _float(operator: str, cases: Callable[[int], Iterator[Case]]) -> Battery:
    return Battery(operator, "float32", "QOperator", cases)


BATTERIES = Batteries(
    (
        *(_float(op, functools.partial(elementwise_cases, op)) for op in ("Sigmoid", "LeakyRelu")),
        _float("Softmax", softmax_cases),
        *(
            Battery(op, dtype, "QDQ", functools.partial(group_cases, op, dtype), LEVELS)
            for op in ("Sigmoid", "LeakyRelu", "Softmax")
            for dtype in ("uint8", "int8")
        ),
    )
)
