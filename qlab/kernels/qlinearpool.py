"""QLinearAveragePool and QLinearGlobalAveragePool: the mean of codes, requantized.

Where the window is the whole image, without padding, both take the sum of integers of the global pool, which rounds
before it adds the zero point; else reals are added in float32, and the zero point before rounding. The global pool is
the same on ARM64: the wheels do not compute in the fixed point that older sources have there (eleven releases from
1.15.0 to 1.32.0, run emulated on directed ties, give this formula and not that one).
Source: onnxruntime 1.32.0, contrib_ops/cpu/quantization/{qlinear_pool,qlinear_global_average_pool}.cc,
core/mlas/lib/qlgavgpool.cpp.
"""

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.kernels.numbers import f32, wrap32
from qlab.kernels.pooling import ZERO
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Pool, Quantized, Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

LARGEST_IMAGE = 2**24  # elements, from here on the kernel refuses


def average_pool(scheme: "OrtCpu", x: Quantized, pool: Pool, target: Target) -> Steps:
    """By the global pool's formula where the window is the whole image, else by the sum of reals."""
    if pool.whole:
        return (yield from _global(scheme, x, pool, target))
    table = f32(f32(x.codes - x.zero_point) * scheme.real(x.scale))
    windows = pool.windows(table, ZERO)
    total = np.broadcast_to(ZERO, windows.shape[:-1])
    for k in range(windows.shape[-1]):
        total = np.where(pool.inside[:, k], total + windows[..., k], total)
    total = pool.arrange(total)
    real = f"f32({x.scale_name} · ({x.name} - {x.zero_point_name}))"
    yield Step("real_sum", f"Σ {real}, row by row in float32", total)
    count = pool.count
    if pool.include_pad:
        count = np.full_like(count, math.prod(pool.geometry.kernel))
    count = pool.arrange(count)
    words = "with" if pool.include_pad else "without"
    yield Step("count", f"elements of the window, {words} padding", count)
    mean = f32(total / f32(count))
    yield Step("mean", "f32(real_sum / count)", mean)
    scaled = f32(mean / scheme.real(target.scale))
    yield Step("scaled", f"f32(mean / {target.scale_name})", scaled)
    biased = f32(scaled + f32(target.zero_point))
    note = "the zero point is inside the rounded value"
    yield Step("sum", f"f32(scaled + {target.zero_point_name})", biased, decides=True, note=note)
    return (yield from _biased(scheme.sum_to_codes(biased, target)))


def _biased(steps: Steps) -> Steps:
    """The rounded sum under the name that it has elsewhere: it contains the zero point."""
    value: Array = np.zeros(())
    for step in steps:
        named = dataclasses.replace(step, name="biased") if step.name == "rounded" else step
        yield named
        value = step.value
    return value


def _global(scheme: "OrtCpu", x: Quantized, pool: Pool, target: Target) -> Steps:
    """The sum of integers, times x_scale / (y_scale · count)."""
    centered = pool.windows(x.codes, np.zeros((), np.int64)).sum(-1)
    size = math.prod(pool.shape[2:])
    total = pool.arrange(wrap32(centered - size * x.zero_point))
    yield Step("accumulator", f"Σ ({x.name} - {x.zero_point_name})", total)
    count = np.asarray(size)
    yield Step("count", "elements of the image", count)
    area = f32(scheme.real(target.scale) * f32(count))
    multiplier = f32(scheme.real(x.scale) / area)
    formula = f"f32({x.scale_name} / f32({target.scale_name} · count))"
    yield Step("multiplier", formula, multiplier)
    if size >= LARGEST_IMAGE or not 2.0**-32 <= multiplier < 2.0**8:
        raise TraceError(
            f"the multiplier {x.scale_name} / ({target.scale_name} · {size}) is {multiplier}; ONNX Runtime's global "
            "average pool computes with 2^-32 to 2^8, and images below 2^24 elements"
        )
    scaled = f32(f32(total) * multiplier)
    yield Step("scaled", "f32(f32(accumulator) · multiplier)", scaled, decides=True)
    return (yield from scheme.to_codes(scaled, target))
