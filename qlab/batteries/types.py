"""QuantizeLinear and DequantizeLinear in their other types: float8, float16, 2 bits, the domain of Microsoft.

Each type in each layout of the parameters that the opset has, with values on ties between neighbouring codes, beside
them, at and beyond both ends, and no numbers. What each type of x and scale does is one battery a type of codes.
"""

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from onnx import helper

from qlab.batteries import Batteries, Battery
from qlab.batteries.inputs import codes, one_node, scale, zero_point
from qlab.case import Case
from qlab.lowering import along_axis
from qlab.qtypes import DTYPES, Array, bounds, is_float8

QUANTIZE = ("x", "y_scale", "y_zero_point")
DEQUANTIZE = ("x", "x_scale", "x_zero_point")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int4", "uint4")
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 6e-8, 65504.0, -65504.0, 3e38, -3e38)


@dataclasses.dataclass(frozen=True)
class Layout:
    """How scales lie along a tensor; odd lengths, so that 4-bit codes end in the middle of a byte."""

    shape: tuple[int, ...]
    parameters: tuple[int, ...] = ()
    axis: int = 1
    block_size: int = 0

    def attributes(self) -> dict[str, object]:
        """The node's."""
        if not self.parameters:
            return {}
        block = {"block_size": self.block_size} if self.block_size else {}
        return {"axis": self.axis, **block}

    def spread(self, values: Array) -> Array:
        """The parameter of each element."""
        return np.broadcast_to(
            along_axis(values, self.axis, self.shape, self.block_size), self.shape
        )


PLAIN = (
    Layout((12_001,)),
    Layout((4, 6, 151), (6,)),
    Layout((3, 5, 7, 11), (11,), -1),
    Layout((5, 301), (5,), 0),
)
BLOCKED = (
    Layout((31, 50), (31, 4), 1, 16),
    Layout((3, 25, 33), (3, 4, 33), 1, 7),
    Layout((9, 4, 35), (2, 4, 35), 0, 5),
)


@dataclasses.dataclass(frozen=True)
class Reals:
    """The types of the reals around codes, and where the operator takes them.

    Attributes:
        x: of what is quantized, or of what is dequantized to. precision: as the attribute has it, "" without it.
    """

    x: str
    scale: str
    opset: int
    precision: str = ""
    domain: str = ""


FLOAT32 = tuple(Reals("float32", "float32", opset) for opset in (19, 21, 23, 25))
# One type for both up to opset 21; from 23 on y_scale's is that of the division where no attribute says another.
FLOAT16 = (
    *(Reals("float16", "float16", opset) for opset in (19, 21, 23, 24, 25)),
    Reals("float16", "float16", 23, "float32"),
    Reals("float16", "float16", 25, "float16"),
    Reals("float16", "float32", 23),
    Reals("float16", "float32", 25, "float16"),
    Reals("float32", "float16", 25),
    Reals("float32", "float16", 23, "float32"),
    Reals("float32", "float32", 25, "float16"),
)
# ONNX Runtime has float32 kernels of these only: it puts Casts around a node of float16.
MICROSOFT = (Reals("float32", "float32", 21, domain="com.microsoft"),)
TWO_BITS = tuple(
    Reals(x, scale, 25)
    for x, scale in (("float32", "float32"), ("float16", "float16"), ("float16", "float32"))
)


def ties(dtype: str) -> Array:
    """All halves between neighbouring codes, the codes, and what lies beyond them (float64)."""
    if is_float8(dtype):
        numbers = np.arange(256, dtype=np.uint8).view(DTYPES[dtype]).astype(np.float64)
        numbers = np.unique(numbers[np.isfinite(numbers)])
        largest = numbers[-1]
        quantum = largest - numbers[-2]
        beyond = largest + quantum * np.array([0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 9])
        middles = (numbers[1:] + numbers[:-1]) / 2
        return np.concatenate([numbers, middles, beyond, -beyond])
    low, high = bounds(dtype)
    reach = high - low
    halves = np.unique(np.rint(np.linspace(-2 * reach - 6, 2 * reach + 6, 4_001))) / 2
    return np.concatenate([halves, [-3e9, 3e9, 2.0**31, -(2.0**31), 1e20, -1e20]])


def beside(rng: np.random.Generator, values: Array, steps: int) -> Array:
    """Floats of any type moved by up to ``steps`` units in the last place."""
    bits = np.ascontiguousarray(values).view(f"int{8 * values.dtype.itemsize}")
    moved = bits + rng.integers(-steps, steps + 1, bits.shape).astype(bits.dtype)
    return np.asarray(moved.view(values.dtype).reshape(values.shape))


def zero_points(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    """Zero points that the type may have: 0 for float8."""
    return np.zeros(shape, DTYPES[dtype]) if is_float8(dtype) else zero_point(rng, dtype, shape)


def layouts(reals: Reals) -> tuple[Layout, ...]:
    """Blocks came with opset 21; the domain of Microsoft has none."""
    return PLAIN if reals.opset < 21 or reals.domain else (*PLAIN, *BLOCKED)


def takes(dtype: str, opset: int) -> bool:
    """True where ai.onnx of this version has the type: 8 bits always, 4 and 16 from 21 on."""
    return opset >= 21 or dtype in ("int8", "uint8") or is_float8(dtype)


def quantize_cases(dtype: str, kinds: tuple[Reals, ...], seed: int) -> Iterator[Case]:
    """Every layout for every kind of reals; float8 with and without saturation."""
    rng = np.random.default_rng(seed)
    pool = ties(dtype)
    for reals in kinds:
        if not takes(dtype, reals.opset):
            continue
        for number, layout in enumerate(layouts(reals)):
            power = (-10, 3) if "float16" in (reals.x, reals.scale, reals.precision) else (-20, 20)
            y_scale = scale(rng, layout.parameters, *power).astype(DTYPES[reals.scale])
            with np.errstate(over="ignore"):
                exact = rng.choice(pool, layout.shape) * layout.spread(y_scale).astype(np.float64)
                x = beside(rng, exact.astype(DTYPES[reals.x]), 1 if reals.x == "float16" else 2)
                flat = x.reshape(-1)
                flat[:: max(1, flat.size // 99)] = np.resize(SPECIAL, flat[:: max(1, flat.size // 99)].size)  # fmt: skip
            attributes = layout.attributes()
            if reals.precision:
                attributes["precision"] = helper.np_dtype_to_tensor_dtype(DTYPES[reals.precision])
            if is_float8(dtype):
                attributes["saturate"] = int((number + reals.opset // 2) % 2)
            tensors = {"x": x, "y_scale": y_scale, "y_zero_point": zero_points(rng, dtype, layout.parameters)}  # fmt: skip
            if not number and reals.opset >= 21 and not reals.domain:
                del tensors["y_zero_point"]
                attributes["output_dtype"] = helper.np_dtype_to_tensor_dtype(DTYPES[dtype])
            yield one_node(
                "QuantizeLinear", QUANTIZE, tensors, ("x",),
                domain=reals.domain, attributes=attributes, opset=reals.opset,
            )  # fmt: skip


def dequantize_cases(dtype: str, kinds: tuple[Reals, ...], seed: int) -> Iterator[Case]:
    """Every code, or codes of both ends, in every layout for every kind of reals."""
    rng = np.random.default_rng(seed)
    for reals in kinds:
        if not takes(dtype, reals.opset) and dtype != "int32":
            continue
        for number, layout in enumerate(layouts(reals)):
            if is_float8(dtype):
                x = rng.integers(0, 256, layout.shape).astype(np.uint8).view(DTYPES[dtype])
            else:
                x = codes(rng, dtype, layout.shape)
            power = (-24, 15) if "float16" in (reals.x, reals.scale) else (-140, 120)
            x_scale = scale(rng, layout.parameters, *power).astype(DTYPES[reals.scale])
            if number == 1:
                x_scale.reshape(-1)[:5] = (0, np.inf, np.nan, -1, -0.0)
            tensors = {"x": x, "x_scale": x_scale}
            if dtype != "int32" and not (is_float8(dtype) and number % 2):
                tensors["x_zero_point"] = zero_points(rng, dtype, layout.parameters)
            attributes = layout.attributes()
            if reals.opset >= 23 and reals.x != reals.scale:
                attributes["output_dtype"] = helper.np_dtype_to_tensor_dtype(DTYPES[reals.x])
            yield one_node(
                "DequantizeLinear", DEQUANTIZE, tensors, ("x",),
                domain=reals.domain, attributes=attributes, opset=reals.opset,
            )  # fmt: skip


def _both(
    domain: str, label: str, dtypes: tuple[str, ...], kinds: tuple[Reals, ...]
) -> Iterator[Battery]:
    """QuantizeLinear and DequantizeLinear for each type of codes."""
    plain = tuple(r for r in kinds if not r.precision)
    for dtype in dtypes:
        if dtype != "int32":
            cases = functools.partial(quantize_cases, dtype, kinds)
            yield Battery(f"{domain}QuantizeLinear", f"{label}{dtype}", "QOperator", cases)
        back = functools.partial(dequantize_cases, dtype, plain)
        yield Battery(f"{domain}DequantizeLinear", f"{label}{dtype}", "QOperator", back)


BATTERIES = Batteries(
    (
        *_both("", "", FLOAT8, FLOAT32),
        *_both("", "float16 ", (*INTEGERS, "int32", *FLOAT8), FLOAT16),
        *_both("", "opsets 19 to 25 ", (*INTEGERS, "int32"), FLOAT32),
        *_both("", "", ("int2", "uint2"), TWO_BITS),
        *_both("com.microsoft.", "", (*INTEGERS, "int32"), MICROSOFT),
    )
)
