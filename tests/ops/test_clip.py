"""Clip: limits as inputs or attributes; the upper wins over the lower, NaN stays."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, tensor

X = f32([-np.inf, -1, 0.5, 2, np.inf, np.nan])
LARGEST = np.finfo(np.float32).max


def clip(x=X, low=None, high=None, opset=21, **attributes):
    limits = {"min": low, "max": high}
    tensors = {"input": x} | {k: v for k, v in limits.items() if v is not None}
    return call("Clip", tensors, opset=opset, **attributes)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (clip(), [-LARGEST, -1, 0.5, 2, LARGEST, np.nan]),
        (clip(low=f32(0)), [0, 0, 0.5, 2, LARGEST, np.nan]),
        (clip(high=f32(1)), [-LARGEST, -1, 0.5, 1, 1, np.nan]),
        (clip(low=f32(-np.inf), high=f32(np.inf)), X),
        (clip(low=f32(0), high=f32([1])), [0, 0, 0.5, 1, 1, np.nan]),
        (clip(low=f32(5), high=f32(3)), [3, 3, 3, 3, 3, np.nan]),
        (clip(low=f32(np.nan), high=f32(np.inf)), X),
        (clip(opset=6, min=0.0, max=1.0), [0, 0, 0.5, 1, 1, np.nan]),
    ],
)
def test_reals(case, expected):
    everywhere(case, f32(expected), "float32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int4", "uint8", "int64"])
def test_the_default_limits_of_other_types(dtype):
    x = tensor(dtype, [0, 1, 7])
    for name in SCHEMES:
        equal(result(clip(x), name), [0, 1, 7], dtype)


def test_codes():
    case = clip(tensor("uint8", [0, 5, 255]), tensor("uint8", 3), tensor("uint8", 128))
    everywhere(case, [3, 5, 128], "uint8")


def test_a_limit_is_one_number():
    with pytest.raises(TraceError, match="min has 2 entries; one for the whole tensor"):
        result(clip(low=f32([0, 1])))
