"""QLinearSigmoid, QLinearLeakyRelu and QLinearSoftmax: all codes, scales at which results fall on ties.

Softmax gets rows whose largest probability, or any other, is within an ulp of a tie: its quotient is otherwise far from
one, and wrong formulas pass a million random outputs.
"""

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.inputs import beside, codes, one_node, scalar, scale, zero_point
from qlab.case import Case
from qlab.graph import AttributeValue
from qlab.qtypes import DTYPES, Array, bounds

NAMES = ("X", "X_scale", "X_zero_point", "Y_scale", "Y_zero_point")
SOFTMAX_NAMES = ("X", "X_scale", "x_zero_point", "y_scale", "y_zero_point")
LENGTHS = (1, 2, 3, 4, 5, 7, 10, 16, 33, 100, 257)
EXTREMES = (
    (1e-30, 1 / 256),
    (1e30, 1 / 255),
    (0.1, 0.9),
    (0.1, 3.0),
    (0.05, 1e-9),
    (1e-38, 1e-6),
    (0.1, 1e-38),
    (0.02, 1e30),
)
SLOPES = (0.01, 0.1, 1 / 3, 0.0, -0.5, 2.0, 1e-30)


def table(
    op_type: str, dtype: str, x_scale: Array, x_zero: Array, y_scale: Array, y_zero: Array, **attributes: AttributeValue,
) -> Case:  # fmt: skip
    """All 256 codes of X."""
    low, high = bounds(dtype)
    tensors = {
        "X": np.arange(low, high + 1).astype(DTYPES[dtype]),
        "X_scale": x_scale, "X_zero_point": x_zero, "Y_scale": y_scale, "Y_zero_point": y_zero,
    }  # fmt: skip
    return one_node(
        op_type, NAMES, tensors, ("X",), domain="com.microsoft", attributes=dict(attributes)
    )


def table_cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """Y_scale so that one entry of the table is k + 0.5, or an ulp beside; then extreme and random scales."""
    rng = np.random.default_rng(seed)
    extremes = (2.0**-149, 1e-38, 1e30, 3e38)
    for number in range(360):
        attributes = {}
        x_scale, slope = scale(rng, (), -10, 0), 1.0
        if op_type == "QLinearLeakyRelu":
            slope = SLOPES[number % len(SLOPES)] if number % 2 else float(rng.uniform(0, 1))
            attributes = {"alpha": slope}
        real = float(x_scale) * int(rng.integers(1, 256)) * float(rng.choice([-1, 1]))
        value = 1 / (1 + math.exp(-real))
        if op_type == "QLinearLeakyRelu":
            value = real if real > 0 else slope * real
        half = int(rng.integers(0, 255)) + 0.5
        y_scale = beside(rng, np.asarray(abs(value) / half or 1.0, np.float32))
        if number % 4 == 3:
            y_scale = scale(rng)
        if number % 60 == 0:
            y_scale = np.asarray(extremes[number // 60 % 4], np.float32)
        if number % 60 == 1:
            x_scale = np.asarray(extremes[number // 60 % 4], np.float32)
        yield table(op_type, dtype, x_scale, zero_point(rng, dtype), y_scale, zero_point(rng, dtype), **attributes)  # fmt: skip


def softmax(
    dtype: str,
    x: Array,
    x_scale: Array,
    y_scale: Array,
    y_zero: Array,
    *,
    axis: int = -1,
    opset: int = 13,
) -> Case:
    """One QLinearSoftmax."""
    tensors = {
        "X": x, "X_scale": x_scale, "x_zero_point": scalar(dtype, 0), "y_scale": y_scale, "y_zero_point": y_zero,
    }  # fmt: skip
    attributes: dict[str, object] = {"axis": axis, "opset": opset}
    return one_node("QLinearSoftmax", SOFTMAX_NAMES, tensors, ("X",), domain="com.microsoft", attributes=attributes)  # fmt: skip


def tied_scale(rng: np.random.Generator, row: Array, factor: int) -> Array:
    """The x_scale at which some probability of a row times ``factor`` is k + 0.5, within an ulp or two."""
    below = (row.astype(np.int64) - row.max()).astype(np.float64)
    at = int(rng.integers(0, len(row)))

    def quotient(x_scale: float) -> float:
        powers = np.exp(below * x_scale)
        return float(factor * powers[at] / powers.sum())

    low, high = 1e-4, 0.3
    ends = sorted((quotient(low), quotient(high)))
    half = math.floor(rng.uniform(ends[0], ends[1])) + 0.5
    if not ends[0] < half < ends[1]:
        return scale(rng, (), -8, -2)
    rising = quotient(high) > quotient(low)
    for _ in range(60):
        middle = (low + high) / 2
        if (quotient(middle) < half) == rising:
            low = middle
        else:
            high = middle
    return beside(rng, np.asarray(low, np.float32))


def softmax_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Rows tied for their x_scale; scales whose reciprocal is cut off, extreme ones; axes and flat rows; random."""
    rng = np.random.default_rng(seed)
    factors = (256, 255, 1, 1000, 40)
    for number in range(220):
        length = LENGTHS[number % len(LENGTHS)]
        row = codes(rng, dtype, (length,))
        if number % 3:  # all close to one another: then all probabilities count
            row = (row // 4).astype(DTYPES[dtype])
        factor = factors[number % len(factors)]
        y_scale = np.asarray(1 / factor, np.float32)
        x_scale = tied_scale(rng, row, int(np.floor(np.float32(1) / y_scale)))
        shifts = rng.integers(0, 3, (8, 1))
        low, high = bounds(dtype)
        x = np.clip(row.astype(np.int64) + shifts, low, high).astype(DTYPES[dtype])
        yield softmax(dtype, x, x_scale, y_scale, zero_point(rng, dtype))
    for pair in EXTREMES:
        x_scale, y_scale = (np.asarray(value, np.float32) for value in pair)
        for length in (1, 3, 20):
            x = codes(rng, dtype, (40, length))
            yield softmax(dtype, x, x_scale, y_scale, zero_point(rng, dtype))
    for axis in range(3):
        for opset in (11, 13):
            x = codes(rng, dtype, (5, 6, 7))
            yield softmax(dtype, x, scale(rng, (), -8, -3), scale(rng, (), -9, -6), zero_point(rng, dtype), axis=axis, opset=opset)  # fmt: skip
    for length in LENGTHS:
        x = codes(rng, dtype, (8000 // length, length))
        yield softmax(dtype, x, scale(rng, (), -9, -2), scale(rng, (), -9, -6), zero_point(rng, dtype))  # fmt: skip


def _battery(operator: str, dtype: str, cases: Callable[[int], Iterator[Case]]) -> Battery:
    return Battery(operator, dtype, "QOperator", cases)


BATTERIES = Batteries(
    (
        *(
            _battery(op_type, dtype, functools.partial(table_cases, op_type, dtype))
            for op_type in ("QLinearSigmoid", "QLinearLeakyRelu")
            for dtype in ("int8", "uint8")
        ),
        *(
            _battery("QLinearSoftmax", dtype, functools.partial(softmax_cases, dtype))
            for dtype in ("int8", "uint8")
        ),
    )
)
