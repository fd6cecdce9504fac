"""Resize: every pair of lengths and mode, where positions come close to halves and to whole numbers; QDQ groups."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS, Builder, Rng, variants
from qlab.batteries.inputs import Tensors, beside, codes, one_node
from qlab.case import Case
from qlab.interpolation import FORMULAS, NEAREST
from qlab.qtypes import Array

NAMES = ("X", "roi", "scales", "sizes")
MODES = tuple(FORMULAS)
OPSET = {"tf_half_pixel_for_nn": 11, "half_pixel_symmetric": 19}


def values(rng: Rng, dtype: str, shape: tuple[int, ...]) -> Array:
    """Codes, or reals of many sizes, some subnormal, huge, or no numbers."""
    if dtype != "float32":
        return codes(rng, dtype, shape)
    x = rng.normal(0, 1, shape) * 2.0 ** rng.integers(-3, 4, shape)
    kind = int(rng.integers(6))
    if kind == 0:
        x *= 2.0**-140
    if kind == 1:
        x = np.where(rng.random(shape) < 0.02, rng.choice([np.inf, -np.inf, np.nan, 3e38, -0.0], shape), x)  # fmt: skip
    return x.astype(np.float32)


def attributes(rng: Rng, mode: str, coordinates: str) -> dict[str, object]:
    """The attributes of a Resize."""
    made: dict[str, object] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        made["nearest_mode"] = str(rng.choice(tuple(NEAREST)))
    if coordinates == "tf_crop_and_resize":
        made["extrapolation_value"] = float(rng.integers(0, 100))
    return made


def tensors_of(rng: Rng, x: Array, outputs: tuple[int, ...], coordinates: str) -> Tensors:
    """X with the lengths of the result, or with scales that give about these."""
    tensors: Tensors = {"X": x}
    if coordinates == "tf_crop_and_resize":
        starts = rng.choice([0.0, 0.1, -0.25, 0.3], x.ndim)
        ends = rng.choice([1.0, 0.9, 1.2, 0.4], x.ndim)
        for axis in range(x.ndim):
            if outputs[axis] == x.shape[axis]:
                starts[axis], ends[axis] = 0, 1
        tensors["roi"] = np.concatenate([starts, ends]).astype(np.float32)
    if coordinates == "tf_crop_and_resize" or rng.random() < 0.5:
        tensors["sizes"] = np.array(outputs, np.int64)
        return tensors
    ratio = np.divide(outputs, x.shape)
    moved = np.where(ratio == 1, 1, ratio + rng.choice([0, 0, 0.01, 0.3], x.ndim) / x.shape)
    scales = moved.astype(np.float32)
    tensors["scales"] = np.where(scales == 1, 1, beside(rng, scales)).astype(np.float32)
    return tensors


def resize(rng: Rng, x: Array, outputs: tuple[int, ...], mode: str, coordinates: str) -> Case:
    """One Resize."""
    tensors = tensors_of(rng, x, outputs, coordinates)
    opset = OPSET.get(coordinates, int(rng.choice([11, 13, 18, 19])))
    if opset == 11:  # where roi and scales must be there, if empty
        tensors = {n: np.zeros(0, np.float32) for n in ("roi", "scales")} | tensors
    given = attributes(rng, mode, coordinates)
    return one_node("Resize", NAMES, tensors, ("X",), attributes=given, opset=opset)


def nearest_cases(dtype: str, seed: int) -> Iterator[Case]:
    """One and two axes of many lengths, then more axes."""
    rng = np.random.default_rng(seed)
    for number in range(210):
        high = 12 if number % 2 else 100
        shape, outputs = (tuple(int(v) for v in rng.integers(1, h, 2)) for h in (high, 100))
        if number % 7 == 6:
            shape, outputs = shape[:1], outputs[:1]
        x = values(rng, dtype, shape)
        yield resize(rng, x, outputs, "nearest", MODES[number % len(MODES)])
    for number in range(70):
        rank = int(rng.integers(3, 6))
        shape = tuple(int(v) for v in rng.integers(1, 7, rank))
        outputs = tuple(int(v) for v in rng.integers(1, 11, rank))
        x = values(rng, dtype, shape)
        yield resize(rng, x, outputs, "nearest", MODES[number % len(MODES)])


def linear_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Matrices, images of both layouts, volumes."""
    rng = np.random.default_rng(seed)
    modes = [m for m in MODES if m != "tf_half_pixel_for_nn"]
    for number in range(120):
        n, m = (tuple(int(v) for v in rng.integers(1, high, 3)) for high in (24, 40))
        layout = number % 5
        shape, outputs = (
            (n[:2], m[:2]),
            ((2, 3, *n[:2]), (2, 3, *m[:2])),
            ((1, *n[:2], 5), (1, *m[:2], 5)),
            ((n[0] % 7 + 1, *n[1:]), (m[0] % 9 + 1, *m[1:])),
            ((1, 2, n[0] % 5 + 1, *n[1:]), (1, 2, m[0] % 6 + 1, *m[1:])),
        )[layout]
        x = values(rng, dtype, shape)
        yield resize(rng, x, outputs, "linear", modes[number % len(modes)])


def group(rng: Rng, dtype: str, mode: str, coordinates: str, *, exact: bool, kept: bool) -> Case:
    """A Resize between DequantizeLinear and QuantizeLinear, with the same parameters where ``kept``."""
    b = Builder(rng, dtype, exact)
    n, m = (tuple(int(v) for v in rng.integers(2, high, 2)) for high in (20, 45))
    x, x_scale = b.activation((1, 3, *n))
    sizes = b.constant("sizes", np.array([1, 3, *m]))
    made = attributes(rng, mode, coordinates)
    y = b.add("Resize", x, "", "", sizes, **made)
    return b.finish_alike(y) if kept else b.finish(y, float(x_scale))


def group_cases(mode: str, dtype: str, seed: int) -> Iterator[Case]:
    """DequantizeLinear and QuantizeLinear are dropped around a nearest Resize where their parameters are equal."""
    modes = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    for rng, _, exact in variants(seed):
        for coordinates in modes:
            for kept in (True, False):
                yield group(rng, dtype, mode, coordinates, exact=exact, kept=kept)


BATTERIES = Batteries(
    (
        *(
            Battery(f"Resize {mode}", dtype, "QOperator", functools.partial(cases, dtype))
            for mode, cases in (("nearest", nearest_cases), ("linear", linear_cases))
            for dtype in ("float32", "int8", "uint8")
        ),
        *(
            Battery(
                f"Resize {mode}", dtype, "QDQ", functools.partial(group_cases, mode, dtype), LEVELS
            )
            for mode in ("nearest", "linear")
            for dtype in ("int8", "uint8")
        ),
    )
)
