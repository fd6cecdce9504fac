"""Reshape: 0 keeps a dimension, -1 is what remains."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, everywhere, result, tensor


def reshape(x, shape, **attributes):
    return call("Reshape", {"data": x, "shape": np.array(shape, np.int64)}, **attributes)


@pytest.mark.parametrize(
    ("shape", "becomes"),
    [([6], (6,)), ([3, 2], (3, 2)), ([-1], (6,)), ([0, 3, 1], (2, 3, 1)), ([3, -1], (3, 2)), ([0, -1], (2, 3))],
)  # fmt: skip
def test_shapes(shape, becomes):
    x = np.arange(6).reshape(2, 3)
    everywhere(reshape(tensor("uint8", x), shape), x.reshape(becomes), "uint8")


def test_allowzero():
    everywhere(reshape(np.zeros((0, 3), np.float32), [3, 0], allowzero=1), np.zeros((3, 0)))


def test_to_no_axes():
    everywhere(reshape(np.ones((1, 1), np.float32), []), np.ones(()))


@pytest.mark.parametrize("shape", [[4], [-2, 3], [-1, -1], [0, 0, 0], [-1, 4]])
def test_what_does_not_fit(shape):
    with pytest.raises(TraceError, match=r"^Reshape \(out\): "):
        result(reshape(np.ones((2, 3), np.float32), shape))
