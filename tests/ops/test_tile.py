"""Tile repeats along each axis."""

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
            result(call("Tile", {"input": x, "repeats": np.array([1, 2])}), name),
            np.tile(X, (1, 2)),
            dtype,
        )


def tile(repeats):
    return call("Tile", {"input": tensor("int8", X), "repeats": np.array(repeats)})


@pytest.mark.parametrize("repeats", [[1, 1], [2, 1], [2, 3], [0, 1]])
def test_repeats(repeats):
    everywhere(tile(repeats), np.tile(X, repeats), "int8")


@pytest.mark.parametrize("repeats", [[2], [1, 1, 1], [1, -1]])
def test_bad_calls(repeats):
    with pytest.raises(TraceError, match="2 entries of at least 0 are needed, one for each axis"):
        result(tile(repeats))
