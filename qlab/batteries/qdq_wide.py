"""QDQ groups with 16 or 4 bits: ONNX Runtime fuses none of them, so the float operator runs at every level.

What is left out: MatMul and Gemm of 16 bits with constant weights of 4 or 8 bits, which become MatMulNBits, and what
ONNX Runtime refuses from ORT_ENABLE_EXTENDED on: a Clip before codes of 4 bits, a Conv of 4 bits by 8.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS, Builder, Rng, variants
from qlab.batteries.qdq import (
    binary_cases,
    conv_cases,
    gemm_cases,
    matmul_cases,
    moved_cases,
)
from qlab.case import Case
from qlab.graph import Graph

SIXTEEN = (("uint16", "uint16"), ("int16", "int16"))
MIXED = (("uint16", "int8"), ("int16", "int8"), ("uint16", "int4"), ("uint8", "int4"), ("int8", "int4"),
         ("uint8", "uint4"))  # fmt: skip
FOUR = (("uint4", "uint4"), ("int4", "int4"))
FOUR_BITS = ("uint4", "int4", *(f"{a} × {w}" for a, w in FOUR))
NOT_OPTIMIZED = tuple(("Gemm", f"{a} × {w}") for a, w in MIXED[:3])  # into MatMulNBits


def without_clip(cases: Callable[[int], Iterator[Case]], seed: int) -> Iterator[Case]:
    """Those cases that have no Clip."""
    return (c for c in cases(seed) if all(n.op_type != "Clip" for n in c.graph.nodes))


def microsoft(case: Case) -> Case:
    """The same group with QuantizeLinear and DequantizeLinear of com.microsoft, as before opset 21."""
    nodes = tuple(
        dataclasses.replace(n, domain="com.microsoft") if "quantize" in n.op_type.lower() else n
        for n in case.graph.nodes
    )
    opset = {"": 17, "com.microsoft": 1}
    return dataclasses.replace(
        case, graph=dataclasses.replace(case.graph, nodes=nodes, opset=opset)
    )


def microsoft_cases(a: str, w: str, seed: int) -> Iterator[Case]:
    """Conv, MatMul and Add between com.microsoft's Q and DQ."""
    for cases in (conv_cases(a, w, seed), binary_cases("Add", a, seed)):
        yield from map(microsoft, cases)


def gemm_relu(rng: Rng, dtype: str, *, exact: bool, trans_b: bool, rows: int) -> Case:
    """A Gemm with Relu that ends in float32: from ORT_ENABLE_EXTENDED on com.microsoft FusedGemm."""
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation((rows, 24))
    w, w_scale = b.weight((50, 24) if trans_b else (24, 50), dtype, None)
    inputs = (x, w, b.bias(x_scale, w_scale, 50))
    y = b.add("Relu", b.add("Gemm", *inputs, transB=int(trans_b)))
    graph = Graph(tuple(b.nodes), b.constants, tuple(b.inputs), (y,), {"": 21, "com.microsoft": 1})
    return Case(graph, b.inputs)


def gemm_relu_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Many rows and one, B as it is and transposed."""
    for rng, number, exact in variants(seed):
        for rows in (1, 200):
            yield gemm_relu(rng, dtype, exact=exact, trans_b=bool(number % 2), rows=rows)


def _battery(operator: str, dtypes: str, cases: Callable[[int], Iterator[Case]]) -> Battery:
    if dtypes in FOUR_BITS:
        cases = functools.partial(without_clip, cases)
    levels = LEVELS[:1] if (operator, dtypes) in NOT_OPTIMIZED else LEVELS
    return Battery(operator, dtypes, "QDQ", cases, levels)


BATTERIES = Batteries(
    (
        *(
            _battery("Conv", f"{a} × {w}", functools.partial(conv_cases, a, w))
            for a, w in (*SIXTEEN, *MIXED, *FOUR)
        ),
        *(
            _battery("Gemm", f"{a} × {w}", functools.partial(gemm_cases, a, w))
            for a, w in (*SIXTEEN, *MIXED, *FOUR)
        ),
        *(
            _battery("MatMul", f"{a} × {w}", functools.partial(matmul_cases, a, w))
            for a, w in SIXTEEN
        ),
        *(
            _battery(operator, dtype, functools.partial(binary_cases, operator, dtype))
            for operator in ("Add", "Mul")
            for dtype in ("uint16", "int16", "uint4", "int4")
        ),
        *(
            _battery("Transpose, Reshape, Flatten", dtype, functools.partial(moved_cases, dtype))
            for dtype in ("uint16", "int16")
        ),
        *(
            _battery("Gemm, Relu", dtype, functools.partial(gemm_relu_cases, dtype))
            for dtype in ("uint16", "int16")
        ),
        *(
            _battery(
                "com.microsoft Conv, Add", dtype, functools.partial(microsoft_cases, dtype, dtype)
            )
            for dtype in ("uint16", "int16", "uint4", "int4")
        ),
    )
)
