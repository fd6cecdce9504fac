"""Pools of codes and of reals: ties of full-length scales, overflow, every kernel and geometry, NaN and both zeros."""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import Rng
from qlab.batteries.inputs import beside, codes, one_node, scalar, scale, zero_point
from qlab.case import Case
from qlab.qtypes import DTYPES, Array, bounds

NAMES = ("X", "x_scale", "x_zero_point", "y_scale", "y_zero_point")
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0)

# Shape behind (N, C), and attributes: each kernel of ONNX Runtime, and its limits.
Geometry = tuple[tuple[int, ...], dict[str, Any]]
GEOMETRIES: tuple[Geometry, ...] = (
    ((70,), {"kernel_shape": (3,), "pads": (1, 2), "strides": (2,)}),
    ((61,), {"kernel_shape": (5,), "ceil_mode": 1, "strides": (4,)}),
    ((23, 22), {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1), "strides": (2, 2)}),
    ((20, 21), {"kernel_shape": (2, 2)}),
    ((20, 19), {"kernel_shape": (3, 2), "pads": (0, 1, 2, 1), "ceil_mode": 1, "strides": (2, 2)}),
    ((17, 26), {"kernel_shape": (4, 5), "auto_pad": "SAME_LOWER", "strides": (1, 3)}),
    ((18, 19), {"kernel_shape": (2, 3), "auto_pad": "SAME_UPPER"}),
    ((40, 37), {"kernel_shape": (33, 2), "auto_pad": "VALID"}),
    ((37, 40), {"kernel_shape": (32, 2)}),
    ((7, 5, 9), {"kernel_shape": (2, 3, 2), "pads": (1, 0, 1, 0, 2, 1), "strides": (2, 1, 1)}),
    ((6, 7, 5), {"kernel_shape": (3, 2, 2), "strides": (1, 2, 3), "ceil_mode": 1}),
    ((7, 7), {"kernel_shape": (7, 7)}),
    ((3, 5, 4), {"kernel_shape": (3, 5, 4)}),
    ((13,), {"kernel_shape": (13,)}),
)
DILATED: tuple[Geometry, ...] = (
    ((60,), {"kernel_shape": (3,), "dilations": (4,), "pads": (2, 2)}),
    ((18, 17), {"kernel_shape": (3, 2), "dilations": (2, 3), "pads": (1, 1, 2, 1), "ceil_mode": 1, "strides": (2, 1)}),
    ((6, 7, 8), {"kernel_shape": (2, 2, 2), "dilations": (1, 3, 2), "pads": (1, 1, 1, 0, 1, 1)}),
    ((4, 4), {"kernel_shape": (2, 2), "dilations": (5, 5), "pads": (1, 1, 1, 1)}),
)  # fmt: skip


def quantized_pool(
    x: Array, dtype: str, x_scale: Array, y_scale: Array, zeros: Sequence[Array], attributes: dict[str, Any]
) -> Case:  # fmt: skip
    """QLinearAveragePool, or QLinearGlobalAveragePool where there is no kernel. X is moved to channels last."""
    last = bool(attributes.get("channels_last", 0))
    op_type = "QLinearAveragePool" if "kernel_shape" in attributes else "QLinearGlobalAveragePool"
    tensors = {
        "X": np.moveaxis(x, 1, -1) if last else x,
        "x_scale": x_scale, "y_scale": y_scale, "x_zero_point": zeros[0], "y_zero_point": zeros[1],
    }  # fmt: skip
    return one_node(op_type, NAMES, tensors, ("X",), domain="com.microsoft", attributes=attributes)


def tied_windows(rng: Rng, dtype: str, form: str) -> Iterator[Case]:
    """Means that are ties for full-length scales, of sums split into codes at random, so that each rounding decides.

    Of windows, or of images: under a kernel as large (``image``) or a global pool (``global``). With a sum d of codes
    minus zero points every odd multiple of d is a tie as well.
    """
    low, high = bounds(dtype)
    for number in range(60 if form == "image" else 120):
        size = int(rng.integers(2, 10))
        zero = int(zero_point(rng, dtype))
        unit = int(rng.integers(1, 12))
        odd = np.arange(-2001, 2002, 2)
        sums = odd * unit
        sums = sums[(sums >= (low - zero) * size) & (sums <= (high - zero) * size)]
        windows = split(rng, sums + size * zero, size, low, high).astype(DTYPES[dtype])
        half = int(rng.integers(0, 4)) + 0.5
        x_scale = scale(rng, (), -6, 6)
        tied = float(x_scale) * unit / (size * half)
        y_scale = beside(rng, np.asarray(tied, np.float32))
        zeros = scalar(dtype, zero), zero_point(rng, dtype)
        attributes: dict[str, Any] = {"channels_last": number % 2}
        if form != "global":
            attributes |= {"kernel_shape": (size,), "strides": (size,)}
        x = windows.reshape(1, 1, -1) if form == "windows" else windows[None]
        if x.size:
            yield quantized_pool(x, dtype, x_scale, y_scale, zeros, attributes)


def split(rng: Rng, sums: Array, size: int, low: int, high: int) -> Array:
    """Each sum as ``size`` random codes: (n,) → (n, size)."""
    left, parts = sums.astype(np.int64), []
    for remaining in range(size - 1, -1, -1):
        least = np.maximum(low, left - remaining * high)
        most = np.minimum(high, left - remaining * low)
        parts.append(rng.integers(least, most + 1))
        left = left - parts[-1]
    return np.stack(parts, axis=-1)


def quantized_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Ties, overflow of int32, then every geometry."""
    rng = np.random.default_rng(seed)
    yield from tied_windows(rng, dtype, "windows")
    yield from tied_windows(rng, dtype, "image")
    for number, (spatial, attributes) in enumerate(GEOMETRIES * 2):
        more = {"channels_last": number % 2, "count_include_pad": int(rng.integers(2))}
        x = codes(rng, dtype, (2, int(rng.integers(1, 20)), *spatial))
        x_scale = scale(rng)
        # A ratio near a simple fraction brings means close to ties; a huge one overflows int32.
        ratio = (
            rng.integers(1, 64) / rng.integers(1, 64) if number % 4 else 2.0 ** -rng.uniform(0, 40)
        )
        whole = attributes["kernel_shape"] == spatial
        ratio = max(ratio, 2.0**-8 * 1.1) if whole else ratio
        y_scale = beside(rng, np.asarray(float(x_scale) * ratio, np.float32))
        zeros = zero_point(rng, dtype), zero_point(rng, dtype)
        yield quantized_pool(x, dtype, x_scale, y_scale, zeros, attributes | more)


def quantized_global_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Ties, both ends of the multiplier's range, images of 1 to 70 elements and of many."""
    rng = np.random.default_rng(seed)
    yield from tied_windows(rng, dtype, "global")
    for number in range(40):
        spatial = [(int(rng.integers(1, 71)),), (7, 9), (31, 33), (5, 4, 3), (150, 160)][number % 5]
        x = codes(rng, dtype, (2, int(rng.integers(1, 300 if number % 5 < 4 else 12)), *spatial))
        x_scale = scale(rng)
        # x_scale / (y_scale · count) has to lie in [2^-32, 2^8).
        largest = 2.0**7.9 if number % 3 == 0 else 2.0 / math.prod(spatial)
        multiplier = 2.0**-31.9 + largest * 2.0 ** -float(
            rng.choice([0, 1, rng.uniform(0, 4), rng.uniform(0, 24)])
        )
        y_scale = np.asarray(float(x_scale) / multiplier / math.prod(spatial), np.float32)
        zeros = zero_point(rng, dtype), zero_point(rng, dtype)
        attributes = {"channels_last": int(rng.integers(2))}
        yield quantized_pool(x, dtype, x_scale, y_scale, zeros, attributes)


def reals(rng: Rng, shape: tuple[int, ...], number: int) -> Array:
    """Values of many sizes, so that the order of their sum decides; of both zeros; with NaN and infinities."""
    x = (rng.normal(size=shape) * 2.0 ** rng.uniform(-6, 6, shape)).astype(np.float32)
    if number % 4 == 1:
        x = np.where(rng.random(shape) < 0.2, rng.choice(SPECIAL, shape), x)
    elif number % 4 == 3:
        x = np.where(
            rng.random(shape) < 0.5, np.float32(-0.0), np.abs(x) * (rng.random(shape) < 0.3)
        )
    return x.astype(np.float32)


def average_cases(seed: int) -> Iterator[Case]:
    """Every geometry below opset 19 (MLAS) and from there on, with dilations."""
    rng = np.random.default_rng(seed)
    for number, (spatial, attributes) in enumerate((GEOMETRIES + DILATED) * 4):
        opset = int(rng.choice([19, 21, 22] if "dilations" in attributes else [11, 17, 19, 21, 22]))
        x = reals(rng, (2, 12, *spatial), number)
        more = {"count_include_pad": int(rng.integers(2))}
        yield one_node(
            "AveragePool", ("X",), {"X": x}, ("X",), attributes=attributes | more, opset=opset
        )
    wide = reals(rng, (1, 2, 3, 2046), 0)
    yield one_node(
        "AveragePool", ("X",), {"X": wide}, ("X",), attributes={"kernel_shape": (2, 2)}, opset=17
    )
    yield one_node("AveragePool", ("X",), {"X": wide[..., :2045]}, ("X",), attributes={"kernel_shape": (2, 2)}, opset=17)  # fmt: skip


def global_average_cases(seed: int) -> Iterator[Case]:
    """Images of 1 to 70 elements, and of many."""
    rng = np.random.default_rng(seed)
    for number in range(70):
        spatial = (number + 1,) if number % 2 else ((7, 7), (5, 3, 4), (31, 13))[number // 2 % 3]
        x = reals(rng, (2, 500, *spatial), int(rng.integers(4)))
        yield one_node(
            "GlobalAveragePool", ("X",), {"X": x}, ("X",), opset=17 if number % 3 else 22
        )


def max_cases(dtype: str, seed: int, *, nhwc: bool = False) -> Iterator[Case]:
    """Every geometry, with dilations; NaN first, last and between, both zeros."""
    rng = np.random.default_rng(seed)
    for number, (spatial, attributes) in enumerate((GEOMETRIES + DILATED) * 3):
        shape = (2, *spatial, 12) if nhwc else (2, 12, *spatial)
        real = dtype == "float32"
        x = reals(rng, shape, int(rng.choice([0, 1, 1, 3]))) if real else codes(rng, dtype, shape)
        if real and number % 5 == 4:
            x = np.where(rng.random(shape) < 0.9, np.float32(-np.inf), x)
        name, domain = ("x", "com.microsoft") if nhwc else ("X", "")
        yield one_node(
            "NhwcMaxPool" if nhwc else "MaxPool", (name,), {name: x}, (name,), domain=domain, attributes=attributes
        )  # fmt: skip


def _quantized(operator: str, dtype: str) -> Battery:
    cases = quantized_cases if operator == "QLinearAveragePool" else quantized_global_cases
    return Battery(operator, dtype, "QOperator", functools.partial(cases, dtype))


BATTERIES = Batteries(
    (
        *(
            _quantized(operator, dtype)
            for operator in ("QLinearAveragePool", "QLinearGlobalAveragePool")
            for dtype in ("uint8", "int8")
        ),
        Battery("AveragePool", "float32", "QOperator", average_cases),
        Battery("GlobalAveragePool", "float32", "QOperator", global_average_cases),
        *(
            Battery("MaxPool", dtype, "QOperator", functools.partial(max_cases, dtype))
            for dtype in ("float32", "uint8", "int8")
        ),
        *(
            Battery(
                "NhwcMaxPool", dtype, "QOperator", functools.partial(max_cases, dtype, nhwc=True)
            )
            for dtype in ("uint8", "int8")
        ),
    )
)
