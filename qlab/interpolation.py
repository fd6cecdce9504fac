"""Resize, one axis at a time: where an element lies in the tensor that is resized, and between which of its entries.

The formulas of the ONNX specification over any number system; ``ort_cpu`` takes them over float32.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from qlab.arithmetic import Arithmetic, add, elementwise, mul, sub
from qlab.ops import Steps
from qlab.qtypes import DTYPES, Array, is_integer
from qlab.trace import Index, Step

HALF = Fraction(1, 2)
NEAREST = {  # of a position as a fraction, so that no half is missed
    "round_prefer_floor": lambda p: math.ceil(p - HALF),
    "round_prefer_ceil": lambda p: math.floor(p + HALF),
    "floor": math.floor,
    "ceil": math.ceil,
}
HALVES = ("round_prefer_floor", "round_prefer_ceil")
FORMULAS = {
    "half_pixel": "(i + 0.5) / scale - 0.5",
    "half_pixel_symmetric": "input / 2 · (1 - output / (scale · input)) + (i + 0.5) / scale - 0.5",
    "pytorch_half_pixel": "(i + 0.5) / scale - 0.5, 0 where output = 1",
    "align_corners": "i · (input - 1) / (output - 1)",
    "asymmetric": "i / scale",
    "tf_half_pixel_for_nn": "(i + 0.5) / scale",
    "tf_crop_and_resize": "start · (input - 1) + i · (end - start) · (input - 1) / (output - 1)",
}


@dataclasses.dataclass(frozen=True)
class Resampling:
    """A Resize as the call asks for it.

    Attributes:
        mode: ``nearest`` or ``linear``. coordinates: the coordinate_transformation_mode, a key of FORMULAS.
        nearest: the nearest_mode, a key of NEAREST.
        sizes, outputs: length of each axis before and after.
        scales: float32, one for each axis; None where the lengths are given, so that it is their ratio.
        roi: float32, the starts of all axes, then their ends. extrapolation: what lies outside (tf_crop_and_resize).
    """

    mode: str
    coordinates: str
    nearest: str
    sizes: Index
    outputs: Index
    scales: Array | None
    roi: Array
    extrapolation: float

    def scale(self, arithmetic: Arithmetic, axis: int) -> Array:
        """Output length over input length, as given or as their ratio."""
        if self.scales is not None:
            return arithmetic.real(self.scales[axis : axis + 1])
        lengths = (np.array([n[axis]]) for n in (self.outputs, self.sizes))
        return arithmetic.divide(*(arithmetic.real(n) for n in lengths))

    @property
    def resized(self) -> tuple[int, ...]:
        """The axes of another length, or of a scale that is not 1."""
        changed = (n != m for n, m in zip(self.sizes, self.outputs, strict=True))
        scales = self.scales if self.scales is not None else np.ones(len(self.sizes))
        crop = self.coordinates == "tf_crop_and_resize"
        return tuple(
            axis
            for axis, (other, scale) in enumerate(zip(changed, scales, strict=True))
            if other
            or scale != 1
            or (crop and self.roi[axis :: len(self.sizes)].tolist() != [0, 1])
        )

    @property
    def extrapolates(self) -> bool:
        """True where an element may lie outside."""
        return self.coordinates == "tf_crop_and_resize"


@dataclasses.dataclass(frozen=True)
class Neighbours:
    """For each element along an axis: the entries on both sides and their weights."""

    lower: Array
    upper: Array
    lower_weight: Array
    upper_weight: Array


def positions(arithmetic: Arithmetic, how: Resampling, axis: int) -> Array:
    """Where the elements along an axis lie, in entries of the axis that is resized: shape (output length,)."""

    def real(*values: Any) -> Array:
        return arithmetic.real(np.asarray(values))

    divide, n, m = arithmetic.divide, how.sizes[axis], how.outputs[axis]
    i, half, scale = real(*range(m)), real(0.5), how.scale(arithmetic, axis)
    if how.coordinates == "asymmetric":
        return divide(i, scale)
    if how.coordinates == "align_corners":
        return divide(mul(i, real(n - 1)), real(m - 1)) if m > 1 else real(0)
    if how.coordinates == "tf_crop_and_resize":
        start, end = (arithmetic.real(how.roi[a : a + 1]) for a in (axis, axis + len(how.sizes)))
        if m == 1:
            return mul(mul(half, add(start, end)), real(n - 1))
        part = divide(mul(mul(i, sub(end, start)), real(n - 1)), real(m - 1))
        return add(mul(start, real(n - 1)), part)
    centre = divide(add(i, half), scale)
    if how.coordinates == "tf_half_pixel_for_nn":
        return centre
    if how.coordinates == "pytorch_half_pixel" and m == 1:
        return real(0)
    if how.coordinates == "half_pixel_symmetric":
        adjustment = divide(real(m), mul(scale, real(n)))
        offset = mul(divide(real(n), real(2)), sub(real(1), adjustment))
        return sub(add(offset, centre), half)
    return sub(centre, half)


def nearest(position: Array, mode: str, size: int, tolerance: float = 0.0) -> Array:
    """The entry that nearest_mode takes, within the axis: int64. A half is what is nearer to one than ``tolerance``."""

    def entry(p: Fraction | float) -> int:
        exact = Fraction(p)
        half = math.floor(exact) + HALF
        near = mode in HALVES and abs(exact - half) <= tolerance
        return int(NEAREST[mode](half if near else exact))

    return clamped(elementwise(entry, wide(position)), size)


def clamped(index: Array, size: int) -> Array:
    """Indices as int64 between 0 and size - 1."""
    return np.clip(index.astype(np.int64), 0, size - 1)


def wide(position: Array) -> Array:
    """Float32 as float64, which Fraction reads; fractions as they are."""
    return position if position.dtype == object else position.astype(np.float64)


def inside(position: Array, size: int) -> Array:
    """Positions moved to the first or the last entry where they lie beyond."""
    last = np.full((), Fraction(size - 1)) if position.dtype == object else np.asarray(size - 1)
    last = last.astype(position.dtype)
    return np.asarray(np.minimum(np.maximum(position, last * 0), last))


def outside(position: Array, size: int) -> Array:
    """True where a position lies beyond the first or the last entry."""
    return np.asarray((position < 0) | (position > size - 1)).astype(bool)


def neighbours(arithmetic: Arithmetic, position: Array, size: int) -> Neighbours:
    """The two entries around each position, with linear weights."""
    within = inside(position, size)
    lower = clamped(elementwise(lambda p: math.floor(Fraction(p)), wide(within)), size)
    weight = sub(within, arithmetic.real(lower))
    rest = sub(arithmetic.real(np.ones(1, np.int64)), weight)
    return Neighbours(lower, np.minimum(lower + 1, size - 1), rest, weight)


def along(values: Array, axis: int, rank: int) -> Array:
    """A vector in a shape that broadcasts to a tensor of ``rank``."""
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def taken(x: Array, indices: Mapping[int, Array]) -> Array:
    """The entries of x at the given indices of some axes."""
    for axis, index in indices.items():
        x = np.take(x, index, axis=axis)
    return x


def weighted(x: Array, around: Mapping[int, Neighbours]) -> Array:
    """The sum over the corners of a cell, axes from the outermost to the innermost, the last the fastest."""
    total: Array | None = None
    for corner in itertools.product((False, True), repeat=len(around)):
        coefficient: Array | None = None
        indices = {}
        for (axis, n), up in reversed(list(zip(around.items(), corner, strict=True))):
            indices[axis] = n.upper if up else n.lower
            weight = along(n.upper_weight if up else n.lower_weight, axis, x.ndim)
            coefficient = weight if coefficient is None else mul(coefficient, weight)
        if coefficient is None:
            return x
        term = mul(coefficient, taken(x, indices))
        total = term if total is None else add(total, term)
    assert total is not None
    return total


def beyond(places: Mapping[int, Array], how: Resampling) -> Array:
    """True where an element of the result lies outside on some axis; of shape () where none can."""
    rank = len(how.sizes)
    found = np.asarray(False)
    for axis, position in places.items():
        found = found | along(outside(position, how.sizes[axis]), axis, rank)
    return np.asarray(found)


def position_steps(
    places: Mapping[int, Array], how: Resampling, wrapper: str = "{}", note: str = ""
) -> Iterator[Step]:
    """A step for each axis: ``position2`` of axis 2."""
    for axis, position in places.items():
        formula = wrapper.format(FORMULAS[how.coordinates])
        yield Step(f"position{axis}", formula, along(position, axis, len(how.sizes)), note=note)


def nearest_entries(
    x: Array, places: Mapping[int, Array], how: Resampling, tolerance: float = 0.0
) -> Steps:
    """The nearest entry of each position; moves values, changes none."""
    for axis, position in places.items():
        index = nearest(position, how.nearest, how.sizes[axis], tolerance)
        formula = f"{how.nearest}(position{axis}), within the axis"
        if tolerance and how.nearest in HALVES:
            formula += f"; a half is what is within {tolerance:.0e} of one"
        yield Step(f"index{axis}", formula, along(index, axis, len(how.sizes)))
        x = np.take(x, index, axis=axis)
    return x


def filled(value: Array, where: Array, how: Resampling, arithmetic: Arithmetic) -> Array:
    """``value``, with the extrapolation value where an element lies outside."""
    if not where.any():
        return value
    fill = np.asarray(how.extrapolation, np.float32)
    if is_integer(value.dtype):
        return np.asarray(np.where(where, np.trunc(fill).astype(value.dtype), value))
    return np.asarray(np.where(where, arithmetic.real(fill), arithmetic.real(value)))


def truncated(value: Array, dtype: str) -> Array:
    """Reals between codes as codes, towards zero."""
    whole = elementwise(math.trunc, value) if value.dtype == object else np.trunc(value)
    return whole.astype(np.int64).astype(DTYPES[dtype])


TRUNCATED = (
    "the specification names no rounding of interpolated codes; towards zero, as ONNX's reference"
)


def resize(arithmetic: Arithmetic, x: Array, how: Resampling, tensor: str, dtype: str) -> Steps:
    """Resize as the specification has it."""
    places = {axis: positions(arithmetic, how, axis) for axis in how.resized}
    yield from position_steps(places, how)
    where = beyond(places, how) if how.extrapolates else np.asarray(False)
    note, formula = "", "X at the indices"
    if how.mode == "nearest":
        value = yield from nearest_entries(x, places, how)
    else:
        around = {a: neighbours(arithmetic, p, how.sizes[a]) for a, p in places.items()}
        value = weighted(arithmetic.real(x), around)
        formula = "Σ weight · X over the corners of the cell"
        if is_integer(dtype):
            yield Step("interpolated", formula, value)
            value, formula, note = truncated(value, dtype), "trunc(interpolated)", TRUNCATED
    value = filled(value, where, how, arithmetic)
    if where.any():
        note = "extrapolation_value where the position is outside"
    yield Step("output", formula, value, tensor=tensor, dtype=dtype, note=note)
    return value
