"""QLinearLeakyRelu: ties on both sides, both ends of the range, the default slope."""

import pytest

from qlab.errors import TraceError
from tests.ops.calls import everywhere, result
from tests.ops.test_qlinearsigmoid import sigmoid


def leaky(x, x_scale=1.0, y_scale=1.0, y_zero=0, dtype="int8", **attributes):
    return sigmoid(x, x_scale, y_scale, y_zero, dtype, op="QLinearLeakyRelu", **attributes)


@pytest.mark.parametrize("zero", [0, 1, -3])
def test_ties_are_even_before_the_zero_point(zero):
    # x / 2 above zero, x / 4 below it.
    case = leaky([1, 3, 5, -2, -6, -10], y_scale=2.0, y_zero=zero, alpha=0.5)
    everywhere(case, [zero + v for v in (0, 2, 2, 0, -2, -2)], "int8")


def test_both_ends_of_the_range():
    everywhere(leaky([127, -128, -64, 0], y_scale=0.5, alpha=1.0), [127, -128, -128, 0], "int8")
    everywhere(leaky([0, 9, 255], y_scale=0.5, y_zero=3, dtype="uint8", x_zero=9, alpha=0.5), [0, 3, 255], "uint8")  # fmt: skip


def test_the_default_slope():
    everywhere(leaky([-100, -50, 100]), [-1, 0, 100], "int8")


def test_what_is_no_call():
    with pytest.raises(TraceError, match=r"QLinearLeakyRelu \(out\): X is int16"):
        result(leaky([1], dtype="int16"))
