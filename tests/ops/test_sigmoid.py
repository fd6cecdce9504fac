"""Sigmoid over reals: rational at 0, the ends, NaN, enormous values."""

import numpy as np
import pytest

from qlab.engines.ort import emulated_cpus, run_ort
from qlab.errors import TraceError
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, tensor


def sigmoid(x, dtype="float32"):
    return call("Sigmoid", {"X": tensor(dtype, x)})


def test_the_ends():
    everywhere(sigmoid([0, -0.0, np.inf, 1e30, np.nan]), f32([0.5, 0.5, 1, 1, np.nan]), "float32")
    for name in ("exact", "float64", "float32"):
        equal(result(sigmoid([-np.inf, -1e30, -1e38]), name), f32([0, 0, 0]), "float32")


def test_exact_is_correctly_rounded():
    # 1 / (1 + e), by hand to 12 digits: 0.268941421370, and its complement.
    equal(result(sigmoid([-1.0, 1.0])), f32([0.268941421369995, 0.731058578630005]), "float32")
    assert result(sigmoid([-100.0], "float64"))[0] == 3.720075976020836e-44
    assert result(sigmoid([-2000.0], "float64"))[0] == 0


def test_the_kernel_does_not_reach_zero_where_it_should():
    """It clamps x to ±18 and adds 0.5, so small results have few bits."""
    case = sigmoid([-12.0, -17.0, -18, -50.0])
    run = run_ort(case)
    predicted = result(case, "ort_cpu", run.cpu)
    assert (predicted != result(case)).any()
    equal(run.outputs["out"], predicted, "float32")


@pytest.mark.parametrize("cpu", ["this", "avx2", "sse"])
def test_where_the_kernels_pass_one(cpu):
    """The kernels for AVX2 and AVX-512 do not clamp to 1."""
    if cpu not in ("this", *emulated_cpus()):
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    case = sigmoid(np.append(np.arange(17, 18.001, 0.001), float.fromhex("0x1.17b68ap+4")))
    run = run_ort(case, cpu=cpu, timeout=60)
    predicted = result(case, "ort_cpu", run.cpu)
    equal(run.outputs["out"], predicted, "float32")
    assert bool((predicted > 1).any()) == (run.cpu in ("avx2", "vnni"))


def test_the_kernels_of_the_cpus_round_otherwise():
    x = np.linspace(-9, 9, 2001)
    fused, unfused = (result(sigmoid(x), "ort_cpu", cpu) for cpu in ("avx2", "sse"))
    assert (fused != unfused).any()
    np.testing.assert_allclose(fused, unfused, atol=2e-7)
    assert (result(sigmoid(x), "ort_cpu", "arm64") == fused).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_types(dtype):
    for name in ("exact", "float64", "float32"):
        equal(result(sigmoid([0.0], dtype), name), [0.5], dtype)
    with pytest.raises(TraceError, match="no proven arithmetic in ort_cpu"):
        result(sigmoid([0.0], dtype), "ort_cpu")


def test_integers():
    for name in SCHEMES:
        with pytest.raises(TraceError, match=r"^Sigmoid \(out\): X is int8; only float16"):
            result(sigmoid([0], "int8"), name)
