"""Cast: one rounding to a float type, towards zero to codes, codes that wrap."""

import numpy as np
import onnx
import pytest

from qlab.errors import TraceError
from qlab.qtypes import DTYPES
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, returned, tensor


def cast(x, to):
    return call("Cast", {"input": x}, to=onnx.helper.np_dtype_to_tensor_dtype(DTYPES[to]))


def test_reals_to_codes():
    case = cast(f32([1.9, -1.9, 0.5, -0.5, 126.99, -128.99]), "int8")
    everywhere(case, [1, -1, 0, 0, 126, -128], "int8")


@pytest.mark.parametrize("value", [128, -129, np.nan, np.inf])
def test_reals_outside_the_codes(value):
    for name in SCHEMES:
        with pytest.raises(TraceError, match="no code in int8: what it becomes is not modelled"):
            result(cast(f32([value]), "int8"), name)


def test_codes_to_codes():
    everywhere(cast(np.array([300, -1, 5]), "uint8"), [44, 255, 5], "uint8")
    everywhere(cast(tensor("uint8", [200, 1]), "int8"), [-56, 1], "int8")


def test_bool():
    everywhere(cast(f32([0, -0.0, 0.5, np.nan]), "bool"), [False, False, True, True], "bool")
    everywhere(cast(np.array([True, False]), "float32"), [1, 0], "float32")


def test_codes_to_reals():
    x = np.array([2**24 + 1, -3])
    everywhere(cast(x, "float32"), [2**24, -3], "float32")


def test_to_float16():
    x = f32([2049, 2051, 65519, 65520, 2**-25])  # ties, the largest, beyond it, half the smallest
    everywhere(cast(x, "float16"), [2048, 2052, 65504, np.inf, 0], "float16")


def test_exact_keeps_the_number():
    """What is rounded to the type is the output only."""
    case = cast(f32([0.1]), "float16")
    equal(result(case), result(case, "ort_cpu"), "float16")
    equal(returned(case), result(case), "float16")


def test_what_is_not_modelled():
    with pytest.raises(TraceError, match="casting from float32 to bfloat16 is not modelled"):
        result(cast(f32([1]), "bfloat16"), "ort_cpu")
    with pytest.raises(TraceError, match="casting from int8 to nothing is not modelled"):
        result(call("Cast", {"input": tensor("int8", [1])}))
    with pytest.raises(TraceError, match="float8_e5m2 is not modelled"):
        result(cast(f32([1]), "float8_e5m2"))
