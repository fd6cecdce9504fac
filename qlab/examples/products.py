"""Matrix products of 2 × 3 and 3 × 2 codes, the second operand constant."""

import numpy as np

from qlab.case import Case
from qlab.examples import EIGHT_BITS, Example, Examples, codes, one_node, scale, zero_point

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


EXAMPLES = Examples(map(_product, ("QLinearMatMul", "MatMulInteger", "QGemm")))
