"""Products that end in float32: MatMulIntegerToFloat and DynamicQuantizeMatMul, with each shape of scale and bias."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS
from qlab.batteries.inputs import OPSET, Tensors, codes, one_node, scale, zero_point
from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import Array, bounds

Rng = np.random.Generator
SIZES = ((100, 1, 64), (100, 2, 64), (60, 3, 70), (33, 7, 50), (64, 16, 64), (40, 65, 51), (1, 300, 64), (16, 1500, 40))  # fmt: skip
# Of A and of B before rows and columns: matrices that share B, one for each, one A for all.
BATCHES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((3,), ()),
    ((3,), (3,)),
    ((), (3,)),
    ((2, 3), (3,)),
    ((2, 1), (2, 3)),
)


def reals(rng: Rng, number: int, shape: tuple[int, ...]) -> Array:
    """Ranges with and without 0 in the middle, of all sizes; one is zero."""
    center = (0.0, 1.0, -3.0)[number % 3]
    values = rng.normal(center, 1, shape) * 2.0 ** rng.integers(-10, 10)
    return np.asarray(values * (number != 4)).astype(np.float32)


def _call(
    op_type: str, a_dtype: str, b_dtype: str, rng: Rng, number: int,
    a_shape: tuple[int, ...], b_shape: tuple[int, ...], b_scale: tuple[int, ...],
) -> Case:  # fmt: skip
    """One call; what is optional is there in turn."""
    *_, k, n = b_shape
    tensors: Tensors = {"b": codes(rng, b_dtype, b_shape), "b_scale": scale(rng, b_scale)}
    if number % 4:
        zeros = (*b_shape[:-2], 1, n) if len(b_shape) > 2 else (n,)
        tensors["zb"] = zero_point(rng, b_dtype, zeros if number % 4 == 1 else ())
    if number % 3:
        tensors["bias"] = (rng.normal(0, 1, (n,)) * 2.0 ** rng.integers(-4, 12)).astype(np.float32)
    dynamic = op_type == "DynamicQuantizeMatMul"
    if dynamic:
        tensors["a"] = reals(rng, number, a_shape)
        names: tuple[str, ...] = ("a", "b", "b_scale", "zb", "bias")
    else:
        tensors["a"], tensors["a_scale"] = codes(rng, a_dtype, a_shape), scale(rng)
        if number % 5:
            tensors["za"] = zero_point(rng, a_dtype)
        names = ("a", "b", "a_scale", "b_scale", "za", "zb", "bias")
    if k > 1000:  # all of one sign, so that the sums pass 2^24, where float32 has not every integer
        tensors["b"] = np.maximum(tensors["b"], 1)
        tensors["zb"] = np.asarray(bounds(b_dtype)[0] if number % 2 else 0, tensors["b"].dtype)
        tensors["a"] = np.abs(tensors["a"]) if dynamic else np.full_like(tensors["a"], 127)
        if not dynamic:
            tensors["a"] -= codes(rng, "uint8", a_shape).astype(tensors["a"].dtype) % 64
            tensors["za"] = np.zeros((), tensors["a"].dtype)
    inputs = ("a",) if number % 2 else ("a", "b")
    return one_node(op_type, names, tensors, inputs, domain="com.microsoft")


def float_product_cases(op_type: str, a_dtype: str, b_dtype: str, seed: int) -> Iterator[Case]:
    """Matrices with a scale for all and for each column; then batches with each shape of b_scale."""
    rng = np.random.default_rng(seed)
    number = 0
    for m, k, n in SIZES * 2:
        for columns in ((), (n,)):
            yield _call(op_type, a_dtype, b_dtype, rng, number, (m, k), (k, n), columns)
            number += 1
    m, k, n = 20, 19, 37
    for a_batch, b_batch in BATCHES:
        shapes: list[tuple[int, ...]] = [(), (n,), (1, n)]
        if b_batch:
            shapes += [(*b_batch, 1, n), (*(1 for _ in b_batch), 1, n)]
        for b_scale in shapes:
            a_shape, b_shape = (*a_batch, m, k), (*b_batch, k, n)
            yield _call(op_type, a_dtype, b_dtype, rng, number, a_shape, b_shape, b_scale)
            number += 1


def gemm_cases(seed: int) -> Iterator[Case]:
    """Gemm of floats, and the Relu after it that ONNX Runtime makes a part of it."""
    rng = np.random.default_rng(seed)
    for number, (m, k, n) in enumerate(((1, 70, 300), (90, 33, 140), (40, 300, 90), (200, 5, 1))):
        for trans_a, trans_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            tensors = {
                "a": rng.normal(0, 1, (k, m) if trans_a else (m, k)),
                "b": rng.normal(0, 1, (n, k) if trans_b else (k, n)),
                "c": rng.normal(0, 1, ((n,), (m, 1), (1,), (m, n))[number]),
            }
            floats = {name: value.astype(np.float32) for name, value in tensors.items()}
            fed = ("a", "b") if (number + trans_a + trans_b) % 2 else ("a",)
            constants = {name: value for name, value in floats.items() if name not in fed}
            gemm = Node("Gemm", ("a", "b", "c"), ("g",), attributes={"transA": trans_a, "transB": trans_b})  # fmt: skip
            graph = Graph((gemm, Node("Relu", ("g",), ("y",))), constants, fed, ("y",), OPSET)
            yield Case(graph, {name: floats[name] for name in fed})


TYPES = (("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
BATTERIES = Batteries(
    (
        *(
            Battery(
                "MatMulIntegerToFloat",
                f"{a} × {b}",
                "QOperator",
                functools.partial(float_product_cases, "MatMulIntegerToFloat", a, b),
            )
            for a, b in TYPES
        ),
        *(
            Battery(
                "DynamicQuantizeMatMul",
                f"float32 × {b}",
                "QOperator",
                functools.partial(float_product_cases, "DynamicQuantizeMatMul", "uint8", b),
            )
            for b in ("uint8", "int8")
        ),
        Battery("Gemm, Relu", "float32", "Float group", gemm_cases, LEVELS),
    )
)
