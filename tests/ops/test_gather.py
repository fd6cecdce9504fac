"""Gather: entries along an axis, counted from either end; codes and reals."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, everywhere, f32, result, tensor

DATA = [[1, 2, 3], [4, 5, 6]]


def gather(data, indices, **attributes):
    return call("Gather", {"data": data, "indices": np.array(indices, np.int64)}, **attributes)


@pytest.mark.parametrize(
    ("indices", "axis", "expected"),
    [
        ([1, -1], 0, [[4, 5, 6], [4, 5, 6]]),
        ([[0], [2]], 1, [[[1], [3]], [[4], [6]]]),
        (1, -1, [2, 5]),
    ],
)
def test_by_hand(indices, axis, expected):
    everywhere(gather(tensor("int8", DATA), indices, axis=axis), expected, "int8")
    everywhere(gather(f32(DATA), indices, axis=axis), expected, "float32")


def test_what_does_not_fit():
    with pytest.raises(TraceError, match="the index 3 is outside axis 1 of data, which has 3"):
        result(gather(f32(DATA), [3], axis=1))
    with pytest.raises(TraceError, match="axis 2 is outside a tensor of rank 2"):
        result(gather(f32(DATA), [0], axis=2))
