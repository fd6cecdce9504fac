"""Means of windows by the specification's formulas, in any number system."""

from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import add, contract_exact, mul
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Pool, Quantized, Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.specification import Specification


def average_pool(scheme: "Specification", x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
    """Σ X over the window / how many they are."""
    windows = pool.windows(x, scheme.real(np.zeros((), np.int64)))
    total = pool.arrange(_sum(scheme, windows))
    yield Step("sum", "Σ X", total)
    count = pool.arrange(pool.count)
    yield Step("count", _count_formula(pool), count)
    value = scheme.arithmetic.divide(total, scheme.real(count))
    yield Step("output", "sum / count", value, tensor=tensor, dtype=dtype)
    return value


def quantized_average_pool(
    scheme: "Specification", x: Quantized, pool: Pool, target: Target
) -> Steps:
    """Saturate(round(x_scale · Σ (x - x_zero_point) / count / y_scale) + y_zero_point)."""
    windows = pool.windows(x.codes - x.zero_point, np.zeros((), np.int64))
    total = pool.arrange(windows.sum(-1))
    yield Step("accumulator", f"Σ ({x.name} - {x.zero_point_name})", total)
    count = pool.arrange(pool.count)
    yield Step("count", _count_formula(pool), count)
    real = mul(scheme.real(total), scheme.real(x.scale))
    mean = scheme.arithmetic.divide(real, scheme.real(count))
    yield Step("mean", f"accumulator · {x.scale_name} / count", mean)
    scaled, formula = scheme.over_scale(mean, "mean", target)
    return (yield from scheme.to_codes(scaled, formula, target, "after"))


def _sum(scheme: "Specification", windows: Array) -> Array:
    """Along the last axis, one after the other."""
    if windows.dtype == object:
        ones = scheme.real(np.ones((windows.shape[-1], 1), np.int64))
        return contract_exact(windows, ones)[..., 0]
    total = windows[..., 0]
    for k in range(1, windows.shape[-1]):
        total = add(total, windows[..., k])
    return total


def _count_formula(pool: Pool) -> str:
    return f"elements of the window, {'with' if pool.include_pad else 'without'} padding"
