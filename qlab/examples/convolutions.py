"""Convolutions of a 1 × 1 × 4 × 4 image with two constant 2 × 2 kernels."""

import numpy as np

from qlab.case import Case
from qlab.examples import EIGHT_BITS, Example, Examples, codes, one_node, scale, zero_point

IMAGE = (((10, -20, 70, 3), (127, 90, -3, 8), (-50, 40, 25, -9), (6, 2, -1, 60)),)
KERNEL = ((((90, -7), (-81, 30)),), (((5, 100), (12, -64)),))


def _convolution(op_type: str) -> Example:
    def make(dtype: str, weight_dtype: str) -> Case:
        constants = {"w": codes(weight_dtype, *KERNEL), "x_zero_point": zero_point(dtype)}
        constants["w_zero_point"] = zero_point(weight_dtype)
        if op_type == "QLinearConv":
            constants |= {"x_scale": scale(0.02), "w_scale": np.asarray([0.01, 0.015], np.float32)}
            constants["w_zero_point"] = np.repeat(zero_point(weight_dtype), 2)
            constants |= {"y_scale": scale(0.04), "y_zero_point": zero_point(dtype, 1)}
            constants["B"] = np.asarray([500, -300], np.int32)
        return one_node(op_type, {"x": codes(dtype, *IMAGE)[None]}, constants, domain="")

    return Example(op_type, make, EIGHT_BITS, EIGHT_BITS)


EXAMPLES = Examples(map(_convolution, ("QLinearConv", "ConvInteger")))
