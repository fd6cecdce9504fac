"""Squeeze leaves out axes of one entry."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, everywhere, result, tensor

X = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    x = tensor(dtype, X)
    for name in SCHEMES:
        equal(result(call("Squeeze", {"data": x[None], "axes": np.array([0])}), name), X, dtype)


def squeeze(shape, axes=None, **more):
    tensors = {"data": tensor("int8", np.ones(shape))}
    return call("Squeeze", tensors | ({} if axes is None else {"axes": np.array(axes)}), **more)


@pytest.mark.parametrize(
    ("axes", "expected"), [(None, (2,)), ([0], (2, 1)), ([-1], (1, 2)), ([0, 2], (2,))]
)
def test_axes(axes, expected):
    everywhere(squeeze((1, 2, 1), axes), np.ones(expected), "int8")


def test_axes_are_an_attribute_before_opset_13():
    everywhere(call("Squeeze", {"data": tensor("int8", X[None])}, opset=11, axes=(0,)), X, "int8")


def test_bad_calls():
    with pytest.raises(TraceError, match="axis 1 has 2 entries; only one can be left out"):
        result(squeeze((1, 2, 1), [1]))
    with pytest.raises(TraceError, match="axes 3 is outside a tensor of rank 3"):
        result(squeeze((1, 2, 1), [3]))
