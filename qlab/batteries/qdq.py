"""QDQ groups of convolutions, matrix products, sums and products."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS, THENS, Builder, Rng, variants
from qlab.batteries.inputs import zero_point
from qlab.case import Case
from qlab.graph import Graph
from qlab.qtypes import Array, bounds

TYPES = (("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8"))


def reach(x_scale: Array, w_scale: Array, k: int, weight_dtype: str = "int8") -> float:
    """A step with which sums of k products of codes fill most of the range of the type that x has too."""
    of_8_bits = float(np.max(x_scale) * np.max(w_scale)) * 40 * math.sqrt(k)
    return of_8_bits * levels(weight_dtype) / 256


def levels(dtype: str) -> int:
    """How many codes a type has."""
    low, high = bounds(dtype)
    return high - low + 1


def conv(
    rng: Rng, dtype: str, weight_dtype: str, *, per_channel: bool, with_bias: bool, exact: bool, then: str = "",
    depthwise: bool = False, spatial: Sequence[int] = (20, 21),
) -> Case:  # fmt: skip
    """A Conv."""
    b = Builder(rng, dtype, exact)
    cin, m = (6, 6) if depthwise else (3, 8)
    kernel = (3,) * len(spatial)
    x, x_scale = b.activation((1, cin, *spatial))
    shape = (m, 1 if depthwise else cin, *kernel)
    w, w_scale = b.weight(shape, weight_dtype, 0 if per_channel else None)
    inputs = [x, w] + ([b.bias(x_scale, w_scale, m)] if with_bias else [])
    attributes = {"pads": (1,) * 2 * len(spatial), "kernel_shape": kernel, "group": 6 if depthwise else 1}  # fmt: skip
    y = b.add("Conv", *inputs, **attributes)
    return b.finish(y, reach(x_scale, w_scale, int(np.prod(shape[1:])), weight_dtype), then=then)


def matmul(
    rng: Rng, dtype: str, weight_dtype: str, *, per_channel: bool, exact: bool, then: str = "", quantized: bool = True,
    rows: int = 40, k: int = 24,
) -> Case:  # fmt: skip
    """A MatMul, or one that ends in float32."""
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation((rows, k))
    w, w_scale = b.weight((k, 50), weight_dtype, 1 if per_channel else None)
    y = b.add("MatMul", x, w)
    if quantized:
        return b.finish(y, reach(x_scale, w_scale, k, weight_dtype), then=then)
    graph = Graph(tuple(b.nodes), b.constants, tuple(b.inputs), (y,), {"": 21, "com.microsoft": 1})
    return Case(graph, b.inputs)


def gemm(
    rng: Rng, dtype: str, weight_dtype: str, *, per_channel: bool, with_bias: bool, exact: bool, then: str = "",
    trans_b: bool = False, rows: int = 40, k: int = 24,
) -> Case:  # fmt: skip
    """A Gemm."""
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation((rows, k))
    shape = (50, k) if trans_b else (k, 50)
    axis = (0 if trans_b else 1) if per_channel else None
    w, w_scale = b.weight(shape, weight_dtype, axis)
    inputs = [x, w] + ([b.bias(x_scale, w_scale, 50)] if with_bias else [])
    y = b.add("Gemm", *inputs, transB=int(trans_b))
    return b.finish(y, reach(x_scale, w_scale, k, weight_dtype), then=then)


def binary(rng: Rng, op_type: str, dtype: str, *, exact: bool, then: str = "") -> Case:
    """An Add or a Mul, of equal shapes or broadcast."""
    b = Builder(rng, dtype, exact)
    shapes = [((1, 4, 25, 20), (1, 4, 25, 20)), ((4, 25, 20), (25, 1)), ((7,), (300, 1))]
    one, other = shapes[int(rng.integers(len(shapes)))]
    (x, x_scale), (y, y_scale) = b.activation(one), b.activation(other)
    step = float(x_scale + y_scale) if op_type == "Add" else float(x_scale * y_scale) * 60
    if op_type == "Mul":
        step *= levels(dtype) / 256
    return b.finish(b.add(op_type, x, y), step, then=then)


def moved(rng: Rng, dtype: str, *, exact: bool) -> Case:
    """A Conv with Transpose, Reshape, Flatten and Identity around, quantized between."""
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation((1, 12, 10, 3))
    x = b.add("Transpose", x, perm=(0, 3, 1, 2))
    zero = zero_point(rng, dtype)
    parameters = b.parameters(x_scale, zero)
    x = b.add("DequantizeLinear", b.add("QuantizeLinear", x, *parameters), *parameters)
    w, w_scale = b.weight((4, 3, 2, 2), "int8", 0)
    y = b.add("Conv", x, w)
    step = reach(x_scale, w_scale, 12)
    step = float(2.0 ** np.rint(np.log2(step))) if exact else step
    parameters = b.parameters(np.asarray(step, np.float32), zero_point(rng, dtype))
    y = b.add("DequantizeLinear", b.add("QuantizeLinear", y, *parameters), *parameters)
    y = b.add("Identity", b.add("Flatten", y))
    shape = b.constant("shape", np.array([4, 3, -1]))
    y = b.add("Transpose", b.add("Reshape", y, shape), perm=(0, 2, 1))
    return b.finish(y, step)


def conv_cases(a: str, w: str, seed: int) -> Iterator[Case]:
    """Images, depthwise and in one dimension; per channel; with bias; with Relu or Clip."""
    for rng, number, exact in variants(seed):
        shapes: tuple[dict[str, Any], ...] = ({}, {"depthwise": True}, {"spatial": (300,)})
        for shape in shapes:
            yield conv(
                rng, a, w, per_channel=bool(number % 2), with_bias=number >= 2, exact=exact,
                then=THENS[number % 3], **shape,
            )  # fmt: skip


def matmul_cases(a: str, w: str, seed: int) -> Iterator[Case]:
    """Many rows, and one as in the last layer of a classifier; left in float32."""
    for rng, number, exact in variants(seed):
        plain: dict[str, Any] = {"per_channel": bool(number % 2), "exact": exact}
        yield matmul(rng, a, w, **plain, then=THENS[number % 3])
        yield matmul(rng, a, w, **plain, rows=1, k=70)
        yield matmul(rng, a, w, **plain, quantized=False)


def gemm_cases(a: str, w: str, seed: int) -> Iterator[Case]:
    """Many rows and one, with bias, B transposed."""
    for rng, number, exact in variants(seed):
        plain: dict[str, Any] = {
            "per_channel": bool(number % 2),
            "exact": exact,
            "with_bias": number >= 2,
        }
        yield gemm(rng, a, w, **plain, trans_b=number == 1, then=THENS[number % 3])
        yield gemm(rng, a, w, **plain, trans_b=number == 2, rows=1, k=70)


def binary_cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """Equal shapes and broadcasts."""
    for rng, number, exact in variants(seed):
        yield binary(rng, op_type, dtype, exact=exact, then=THENS[number % 3])


def moved_cases(dtype: str, seed: int) -> Iterator[Case]:
    """A Conv among operators that move values only."""
    for rng, _, exact in variants(seed):
        yield moved(rng, dtype, exact=exact)


def _battery(operator: str, dtypes: str, cases: Callable[[int], Iterator[Case]]) -> Battery:
    return Battery(operator, dtypes, "QDQ", cases, LEVELS)


BATTERIES = Batteries(
    (
        *(
            _battery(operator, f"{a} × {w}", functools.partial(cases, a, w))
            for operator, cases in (
                ("Conv", conv_cases),
                ("MatMul", matmul_cases),
                ("Gemm", gemm_cases),
            )
            for a, w in TYPES
        ),
        *(
            _battery(operator, dtype, functools.partial(binary_cases, operator, dtype))
            for operator in ("Add", "Mul")
            for dtype in ("uint8", "int8")
        ),
        *(
            _battery("Transpose", dtype, functools.partial(moved_cases, dtype))
            for dtype in ("uint8", "int8")
        ),
    )
)
