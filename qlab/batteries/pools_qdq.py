"""QDQ groups of pools, alone and between convolutions, where their data becomes channels-last."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS, Builder, Rng, variants
from qlab.batteries.inputs import zero_point
from qlab.batteries.pools import GEOMETRIES
from qlab.case import Case
from qlab.graph import Graph
from qlab.qtypes import Array


def pool(
    rng: Rng, op_type: str, dtype: str, spatial: tuple[int, ...], attributes: dict[str, Any], *, exact: bool, opset: int
) -> Case:  # fmt: skip
    """A pool between two quantizations; a MaxPool keeps scale and zero point, for only so it is fused."""
    b = Builder(rng, dtype, exact)
    channels = 150 if op_type == "GlobalAveragePool" else 16
    x, x_scale = b.activation((1, channels, *spatial))
    if op_type == "MaxPool":
        parameters = b.nodes[-1].inputs[1:]
        y = b.add(op_type, x, **attributes)
        y = b.add("DequantizeLinear", b.add("QuantizeLinear", y, *parameters), *parameters)
        return _ended(b, y, opset)
    step = float(x_scale) * float(rng.integers(1, 64) / rng.integers(8, 64))
    b.finish(b.add(op_type, x, **attributes), step)
    return _ended(b, b.nodes[-1].outputs[0], opset)


def _ended(b: Builder, output: str, opset: int) -> Case:
    graph = Graph(
        tuple(b.nodes), b.constants, tuple(b.inputs), (output,), {"": opset, "com.microsoft": 1}
    )
    return Case(graph, b.inputs)


def between_convolutions(rng: Rng, op_type: str, dtype: str, *, exact: bool) -> Case:
    """Conv, the pool, Conv; as in a network for images."""
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation((1, 8, 20, 21))
    x = _convolved(b, x, x_scale, 1.0)
    parameters = b.nodes[-1].inputs[1:]
    scale = b.constants[parameters[0]]
    attributes: dict[str, Any] = {"kernel_shape": (3, 3), "strides": (2, 2), "pads": (1, 1, 1, 1)}
    y = b.add(op_type, x, **({} if op_type == "GlobalAveragePool" else attributes))
    if op_type != "MaxPool":
        step = np.asarray(scale * np.float32(rng.integers(8, 64) / rng.integers(8, 64)), np.float32)
        scale = b.scale() if exact else step
        parameters = b.parameters(scale, zero_point(rng, b.dtype))
    y = b.add("DequantizeLinear", b.add("QuantizeLinear", y, *parameters), *parameters)
    return _ended(b, _convolved(b, y, scale, 2.0), 21)


def _convolved(b: Builder, x: str, x_scale: Array, size: float) -> str:
    w, w_scale = b.weight((8, 8, 1, 1), "int8", None)
    b.finish(b.add("Conv", x, w), float(x_scale * w_scale) * 200 * size)
    return b.nodes[-1].outputs[0]


def pool_cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """Every geometry; then between convolutions."""
    for rng, number, exact in variants(seed):
        for position, (spatial, attributes) in enumerate(GEOMETRIES):
            opset = (17, 21)[(position + number) % 2]
            more = {"count_include_pad": number % 2} if op_type == "AveragePool" else {}
            given = {} if op_type == "GlobalAveragePool" else attributes | more
            yield pool(rng, op_type, dtype, spatial, given, exact=exact, opset=opset)
        yield between_convolutions(rng, op_type, dtype, exact=exact)


BATTERIES = Batteries(
    Battery(op_type, dtype, "QDQ", functools.partial(pool_cases, op_type, dtype), LEVELS)
    for op_type in ("AveragePool", "GlobalAveragePool", "MaxPool")
    for dtype in ("uint8", "int8")
)
