"""Means over windows of a 1 × 1 × 4 × 4 image."""

from typing import Any

from qlab.case import Case
from qlab.examples import Example, Examples, codes, one_node, scale, zero_point
from qlab.examples.convolutions import IMAGE


def _mean(op_type: str, **attributes: Any) -> Example:
    def make(dtype: str, _: str) -> Case:
        constants = {
            "x_scale": scale(0.02),
            "x_zero_point": zero_point(dtype, 3),
            "y_scale": scale(0.015),
            "y_zero_point": zero_point(dtype, 1),
        }
        return one_node(op_type, {"X": codes(dtype, *IMAGE)[None]}, constants, **attributes)

    return Example(op_type, make)


EXAMPLES = Examples(
    (
        _mean("QLinearAveragePool", kernel_shape=(2, 2), strides=(2, 2)),
        _mean("QLinearGlobalAveragePool"),
    )
)
