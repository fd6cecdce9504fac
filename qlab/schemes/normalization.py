"""Softmax as the specification has it, over any number system."""

import math
from fractions import Fraction

import numpy as np

from qlab.arithmetic import Arithmetic, sub
from qlab.functions import Real, apply, exp_or_limit
from qlab.lowering import Rows
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.trace import Step


def softmax_steps(
    arithmetic: Arithmetic, x: Array, rows: Rows, tensor: str = "", dtype: str = ""
) -> Steps:
    """exp(x - maximum) / Σ exp(x - maximum); finishes ``tensor`` where it is not empty.

    Sums of floats are made entry by entry, so they are the same on every CPU.
    """
    if not x.size:
        yield Step("output", "of no entries", x, tensor=tensor, dtype=dtype)
        return x
    split = rows.split(x)
    maximum = _maximum(split)
    yield Step("maximum", "max(x) of the row", rows.join(maximum))
    shifted = sub(split, maximum)
    yield Step("shifted", "x - maximum", rows.join(shifted))
    powers = apply(exp_or_limit, shifted, math.exp)
    yield Step("exponential", "exp(shifted)", rows.join(powers))
    total = powers[:, :1]
    for k in range(1, powers.shape[1]):
        total = np.asarray(total + powers[:, k : k + 1])
    yield Step("total", "Σ exponential over the row", rows.join(total))
    value = rows.join(arithmetic.divide(powers, total))
    name = "output" if tensor else "probability"
    yield Step(name, "exponential / total", value, tensor=tensor, dtype=dtype)
    return value


def _maximum(split: Array) -> Array:
    """(rows, 1); NaN where a row has one."""
    if split.dtype != object:
        return np.asarray(split.max(axis=1, keepdims=True))
    result = np.empty((len(split), 1), object)
    for row, values in enumerate(split):
        result[row, 0] = _largest(list(values))
    return result


def _largest(values: list[Real]) -> Real:
    rationals = [v for v in values if isinstance(v, Fraction)]
    others = [v for v in values if not isinstance(v, Fraction)]
    if any(v != v for v in others):
        return math.nan
    return math.inf if math.inf in others else max(rationals, default=-math.inf)
