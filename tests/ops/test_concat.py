"""Concat moves codes, floats and fractions alike."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, everywhere, result, tensor


def concat(dtype, *values, axis=0):
    return call("Concat", {f"input{i}": tensor(dtype, v) for i, v in enumerate(values)}, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_along_an_axis(axis):
    a, b = np.arange(6).reshape(2, 3), np.arange(6, 12).reshape(2, 3)
    everywhere(concat("int8", a, b, axis=axis), np.concatenate([a, b], axis), "int8")


def test_of_one_and_of_many():
    everywhere(concat("uint8", [1, 2]), [1, 2], "uint8")
    everywhere(concat("float32", [0.5], [], [2, np.inf]), [0.5, 2, np.inf], "float32")


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    for name in SCHEMES:
        equal(result(concat(dtype, [1, 2], [3]), name), [1, 2, 3], dtype)


def test_what_does_not_fit():
    with pytest.raises(TraceError, match="input0 is int8 and input1 uint8; all must have one type"):
        result(call("Concat", {"input0": tensor("int8", [1]), "input1": tensor("uint8", [1])}, axis=0))  # fmt: skip
    for value, axis in (([[1, 2]], 0), ([1], 1)):
        with pytest.raises(TraceError, match=r"^Concat \(out\): "):
            result(concat("int8", value, [1], axis=axis))
