"""Expand repeats along axes of one entry."""

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
            result(call("Expand", {"input": x, "shape": np.array([2, 1, 1])}), name),
            np.stack([X, X]),
            dtype,
        )


@pytest.mark.parametrize("shape", [[3], [4, 1], [2, 3, 3], [1]])
def test_shapes(shape):
    case = call("Expand", {"input": tensor("int8", X[:1]), "shape": np.array(shape)})
    everywhere(case, np.broadcast_to(X[:1], np.broadcast_shapes((1, 3), shape)), "int8")


def test_bad_calls():
    with pytest.raises(TraceError, match=r"^Expand \(out\): "):
        result(call("Expand", {"input": X, "shape": np.array([4, 3])}))
    with pytest.raises(TraceError, match="at most 20,000,000 are traced"):
        result(call("Expand", {"input": X, "shape": np.array([10**8, 1, 1])}))
