"""Unsqueeze: axes of one entry more; codes and reals; axes as an input or an attribute."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, everywhere, f32, result, tensor


def unsqueeze(data, axes):
    return call("Unsqueeze", {"data": data, "axes": np.array(axes, np.int64)})


def test_by_hand():
    everywhere(unsqueeze(tensor("int8", [1, 2]), [0]), [[1, 2]], "int8")
    everywhere(unsqueeze(f32([1, 2]), [-1, 0]), [[[1], [2]]], "float32")
    everywhere(call("Unsqueeze", {"data": f32(3)}, opset=11, axes=(0,)), [3], "float32")


def test_what_does_not_fit():
    with pytest.raises(TraceError, match="name an axis twice"):
        result(unsqueeze(f32([1]), [0, 0]))
    with pytest.raises(TraceError, match="axes 3 is outside a tensor of rank 2"):
        result(unsqueeze(f32([1]), [3]))
    with pytest.raises(TraceError, match="the required axes are absent"):
        result(call("Unsqueeze", {"data": f32([1])}))
