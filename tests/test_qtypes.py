"""Data types by name: the ranges, and saturation at both ends."""

import ml_dtypes
import numpy as np
import pytest

from qlab.qtypes import DTYPES, bounds, dtype_name, is_float, is_integer, saturate

RANGES = {
    "int2": (-2, 1),
    "uint2": (0, 3),
    "int4": (-8, 7),
    "uint4": (0, 15),
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
FLOATS = [name for name in DTYPES if "float" in name]


@pytest.mark.parametrize("name", DTYPES)
def test_names_round_trip(name):
    assert dtype_name(DTYPES[name]) == name
    assert np.dtype(DTYPES[name]) == DTYPES[name]


@pytest.mark.parametrize("name", RANGES)
def test_bounds(name):
    assert bounds(DTYPES[name]) == bounds(name) == RANGES[name]


@pytest.mark.parametrize("name", DTYPES)
def test_each_type_is_of_one_kind(name):
    assert is_integer(DTYPES[name]) == (name in RANGES)
    assert is_float(DTYPES[name]) == (name in FLOATS)
    assert (name in RANGES) + (name in FLOATS) + (name == "bool") == 1


@pytest.mark.parametrize("name", [n for n in RANGES if "64" not in n])
def test_saturates_at_both_ends(name):
    low, high = RANGES[name]
    values = np.array([low - 1, low, low + 1, high - 1, high, high + 1, -(2**62), 2**62])
    result = saturate(values, name)
    assert result.dtype == DTYPES[name]
    assert [int(v) for v in result] == [low, low, low + 1, high - 1, high, high, low, high]


def test_saturates_python_integers_and_one_number():
    assert saturate(np.array([2**100, -(2**100)], object), np.int8).tolist() == [127, -128]
    one = saturate(np.asarray(300), ml_dtypes.int4)
    assert (type(one), one.shape) == (np.ndarray, ())
