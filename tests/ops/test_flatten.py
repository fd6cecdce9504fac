"""Flatten: to a matrix."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, everywhere, f32, result, tensor

X = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(("axis", "shape"), [(0, (1, 24)), (1, (2, 12)), (3, (24, 1)), (-1, (6, 4)), (-3, (1, 24))])  # fmt: skip
def test_axes(axis, shape):
    case = call("Flatten", {"input": tensor("int8", X)}, axis=axis)
    everywhere(case, X.reshape(shape), "int8")


def test_the_default_axis_is_1():
    everywhere(call("Flatten", {"input": f32(X)}), X.reshape(2, 12))


def test_no_axes_and_no_elements():
    everywhere(call("Flatten", {"input": f32(3)}, axis=0), f32([[3]]))
    everywhere(call("Flatten", {"input": np.zeros((0, 2, 3), np.float32)}), np.zeros((0, 6)))


@pytest.mark.parametrize("axis", [4, -4])
def test_an_axis_outside(axis):
    with pytest.raises(TraceError, match=f"axis {axis} is outside an input of rank 3"):
        result(call("Flatten", {"input": X}, axis=axis))
