"""Gather takes entries by their index."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, everywhere, result, tensor

X = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    x = tensor(dtype, X)
    for name in SCHEMES:
        equal(
            result(call("Gather", {"data": x, "indices": np.array([1, 0])}), name), X[[1, 0]], dtype
        )


def gather(indices, **attributes):
    return call("Gather", {"data": tensor("int8", X), "indices": np.array(indices)}, **attributes)


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("indices", [1, [2, 0], [[-1, 0], [1, -3]]])
def test_indices(axis, indices):
    everywhere(gather(indices, axis=axis), np.take(X, indices, axis=1), "int8")


def test_bad_calls():
    with pytest.raises(TraceError, match="indices go from -3 to 0; axis 0 has 2 entries"):
        result(gather([-3, 0]))
    with pytest.raises(TraceError, match="axis 2 is outside a tensor of rank 2"):
        result(gather([0], axis=2))
    with pytest.raises(TraceError, match="indices is float64; int32 or int64 is needed"):
        result(gather([0.5]))
