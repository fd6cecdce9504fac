"""Reals to codes and back."""

import numpy as np

from qlab.case import Case
from qlab.examples import Example, Examples, codes, one_node, scale, zero_point

ALL_CODES = ("uint8", "int8", "uint16", "int16", "uint4", "int4")


def _quantize(dtype: str, _: str) -> Case:
    x = np.asarray([-1.0, -0.05, 0.0, 0.05, 0.15, 2.55, 1000.0], np.float32)
    constants = {"y_scale": scale(0.1), "y_zero_point": zero_point(dtype)}
    return one_node("QuantizeLinear", {"x": x}, constants, domain="", onnx_opset=21)


def _dequantize(dtype: str, _: str) -> Case:
    constants = {"x_scale": scale(0.1), "x_zero_point": zero_point(dtype)}
    x = codes(dtype, -100, -3, 0, 1, 5, 100)
    return one_node("DequantizeLinear", {"x": x}, constants, domain="", onnx_opset=21)


def _dynamic(_: str, __: str) -> Case:
    x = np.asarray([-1.0, 0.0, 0.3, 2.0, 3.1], np.float32)
    outputs = ("y", "y_scale", "y_zero_point")
    return one_node("DynamicQuantizeLinear", {"x": x}, {}, domain="", outputs=outputs)


EXAMPLES = Examples(
    (
        Example("QuantizeLinear", _quantize, ALL_CODES),
        Example("DequantizeLinear", _dequantize, ALL_CODES),
        Example("DynamicQuantizeLinear", _dynamic, ("uint8",)),
    )
)
