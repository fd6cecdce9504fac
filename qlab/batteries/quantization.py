"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: ties, one ulp beside them, ends and no numbers."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.inputs import (
    beside,
    codes,
    one_node,
    scalar,
    scale,
    zero_point,
)
from qlab.case import Case
from qlab.qtypes import DTYPES, bounds


def quantize_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Values on ties, one ulp beside them, at and beyond the ends, NaN and infinities."""
    rng = np.random.default_rng(seed)
    low, high = bounds(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38], np.float32)
    for number in range(6):
        y_scale = scale(rng, (), -20, 20) if number else scalar("float32", 2.0)
        zero = zero_point(rng, dtype)
        steps = rng.integers(low - high - 3, high - low + 4, 40_000) / 2
        x = beside(rng, (steps * y_scale).astype(np.float32), 2)
        x = np.concatenate([special, x])
        names = ("x", "y_scale", "y_zero_point")
        yield one_node(
            "QuantizeLinear", names, {"x": x, "y_scale": y_scale, "y_zero_point": zero}, ("x",)
        )
    for odd in (0.0, -1.0, np.inf, np.nan, 1e-45):
        x = np.concatenate([special, np.array([1, -1, 255, 1000], np.float32)])
        tensors = {
            "x": x,
            "y_scale": scalar("float32", odd),
            "y_zero_point": zero_point(rng, dtype),
        }
        yield one_node("QuantizeLinear", ("x", "y_scale", "y_zero_point"), tensors, ("x",))
    for axis, block_size, shape, parameters in ((1, 0, (4, 6, 5), (6,)), (0, 0, (4, 6), (4,)), (1, 3, (4, 6), (4, 2)),
                                                (0, 2, (4, 6), (2, 6))):  # fmt: skip
        attributes: dict[str, object] = {"axis": axis}
        if block_size:
            attributes["block_size"] = block_size
        x = (rng.normal(0, 1, shape) * 60).astype(np.float32)
        tensors = {
            "x": x,
            "y_scale": scale(rng, parameters),
            "y_zero_point": zero_point(rng, dtype, parameters),
        }
        yield one_node(
            "QuantizeLinear",
            ("x", "y_scale", "y_zero_point"),
            tensors,
            ("x",),
            attributes=attributes,
        )


def dequantize_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Every code (a sample of int32), per tensor, per axis and blocked."""
    rng = np.random.default_rng(seed)
    low, high = bounds(dtype)
    names = ("x", "x_scale", "x_zero_point")
    for _ in range(5):
        x = rng.integers(low, high + 1, (40_960,)).astype(DTYPES[dtype])
        zero = scalar(dtype, 0) if dtype == "int32" else zero_point(rng, dtype)
        yield one_node(
            "DequantizeLinear",
            names,
            {"x": x, "x_scale": scale(rng, (), -30, 30), "x_zero_point": zero},
            ("x",),
        )
    for axis, block_size, shape, parameters in ((1, 0, (4, 6, 5), (6,)), (1, 3, (4, 6), (4, 2))):
        attributes: dict[str, object] = {"axis": axis}
        if block_size:
            attributes["block_size"] = block_size
        zero = (
            np.zeros(parameters, DTYPES[dtype])
            if dtype == "int32"
            else zero_point(rng, dtype, parameters)
        )
        tensors = {
            "x": codes(rng, dtype, shape),
            "x_scale": scale(rng, parameters),
            "x_zero_point": zero,
        }
        yield one_node("DequantizeLinear", names, tensors, ("x",), attributes=attributes)


def dynamic_cases(seed: int) -> Iterator[Case]:
    """Ranges of all sizes; all zero; one sign; near ties of the zero point."""
    rng = np.random.default_rng(seed)
    for number in range(220):
        x = rng.normal(rng.choice([0.0, 1.0, -3.0]), 1, (1_000,)) * 2.0 ** rng.integers(-20, 20)
        if number == 0:
            x = np.zeros(1_000)
        if number % 3 == 0:
            x = np.rint(x)
        yield one_node(
            "DynamicQuantizeLinear",
            ("x",),
            {"x": x.astype(np.float32)},
            ("x",),
            ("y", "y_scale", "y_zero_point"),
        )


CODES = ("int8", "uint8", "int16", "uint16", "int4", "uint4")
BATTERIES = Batteries(
    (
        *(
            Battery("QuantizeLinear", t, "QOperator", functools.partial(quantize_cases, t))
            for t in CODES
        ),
        *(
            Battery("DequantizeLinear", t, "QOperator", functools.partial(dequantize_cases, t))
            for t in (*CODES, "int32")
        ),
        Battery("DynamicQuantizeLinear", "uint8", "QOperator", dynamic_cases),
    )
)
