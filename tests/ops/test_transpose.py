"""Transpose moves values, codes and fractions alike."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, everywhere, result, tensor

X = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("perm", [None, (0, 1, 2), (2, 0, 1), (0, 2, 1)])
def test_permutes(perm):
    case = call("Transpose", {"data": tensor("int8", X)}, **({"perm": perm} if perm else {}))
    everywhere(case, np.transpose(X, perm), "int8")


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    x = tensor(dtype, X[0] % 7)
    for name in SCHEMES:
        equal(result(call("Transpose", {"data": x}), name), x.T, dtype)


@pytest.mark.parametrize("perm", [(0, 0, 1), (0, 1), (0, 1, 3)])
def test_what_is_no_permutation(perm):
    with pytest.raises(TraceError, match=r"^Transpose \(out\): "):
        result(call("Transpose", {"data": X}, perm=perm))
