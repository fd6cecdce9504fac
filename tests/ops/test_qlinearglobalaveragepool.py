"""QLinearGlobalAveragePool."""

import numpy as np
import pytest

from qlab.engines.ort import emulated_cpus, run_ort
from qlab.engines.results import SessionConfig
from qlab.errors import TraceError
from tests.ops.calls import call, equal, everywhere, f32, result, returned, step, tensor


def pool(x, x_scale, x_zero, y_scale, y_zero, dtype="uint8", **attributes):
    tensors = {
        "X": tensor(dtype, x),
        "x_scale": f32(x_scale), "x_zero_point": tensor(dtype, x_zero),
        "y_scale": f32(y_scale), "y_zero_point": tensor(dtype, y_zero),
    }  # fmt: skip
    return call("QLinearGlobalAveragePool", tensors, domain="com.microsoft", **attributes)


def test_by_hand():
    everywhere(pool([[[10, 20], [30, 60]]], 0.5, 10, 0.25, 3), [[[13], [73]]], "uint8")
    everywhere(pool([[[[10], [20]], [[30], [60]]]], 0.5, 10, 0.25, 3), [[[[13]], [[73]]]], "uint8")
    everywhere(pool([[[-10, -20], [30, 60]]], 0.5, -10, 0.25, -3, "int8"), [[[-13], [107]]], "int8")
    x = np.arange(8).reshape(1, 1, 2, 2, 2)
    everywhere(pool(x, 1, 0, 0.5, 0), [[[[[7]]]]], "uint8")


def test_ties_with_an_odd_zero_point_and_both_ends():
    """The zero point is added after rounding."""
    ties = [[[0, 1], [1, 2], [2, 3]]]
    everywhere(pool(ties, 1, 0, 1, 3), [[[3], [5], [5]]], "uint8")
    everywhere(pool([[[0, 0], [255, 255]]], 1, 128, 0.5, 128), [[[0], [255]]], "uint8")
    everywhere(pool([[[-128, -128], [127, 127]]], 1, 0, 0.5, 5, "int8"), [[[-128], [127]]], "int8")


def test_arm64_rounds_a_tie_to_even_too():
    """No fixed point there, unlike QLinearAdd."""
    case = pool([[[0, 1], [1, 2], [2, 3]]], 1, 3, 1, 3)
    everywhere(case, [[[1], [1], [3]]], "uint8")
    equal(result(case, "ort_cpu", "arm64"), [[[1], [1], [3]]], "uint8")
    if "arm64" in emulated_cpus():
        run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"), cpu="arm64", timeout=60)
        equal(run.outputs["out"], [[[1], [1], [3]]], "uint8")


@pytest.mark.parametrize("channels", [1, 5])
def test_channels_last(channels):
    x = np.arange(12 * channels).reshape(1, 3, 4, channels)
    first = pool(np.moveaxis(x, -1, 1), 0.5, 3, 0.25, 1)
    last = pool(x, 0.5, 3, 0.25, 1, channels_last=1)
    equal(result(last, "ort_cpu"), np.moveaxis(result(first, "ort_cpu"), 1, -1))
    equal(returned(last), result(last, "ort_cpu"))
    assert result(last).shape == (1, 1, 1, channels)


@pytest.mark.parametrize(("x_scale", "y_scale"), [(1024, 1), (2.0**-34, 1), (0, 1), (np.nan, 1)])
def test_a_multiplier_out_of_range(x_scale, y_scale):
    with pytest.raises(TraceError, match="the multiplier x_scale / .* computes with 2\\^-32 to"):
        result(pool([[[1, 2]]], x_scale, 0, y_scale, 0), "ort_cpu")


def test_a_trace_shows_sum_and_count():
    case = pool([[[10, 20], [30, 60]]], 0.5, 10, 0.25, 3)
    for name in ("exact", "ort_cpu"):
        assert step(case, "accumulator", name).tolist() == [[[10], [70]]]
        assert np.unique(step(case, "count", name)) == 2
