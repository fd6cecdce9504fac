"""Functions of single codes, and Softmax."""

from qlab.case import Case
from qlab.examples import Example, Examples, Tensors, codes, one_node, scale, zero_point

CODES = (-128, -60, -5, 0, 3, 40, 127)


def _parameters(dtype: str, y_scale: float, y_zero_point: int) -> Tensors:
    """Scales and zero points of input and result; ``y_zero_point`` above the middle of the range."""
    return {
        "X_scale": scale(0.05),
        "X_zero_point": zero_point(dtype, 3),
        "Y_scale": scale(y_scale),
        "Y_zero_point": zero_point(dtype, y_zero_point),
    }


def _sigmoid(dtype: str, _: str) -> Case:
    x = codes(dtype, *CODES)
    constants = _parameters(dtype, 0.0039, -127)
    return one_node("QLinearSigmoid", {"X": x}, constants, outputs=("Y",))


def _leaky_relu(dtype: str, _: str) -> Case:
    x = codes(dtype, *CODES)
    constants = _parameters(dtype, 0.04, -3)
    return one_node("QLinearLeakyRelu", {"X": x}, constants, outputs=("Y",), alpha=0.1)


def _softmax(dtype: str, _: str) -> Case:
    x = codes(dtype, CODES)
    constants = {
        "X_scale": scale(0.05),
        "x_zero_point": zero_point(dtype, 3),
        "y_scale": scale(0.0039),
        "y_zero_point": zero_point(dtype, -127),
    }
    return one_node("QLinearSoftmax", {"X": x}, constants, outputs=("Y",), axis=-1, opset=13)


EXAMPLES = Examples(
    (
        Example("QLinearSigmoid", _sigmoid),
        Example("QLinearLeakyRelu", _leaky_relu),
        Example("QLinearSoftmax", _softmax),
    )
)
