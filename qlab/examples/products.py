"""Matrix products of 2 × 3 and 3 × 2, the second operand constant; one with weights of 4 bits in a block."""

import dataclasses

import numpy as np

from qlab.case import Case
from qlab.examples import EIGHT_BITS, Example, Examples, codes, one_node, scale, zero_point
from qlab.qtypes import Array

A = ((10, -20, 70), (127, 90, -3))
B = ((90, -7), (-81, 30), (100, 5))


def _product(op_type: str) -> Example:
    upper = op_type in ("MatMulInteger", "QGemm")

    def make(dtype: str, weight_dtype: str) -> Case:
        a, b = ("A", "B") if upper else ("a", "b")
        constants = {b: codes(weight_dtype, *B), "a_zero_point": zero_point(dtype)}
        constants["b_zero_point"] = zero_point(weight_dtype)
        if op_type != "MatMulInteger":
            constants |= {"a_scale": scale(0.02), "b_scale": scale(0.01), "y_scale": scale(0.03)}
            constants |= {"y_zero_point": zero_point(dtype, 1)}
        if op_type == "QGemm":
            constants["C"] = np.asarray([500, -300], np.int32)
        domain = "com.microsoft" if op_type == "QGemm" else ""
        outputs = ("Y",) if upper else ("y",)
        return one_node(op_type, {a: codes(dtype, *A)}, constants, domain=domain, outputs=outputs)

    return Example(op_type, make, EIGHT_BITS, EIGHT_BITS)


REALS = ((0.5, -1.0, 3.2), (2.0, 0.1, -0.7))


def _to_float(dtype: str, weight_dtype: str) -> Case:
    constants = {
        "B": codes(weight_dtype, *B),
        "a_scale": scale(0.02),
        "b_scale": scale(0.01),
        "a_zero_point": zero_point(dtype),
        "b_zero_point": zero_point(weight_dtype),
        "bias": np.asarray([0.5, -0.3], np.float32),
    }
    return one_node("MatMulIntegerToFloat", {"A": codes(dtype, *A)}, constants, outputs=("Y",))


def _dynamic(_: str, weight_dtype: str) -> Case:
    constants = {
        "B": codes(weight_dtype, *B),
        "b_scale": scale(0.01),
        "b_zero_point": zero_point(weight_dtype),
    }
    a = np.asarray(REALS, np.float32)
    return one_node("DynamicQuantizeMatMul", {"A": a}, constants, outputs=("Y",))


def _blocks(_: str, __: str) -> Case:
    """One block of 16 rows for each of two columns; of B, two codes a byte, the lower half first."""
    a = np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 16)
    packed = np.arange(16, dtype=np.uint8).reshape(2, 1, 8) * 13
    constants: dict[str, Array] = {"B": packed}
    constants["scales"] = np.asarray([[0.1], [0.2]], np.float32)
    size = {"K": 16, "N": 2, "bits": 4, "block_size": 16}
    case = one_node("MatMulNBits", {"A": a}, constants, outputs=("Y",))
    node = dataclasses.replace(case.graph.nodes[0], attributes=size)
    return dataclasses.replace(case, graph=dataclasses.replace(case.graph, nodes=(node,)))


EXAMPLES = Examples(
    (
        *map(_product, ("QLinearMatMul", "MatMulInteger", "QGemm")),
        Example("MatMulIntegerToFloat", _to_float, EIGHT_BITS, EIGHT_BITS),
        Example("DynamicQuantizeMatMul", _dynamic, ("float32",), EIGHT_BITS),
        Example("MatMulNBits", _blocks, ("float32",)),
    )
)
