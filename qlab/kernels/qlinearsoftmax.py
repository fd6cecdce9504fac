"""QLinearSoftmax: a table of exponentials, summed in float32, times floor(1 / y_scale), over the sum.

Source: onnxruntime 1.32.0, contrib_ops/cpu/quantization/qlinear_softmax.cc. What changed, each release named here run:

    1.15.0 – 1.15.1   the table's shift by a logarithm in double
    1.16.0 – 1.28.0   the logarithm in float; an int8 code of 128 to 255 wraps, above 255 it is -1
    1.29.0 – 1.31.1   int8 saturates
    1.32.0            the product and the quotient in double, so neither overflows for short rows
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.kernels.numbers import f32, wrap32
from qlab.lowering import Rows
from qlab.ops import Steps
from qlab.qtypes import DTYPES, Array, bounds, saturate
from qlab.schemes import Quantized, Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

LARGEST = np.finfo(np.float32).max
# The C library's logf equals the float64 logarithm rounded to float32 for all rows up to this long but one.
LONGEST_ROW, ODD_ROW = 65_536, 60_594


def softmax(scheme: "OrtCpu", q: Quantized, rows: Rows, target: Target) -> Steps:
    """Table, sum, quotient. The zero point of x is not read: it cancels.

    Raises TraceError for what the kernel does not guard against: scales that are not positive, or too small.
    """
    x_scale, y_scale = (float(scheme.real(s)) for s in (q.scale, target.scale))
    factor = f32(np.floor(f32(np.float32(1) / scheme.real(target.scale))))
    for name, scale in ((q.scale_name, x_scale), (target.scale_name, y_scale)):
        if not 0 < scale < math.inf or not np.isfinite(factor):
            raise TraceError(f"{name} is {scale}; the kernel of {scale} is not modelled")
    if rows.length > LONGEST_ROW or rows.length == ODD_ROW:
        raise TraceError(f"rows of {rows.length:,} entries are not modelled: logf is not proven")
    if not q.codes.size:
        codes = np.zeros(rows.shape, DTYPES[target.dtype])
        yield Step("output", "of no entries", codes, tensor=target.tensor)
        return codes
    split = rows.split(q.codes)
    below = split - split.max(axis=1, keepdims=True)
    yield Step("below", f"{q.name} - max({q.name}) of the row", rows.join(below))
    table = exponentials(x_scale, rows.length, in_double=scheme.before((1, 16)))
    powers = table[below + 255]
    note = "read from a table; scaled up, so that its sum fills the range of float32"
    yield Step("exponential", f"exp(below · {q.scale_name} + shift)", rows.join(powers), note=note)
    total = _summed(powers)
    yield Step("total", "Σ exponential over the row, added one by one", rows.join(total))
    whole = f32(np.float32(1) / scheme.real(target.scale))
    note = "" if factor == whole else f"1 / {target.scale_name} is {whole}; its fraction is cut off"
    yield Step("factor", f"floor(f32(1 / {target.scale_name}))", factor, note=note)
    if not scheme.before((1, 32)):
        scaled = powers.astype(np.float64) * factor.astype(np.float64) / total.astype(np.float64)
        scaled = rows.join(scaled)
        yield Step("scaled", "exponential · factor / total", scaled, decides=True)
        rounded = np.rint(scaled)
        yield Step("rounded", "rint(scaled)", rounded)
        wide = np.clip(rounded, -(2.0**40), 2.0**40).astype(np.int64) + target.zero_point
        yield Step("biased", f"rounded + {target.zero_point_name}", wide)
        codes = saturate(wide, target.dtype)
        yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
        return codes
    scaled = rows.join(f32(f32(powers * factor) / total))
    note = "overflows for short rows" if np.isinf(scaled).any() else ""
    yield Step("scaled", "f32(f32(exponential · factor) / total)", scaled, note=note, decides=True)
    return (yield from _before_double(scheme, scaled, target))


def _summed(powers: Array) -> Array:
    """(rows, D) → (rows, 1), in float32."""
    total = powers[:, :1]
    for k in range(1, powers.shape[1]):
        total = f32(total + powers[:, k : k + 1])
    return total


def exponentials(x_scale: float, length: int, *, in_double: bool) -> Array:
    """Float32, of the 256 differences from -255 to 0: made in double by the C library's exp."""
    headroom = float(LARGEST / np.float32(length))
    logarithm = math.log(headroom)
    shift = max(0.0, (logarithm if in_double else float(np.float32(logarithm))) - 5) / x_scale
    return np.array([math.exp((i - 255 + shift) * x_scale) for i in range(256)]).astype(np.float32)


def _before_double(scheme: "OrtCpu", scaled: Array, target: Target) -> Steps:
    """Releases up to 1.31: converted to int32, or to uint32 for uint8, which can overflow."""
    rounded = np.rint(scaled).astype(np.float64)
    zero_point = target.zero_point
    low, _ = bounds(target.dtype)
    if low == 0:
        if scheme.cpu == "arm64":
            integer = np.minimum(rounded, 2.0**32 - 1).astype(np.int64)
        else:  # CVTTSS2SI of 64 bits, whose lower half is kept
            integer = np.where(rounded < 2.0**63, rounded, 0).astype(np.int64) & 0xFFFFFFFF
        yield Step("rounded", "rint(scaled), as uint32", integer)
        biased = (integer + zero_point) & 0xFFFFFFFF
    else:
        if scheme.cpu == "arm64":
            integer = np.minimum(rounded, 2.0**31 - 1).astype(np.int64)
        else:  # CVTTSS2SI: what does not fit is INT32_MIN
            integer = np.where(rounded < 2.0**31, rounded, -(2.0**31)).astype(np.int64)
        yield Step("rounded", "rint(scaled), as int32", integer)
        biased = wrap32(integer + zero_point)
    yield Step("biased", f"rounded + {target.zero_point_name}", biased)
    note, formula = "", f"saturate to {target.dtype}"
    if low < 0 and scheme.before((1, 29)):
        codes = np.where(biased > 255, -1, biased).astype(np.int8)
        formula = "the lower 8 bits; -1 above 255"
        if not np.array_equal(codes, biased):
            note = "an int8 code wraps up to 1.28: fixed in 1.29"
    else:
        codes = saturate(biased, target.dtype)
    yield Step("output", formula, codes, tensor=target.tensor, note=note)
    return codes
