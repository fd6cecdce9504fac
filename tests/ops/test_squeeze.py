"""Squeeze: axes of one entry go; codes and reals; axes as an input, an attribute, or none."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, everywhere, f32, result, tensor


def squeeze(data, axes=None, opset=21, **attributes):
    tensors = {"data": data} | ({} if axes is None else {"axes": np.array(axes, np.int64)})
    return call("Squeeze", tensors, opset=opset, **attributes)


def test_by_hand():
    everywhere(squeeze(tensor("uint8", [[[1], [2]]])), [1, 2], "uint8")
    everywhere(squeeze(tensor("uint8", [[[1], [2]]]), [0]), [[1], [2]], "uint8")
    everywhere(squeeze(f32([[[1], [2]]]), [-1]), [[1, 2]], "float32")


def test_the_attribute_of_old_opsets():
    case = call("Squeeze", {"data": f32([[[1], [2]]])}, opset=11, axes=(0,))
    everywhere(case, [[1], [2]], "float32")


def test_what_does_not_fit():
    with pytest.raises(TraceError, match="axis 1 of data has 2 entries; it must have 1"):
        result(squeeze(f32([[1, 2]]), [1]))
    with pytest.raises(TraceError, match="axes 2 is outside a tensor of rank 2"):
        result(squeeze(f32([[1, 2]]), [2]))
