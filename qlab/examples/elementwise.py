"""Sums and products of two tensors of codes."""

from qlab.case import Case
from qlab.examples import Example, Examples, codes, one_node, scale, zero_point


def _two_operands(op_type: str, c_scale: float) -> Example:
    def make(dtype: str, _: str) -> Case:
        return one_node(
            op_type,
            {"A": codes(dtype, -90, -1, 4, 100), "B": codes(dtype, 77, 3, -2, 50)},
            {
                "A_scale": scale(0.02),
                "A_zero_point": zero_point(dtype, 3),
                "B_scale": scale(0.03),
                "B_zero_point": zero_point(dtype, -5),
                "C_scale": scale(c_scale),
                "C_zero_point": zero_point(dtype, 1),
            },
            outputs=("C",),
        )

    return Example(op_type, make)


EXAMPLES = Examples((_two_operands("QLinearAdd", 0.04), _two_operands("QLinearMul", 0.05)))
