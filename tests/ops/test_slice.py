"""Slice counts negative positions from the end and stops where the axis does."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import MOVED_TYPES, SCHEMES, call, equal, everywhere, result, returned, tensor

X = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize("dtype", MOVED_TYPES)
def test_of_every_type(dtype):
    x = tensor(dtype, X)
    for name in SCHEMES:
        equal(
            result(
                call(
                    "Slice",
                    {
                        "data": x,
                        "starts": np.array([1]),
                        "ends": np.array([3]),
                        "axes": np.array([1]),
                    },
                ),
                name,
            ),
            X[:, 1:3],
            dtype,
        )


def cut(size, start, end, step):
    vectors = {"starts": start, "ends": end, "axes": 0, "steps": step}
    tensors = {name: np.array([value]) for name, value in vectors.items()}
    return call("Slice", {"data": tensor("int8", np.arange(size)), **tensors})


@pytest.mark.parametrize("step", [-3, -1, 1, 2])
def test_starts_and_ends(step):
    """As Python has them, but that a start before the first entry is the first, also where steps go back."""
    for start in (-9, -5, -2, 0, 1, 4, 5, 9, 2**62):
        for end in (-(2**62), -9, -5, -1, 0, 3, 5, 9):
            for name in SCHEMES:
                expected = np.arange(5)[slice(max(start, -5), end, step)]
                equal(result(cut(5, start, end, step), name), expected, "int8")


@pytest.mark.parametrize(
    "case",
    [cut(5, 4, -9, -2), cut(5, -9, 9, 3), cut(5, 9, 0, -1), cut(5, -9, -9, -1), cut(5, 3, 3, 1)],
)
def test_in_onnx_runtime(case):
    equal(returned(case), result(case, "ort_cpu"))


def test_attributes_before_opset_10():
    case = call("Slice", {"data": tensor("int8", X)}, opset=9, starts=(0, 1), ends=(1, 9))
    everywhere(case, X[:1, 1:], "int8")


def test_bad_calls():
    with pytest.raises(TraceError, match="steps has a 0"):
        result(cut(5, 0, 1, 0))
    with pytest.raises(TraceError, match="starts and ends are needed"):
        result(call("Slice", {"data": X}))
    vectors = {"starts": np.array([0, 0]), "ends": np.array([1])}
    with pytest.raises(TraceError, match="have 2, 1, 2 and 2 entries; all must have as many"):
        result(call("Slice", {"data": X, **vectors}))
