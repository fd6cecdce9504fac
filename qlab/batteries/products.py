"""Matrix products of codes: odd and even K, saturating pairs, sums beyond 2^24, ties in each column."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.inputs import (
    Tensors,
    codes,
    one_node,
    scale,
    tie_multipliers,
    zero_point,
)
from qlab.case import Case
from qlab.qtypes import bounds


def matmul_cases(op_type: str, a_dtype: str, b_dtype: str, seed: int) -> Iterator[Case]:
    """QLinearMatMul, QGemm and MatMulInteger: odd and even K, saturating pairs, ties in each column."""
    rng = np.random.default_rng(seed)
    for k in (1, 2, 3, 4, 7, 16, 33, 64, 65, 300, 1500):
        for per_column in (False, True):
            m, n = (100, 112) if k < 1000 else (8, 40)
            a, b = codes(rng, a_dtype, (m, k)), codes(rng, b_dtype, (k, n))
            za = zero_point(rng, a_dtype)
            zb = zero_point(rng, b_dtype, (n,) if per_column and op_type != "QGemm" else ())
            if (
                k > 1000
            ):  # all of one sign, so that the sums pass 2^24, where float32 has not every integer
                za, zb = (np.full_like(z, bounds(z.dtype)[0]) for z in (za, zb))
            tensors: Tensors = {"a": a, "b": b, "za": za, "zb": zb}
            inputs = ("a",) if per_column else ("a", "b")
            if op_type == "MatMulInteger":
                yield one_node(op_type, ("a", "b", "za", "zb"), tensors, inputs)
                continue
            tensors["sa"] = scale(rng)
            alpha = float(rng.choice([1.0, 0.5, 1.3])) if op_type == "QGemm" else 1.0
            bias = rng.integers(-3000, 3000, (n,)) if op_type == "QGemm" and k % 3 else np.zeros(n)
            tensors["sb"] = scale(rng)
            tensors["sy"] = np.asarray(scale(rng) * k * 8, np.float32)
            if per_column:  # one scale for each column that ties the first row's sum
                total = (a.astype(np.int64) - int(za)) @ (b.astype(np.int64) - zb.astype(np.int64))
                unit = float(tensors["sy"]) / float(tensors["sa"]) / alpha
                tensors["sb"] = tie_multipliers(rng, total[0] + bias, unit)
            tensors["zy"] = zero_point(rng, a_dtype)
            if op_type == "QLinearMatMul":
                names: tuple[str, ...] = ("a", "sa", "za", "b", "sb", "zb", "sy", "zy")
                yield one_node(op_type, names, tensors, inputs)
                continue
            names = ("a", "sa", "za", "b", "sb", "zb", "c", "sy", "zy")
            attributes: dict[str, object] = {
                "alpha": alpha,
                "transA": 0,
                "transB": k % 2,
            }
            if k % 2:
                tensors["b"] = np.ascontiguousarray(b.T)
            if k % 3:
                tensors["c"] = bias.astype(np.int32)
            if per_column:
                tensors["zb"] = np.full((n,), tensors["zb"])
            if k == 7:
                del tensors["sy"], tensors["zy"]
            inputs = ("a",)  # ONNX Runtime takes a constant B here
            yield one_node(
                op_type, names, tensors, inputs, domain="com.microsoft", attributes=attributes
            )


TYPES = (("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
BATTERIES = Batteries(
    Battery(op_type, f"{a} × {b}", "QOperator", functools.partial(matmul_cases, op_type, a, b))
    for op_type, types in (
        ("QLinearMatMul", TYPES),
        ("QGemm", TYPES),
        ("MatMulInteger", (*TYPES, ("int8", "uint8"))),
    )
    for a, b in types
)
