"""Identity: every type and value, bit for bit."""

import numpy as np
import pytest

from qlab.qtypes import DTYPES
from tests.ops.calls import SCHEMES, call, result, tensor


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    x = tensor(dtype, [[0, 1], [1, 0]])
    for name in SCHEMES:
        out = result(call("Identity", {"input": x}), name)
        assert (out.dtype, out.shape, out.tobytes()) == (x.dtype, x.shape, x.tobytes())


def test_every_bit():
    x = np.uint32([0x80000000, 1, 0x7F800000, 0x7FC00001, 0xFFC12345]).view(np.float32)
    for name in SCHEMES:
        out = result(call("Identity", {"input": x}), name)
        np.testing.assert_array_equal(out.view(np.uint32), x.view(np.uint32))
