"""Mul of reals and of integers."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, evaluated, everywhere, f32, result, tensor, traced


def multiply(a, b):
    return call("Mul", {"A": a, "B": b})


@pytest.mark.parametrize(("a", "b"), [((), ()), ((3,), ()), ((2, 1), (3,)), ((0, 2), (1,))])
def test_broadcasts(a, b):
    a, b = np.full(a, 0.5, np.float32), np.full(b, 0.25, np.float32)
    everywhere(multiply(a, b), a * b, "float32")
    equal(evaluated(multiply(a, b)), result(multiply(a, b)))


def test_exact_does_not_round_between_nodes():
    third = np.float32(1 / 3)
    case = multiply(f32(third), f32(third))
    assert traced(case).tensors["out"][()] * 2**50 % 1 == 0
    everywhere(case, np.float32(third * third))


def test_no_overflow_in_between():
    case = multiply(f32([1e38, np.inf, 0]), f32([1e38, 0, -1]))
    assert traced(case).tensors["out"][0] > 2**250
    everywhere(case, f32([np.inf, np.nan, 0]))


def test_integers():
    everywhere(multiply(tensor("int32", [7]), tensor("int32", [-6])), [-42], "int32")


def test_two_types():
    with pytest.raises(TraceError, match="A is float32 and B float16; both must have one type"):
        result(multiply(f32(1), tensor("float16", 1)))
