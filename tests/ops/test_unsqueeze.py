"""Unsqueeze adds axes of one entry."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, everywhere, result, tensor

X = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    x = tensor(dtype, X)
    for name in SCHEMES:
        equal(result(call("Unsqueeze", {"data": x, "axes": np.array([0])}), name), X[None], dtype)


def unsqueeze(axes, **more):
    return call("Unsqueeze", {"data": tensor("int8", X), "axes": np.array(axes)}, **more)


@pytest.mark.parametrize(
    ("axes", "shape"),
    [([0], (1, 2, 3)), ([-1], (2, 3, 1)), ([3, 0], (1, 2, 3, 1)), ([1, 2], (2, 1, 1, 3))],
)
def test_axes(axes, shape):
    everywhere(unsqueeze(axes), X.reshape(shape), "int8")


def test_axes_are_an_attribute_before_opset_13():
    case = call("Unsqueeze", {"data": tensor("int8", X)}, opset=11, axes=(0,))
    everywhere(case, X[None], "int8")


def test_bad_calls():
    with pytest.raises(TraceError, match=r"axes \[0, -4\] names an axis twice"):
        result(unsqueeze([0, -4]))
    with pytest.raises(TraceError, match="axes 3 is outside a tensor of rank 3"):
        result(unsqueeze([3]))
    with pytest.raises(TraceError, match="axes is needed"):
        result(call("Unsqueeze", {"data": X}))
