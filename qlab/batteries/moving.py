"""Pad, Gather, Squeeze and Unsqueeze: codes and reals, alone and in QDQ groups that keep their parameters or not."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS, Builder, Rng, variants
from qlab.batteries.inputs import codes, one_node
from qlab.case import Case
from qlab.qtypes import Array

NAMES = {
    "Pad": ("data", "pads", "constant_value"),
    "Gather": ("data", "indices"),
    "Squeeze": ("data", "axes"),
    "Unsqueeze": ("data", "axes"),
}
PADDING = ("constant", "edge", "reflect", "wrap")


def parameters(rng: Rng, op_type: str, shape: tuple[int, ...]) -> dict[str, Array]:
    """The inputs but data."""
    rank = len(shape)
    if op_type == "Pad":
        low = -1 if rng.random() < 0.3 else 0
        return {"pads": rng.integers(low, 3, 2 * rank)}
    if op_type == "Gather":
        return {"indices": rng.integers(-shape[0], shape[0], (int(rng.integers(1, 4)), 3))}
    if op_type == "Squeeze":
        return {"axes": np.array([i for i, n in enumerate(shape) if n == 1])}
    return {"axes": rng.permutation(rank + 2)[:2]}


def shape_of(rng: Rng, op_type: str) -> tuple[int, ...]:
    """Three to five axes; some of one entry for Squeeze."""
    shape = rng.integers(4, 10, int(rng.integers(3, 6)))
    if op_type == "Squeeze":
        shape *= 2
        shape[rng.permutation(len(shape))[:2]] = 1
    return tuple(int(n) for n in shape)


def cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """One node: random shapes, axes, indices and pads of every mode."""
    rng = np.random.default_rng(seed)
    for number in range(60):
        shape = shape_of(rng, op_type)
        real = dtype == "float32"
        data = rng.normal(size=shape).astype(np.float32) if real else codes(rng, dtype, shape)
        tensors = {"data": data, **parameters(rng, op_type, shape)}
        attributes: dict[str, object] = {}
        if op_type == "Pad":
            attributes["mode"] = PADDING[number % len(PADDING)]
            if attributes["mode"] == "constant" and number % 3:
                tensors["constant_value"] = np.asarray(data.reshape(-1)[0])
        yield one_node(op_type, NAMES[op_type], tensors, ("data",), attributes=attributes)


def group(rng: Rng, op_type: str, dtype: str, *, exact: bool, kept: bool, mode: str) -> Case:
    """Between DequantizeLinear and QuantizeLinear, with the same parameters where ``kept``."""
    b = Builder(rng, dtype, exact)
    shape = shape_of(rng, op_type)
    x, x_scale = b.activation(shape)
    made = {k: b.constant(k, v) for k, v in parameters(rng, op_type, shape).items()}
    attributes: dict[str, object] = {"mode": mode} if op_type == "Pad" else {}
    y = b.add(op_type, x, *made.values(), **attributes)
    return b.finish_alike(y) if kept else b.finish(y, float(x_scale))


def group_cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """Every mode, with DequantizeLinear and QuantizeLinear that can be dropped, and that can not."""
    for rng, _, exact in variants(seed):
        for kept in (True, False):
            for mode in PADDING if op_type == "Pad" else ("",) * 4:
                yield group(rng, op_type, dtype, exact=exact, kept=kept, mode=mode)


BATTERIES = Batteries(
    (
        *(
            Battery(op_type, dtype, "QOperator", functools.partial(cases, op_type, dtype))
            for op_type in NAMES
            for dtype in ("float32", "uint8", "int8")
        ),
        *(
            Battery(op_type, dtype, "QDQ", functools.partial(group_cases, op_type, dtype), LEVELS)
            for op_type in NAMES
            for dtype in ("uint8", "int8")
        ),
    )
)
