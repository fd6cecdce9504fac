"""The batteries of pools can fail: each deliberately wrong variant of ort_cpu is rejected. And the groups are fused."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.batteries.pools import (
    average_cases,
    global_average_cases,
    max_cases,
    quantized_cases,
    quantized_global_cases,
)
from qlab.case import Case
from qlab.compare import differing
from qlab.engines.ort import emulated_cpus, run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.fidelity import measure
from qlab.kernels import pooling
from qlab.kernels.numbers import f32
from qlab.qtypes import saturate
from qlab.schemes.ort_cpu import OrtCpu
from qlab.schemes.specification import Specification
from qlab.trace import Step, trace

LIMIT = 250  # cases


class SchemasFormula(OrtCpu):
    """Rounded, then the zero point added, in float64."""

    def quantized_average_pool(self, x, pool, target):
        total = pool.arrange(pool.windows(x.codes - x.zero_point, np.zeros((), np.int64)).sum(-1))
        mean = total * np.float64(x.scale) / pool.arrange(pool.count)
        return (yield from self.to_codes(mean / np.float64(target.scale), target))


class ZeroPointAfterRounding(OrtCpu):
    """In windows as in the global pool."""

    def sum_to_codes(self, total, target):
        return (yield from self.to_codes(f32(total - f32(target.zero_point)), target))


class ZeroPointBeforeRounding(OrtCpu):
    """In the global pool as in windows."""

    def to_codes(self, scaled, target):
        return (yield from self.sum_to_codes(f32(scaled + f32(target.zero_point)), target))


class NeverGlobal(OrtCpu):
    """The whole image by the formula of a window."""

    def quantized_average_pool(self, x, pool, target):
        padded = dataclasses.replace(pool.geometry, ends=(1,) * len(pool.geometry.ends))
        pool = dataclasses.replace(pool, geometry=padded)
        return (yield from super().quantized_average_pool(x, pool, target))


class ExactSum(OrtCpu):
    """The sum of integers, scaled once, in windows too."""

    def quantized_average_pool(self, x, pool, target):
        total = pool.arrange(pool.windows(x.codes - x.zero_point, np.zeros((), np.int64)).sum(-1))
        mean = f32(f32(f32(total) * x.scale) / f32(pool.arrange(pool.count)))
        biased = f32(f32(mean / target.scale) + f32(target.zero_point))
        return (yield from self.sum_to_codes(biased, target))


class FixedPoint(OrtCpu):
    """The global pool as sources for ARM64 have it: 24 bits of the multiplier, half away from zero."""

    def quantized_average_pool(self, x, pool, target):
        total = pool.arrange(pool.windows(x.codes - x.zero_point, np.zeros((), np.int64)).sum(-1))
        area = f32(target.scale * f32(pool.geometry.taps))
        fraction, exponent = np.frexp(f32(x.scale / area))
        product = total * int(fraction * 2.0**24)
        shift = 24 - int(exponent)
        rounded = (product - (product < 0) + (1 << (shift - 1))) >> shift
        codes = saturate(rounded + target.zero_point, target.dtype)
        yield Step("output", "", codes, tensor=target.tensor)
        return codes


class Arm64(OrtCpu):
    """Overflow, lanes and NaN as there."""

    def __init__(self, cpu):
        super().__init__("arm64")


class PlainLoop(OrtCpu):
    """Every sum and maximum row by row."""

    def average_pool(self, x, pool, tensor, dtype):
        pool = dataclasses.replace(pool, mlas=False)
        return (yield from super().average_pool(x, pool, tensor, dtype))

    def max_pool(self, x, pool, tensor, dtype):
        pool = dataclasses.replace(pool, mlas=False)
        return (yield from super().max_pool(x, pool, tensor, dtype))


class AlwaysMlas(OrtCpu):
    """From opset 19 on too."""

    def average_pool(self, x, pool, tensor, dtype):
        pool = dataclasses.replace(pool, mlas=True)
        return (yield from super().average_pool(x, pool, tensor, dtype))


class Reciprocal(OrtCpu):
    """The sum times 1 / count."""

    def average_pool(self, x, pool, tensor, dtype):
        steps = {s.name: s for s in super().average_pool(x, pool, tensor, dtype)}
        inverse = f32(np.float32(1) / f32(np.maximum(steps["count"].value, 1)))
        yield Step("output", "", f32(steps["sum"].value * inverse), tensor=tensor, dtype=dtype)


class NaNStays(OrtCpu):
    """As a specification would have it."""

    def max_pool(self, x, pool, tensor, dtype):
        return (yield from Specification.max_pool(self, x, pool, tensor, dtype))


def wrong(variant: Callable[[str], OrtCpu], cases: Iterator[Case]) -> int:
    """Outputs that a variant mispredicts, up to the first case with any."""
    for number, case in enumerate(cases):
        run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"))
        assert run.status is RunStatus.OK, run.message
        predicted = trace(case.graph, case.inputs, variant(run.cpu)).outputs
        count = sum(int(differing(predicted[n], v).sum()) for n, v in run.outputs.items())
        if count or number == LIMIT:
            return count
    return 0


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    "variant", [SchemasFormula, ZeroPointAfterRounding, NeverGlobal, ExactSum, Arm64]
)
def test_windows_of_codes(variant, dtype):
    assert wrong(variant, quantized_cases(dtype, 0))
    assert not wrong(OrtCpu, quantized_cases(dtype, 0))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("variant", [SchemasFormula, ZeroPointBeforeRounding, NeverGlobal, FixedPoint])  # fmt: skip
def test_images_of_codes(variant, dtype):
    assert wrong(variant, quantized_global_cases(dtype, 0))


@pytest.mark.parametrize("variant", [PlainLoop, AlwaysMlas, Reciprocal])
def test_means_of_reals(variant):
    assert wrong(variant, average_cases(0))


@pytest.mark.parametrize("variant", [PlainLoop, Reciprocal, Arm64])
def test_means_of_images(variant):
    assert wrong(variant, global_average_cases(0))


@pytest.mark.parametrize("variant", [PlainLoop, NaNStays, Arm64])
def test_maxima_of_reals(variant):
    assert wrong(variant, max_cases("float32", 0))


@pytest.mark.parametrize("changed", [("BUFFER", 2046), ("BUFFER", 2044), ("LARGEST_KERNEL", 33), ("LARGEST_KERNEL", 31)])  # fmt: skip
def test_the_limits_of_the_kernel_that_adds_columns(changed, monkeypatch):
    """A row of 2045 with its padding, a kernel of 32."""
    monkeypatch.setattr(pooling, *changed)
    assert wrong(OrtCpu, average_cases(0))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    ("operator", "fused", "left"),
    [
        ("AveragePool", "com.microsoft.QLinearAveragePool", "AveragePool"),
        ("GlobalAveragePool", "com.microsoft.QLinearGlobalAveragePool", "GlobalAveragePool"),
        ("MaxPool", "com.microsoft.NhwcMaxPool", "MaxPool"),
    ],
)
def test_the_groups_are_fused(operator, fused, left, dtype):
    """At ORT_ENABLE_ALL; at ORT_DISABLE_ALL the float operator runs."""
    row = measure(batteries()[f"QDQ {operator} {dtype}"])
    assert row.perfect, row.first
    assert {fused, left} <= set(row.operators)


@pytest.mark.parametrize("name", [n for n in batteries() if "Pool" in n])
def test_predicts_arm64(name):
    """Other lanes, NaN and overflow than on x86-64; the same requantization."""
    if "arm64" not in emulated_cpus():
        pytest.skip("needs an emulated ARM64 system (qlab runtimes)")
    row = measure(batteries()[name], every=5, cpu="arm64")
    assert row.cpu == "arm64"
    assert row.perfect, row.first
