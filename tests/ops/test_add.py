"""Add of reals and of integers."""

from fractions import Fraction

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, evaluated, everywhere, f32, result, tensor, traced


def add(a, b):
    return call("Add", {"A": a, "B": b})


@pytest.mark.parametrize(("a", "b"), [((), ()), ((3,), ()), ((2, 1), (3,)), ((0, 2), (1,))])
def test_broadcasts(a, b):
    a, b = np.full(a, 0.5, np.float32), np.full(b, 0.25, np.float32)
    everywhere(add(a, b), a + b, "float32")
    equal(evaluated(add(a, b)), result(add(a, b)))


def test_exact_does_not_round_between_nodes():
    case = add(f32(2**24), f32(0.5))
    assert traced(case).tensors["out"][()] == Fraction(2**25 + 1, 2)
    everywhere(case, f32(2**24))


def test_integers_wrap():
    everywhere(add(tensor("int8", [100]), tensor("int8", [100])), [-56], "int8")
    everywhere(add(tensor("int64", [2**40]), tensor("int64", [1])), [2**40 + 1], "int64")


def test_two_types():
    with pytest.raises(TraceError, match="A is float32 and B int8; both must have one type"):
        result(add(f32(1), tensor("int8", 1)))
    with pytest.raises(TraceError, match="A is bool; only float16, bfloat16, float32, float64"):
        result(add(tensor("bool", 1), tensor("bool", 1)))
