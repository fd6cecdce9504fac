"""Softmax in float32: exp as a polynomial, its sum in lanes, then times the reciprocal of the sum.

Source: onnxruntime 1.32.0, core/mlas/lib/compute.cpp, x86_64/TransKernelFma3.S, TransKernelAvx512F.S.
"""

from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.kernels.functions import multiply_add, polynomial
from qlab.kernels.numbers import f32
from qlab.lowering import Rows
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

LOWEST = np.finfo(np.float32).min  # what a maximum starts from
# exp(x) = 2^m · exp(r), with m = round(x / ln 2) and r = x - m · ln 2.
ROUNDING_BIAS = np.float32(12582912)  # 1.5 · 2^23: adding it rounds to an integer
LOG2_RECIPROCAL = np.float32(1.44269504088896341)
LN2_HIGH, LN2_LOW = np.float32(-6.93145752e-1), np.float32(-1.42860677e-6)  # of -ln 2
POLYNOMIAL = tuple(
    float.fromhex(text)
    for text in ("0x1.694000p-10", "0x1.125edcp-7", "0x1.555b5ap-5", "0x1.555450p-3", "0x1.fffff6p-2", "1", "1")
)  # fmt: skip
# Where exp is cut off: AVX-512 scales with VSCALEFPS, which reaches the smallest float32.
CUT, CUT_AVX512 = np.float32(-88.3762626647949), np.float32(-103.9720840454)


def softmax(scheme: "OrtCpu", x: Array, rows: Rows, tensor: str, dtype: str) -> Steps:
    """MlasComputeSoftmax.

    Raises TraceError for NaN (which lane it erases depends on the order of the kernel) and for ARM64.
    """
    values = scheme.real(x)
    if scheme.cpu == "arm64":
        # Of 1.15.0 to 1.32.0 on one emulated ARM64 CPU, five ranges of releases return different last bits.
        raise TraceError(
            "Softmax in float32 on ARM64 depends on the release and on SVE; not modelled"
        )
    if np.isnan(values).any():
        raise TraceError(
            "NaN in x: which lane of the maximum it erases depends on the order of the kernel; not modelled"
        )
    if not values.size:
        yield Step("output", "of no entries", values, tensor=tensor, dtype=dtype)
        return values
    split = rows.split(values)
    lanes = 16 if scheme.wide else 4 if scheme.cpu == "sse" else 8
    maximum = f32(np.maximum(split.max(axis=1, keepdims=True), LOWEST))
    yield Step("maximum", "max(x) of the row", rows.join(maximum))
    shifted = f32(split - maximum)
    yield Step("shifted", "f32(x - maximum)", rows.join(shifted))
    powers = exponential(shifted, scheme.cpu, avx512=scheme.wide)
    yield Step("exponential", "2^m · polynomial(shifted - m · ln 2)", rows.join(powers))
    total = summed(powers, lanes, scheme.cpu)
    note = f"added in float32 as {lanes} sums, of every {lanes}th entry each"
    yield Step("total", "Σ exponential over the row", rows.join(total), note=note)
    reciprocal = f32(np.float32(1) / total)
    yield Step("reciprocal", "f32(1 / total)", rows.join(reciprocal))
    value = rows.join(f32(powers * reciprocal))
    yield Step("output", "f32(exponential · reciprocal)", value, tensor=tensor, dtype=dtype)
    return value


def exponential(x: Array, cpu: str, *, avx512: bool) -> Array:
    """exp of x ≤ 0 as the kernels of Softmax compute it; NaN stays."""
    step = multiply_add(cpu)
    x = f32(np.maximum(x, CUT_AVX512 if avx512 else CUT))
    biased = step(x, np.asarray(LOG2_RECIPROCAL), np.asarray(ROUNDING_BIAS))
    m = f32(biased - ROUNDING_BIAS)
    rest = step(m, np.asarray(LN2_LOW), step(m, np.asarray(LN2_HIGH), x))
    value = polynomial(rest, POLYNOMIAL, cpu)
    if avx512:
        return f32(np.ldexp(value.astype(np.float64), np.nan_to_num(m).astype(np.int32)))
    # m moved to the exponent field, plus that of 1.0: -127 gives the scale 0.
    scale = (biased.view(np.uint32) << np.uint32(23)) + np.uint32(0x3F800000)
    return f32(value * scale.astype(np.uint32).view(np.float32))


def summed(powers: Array, lanes: int, cpu: str) -> Array:
    """(rows, D) → (rows, 1): as many sums as lanes, then those added up in the order of the kernel."""
    count = powers.shape[1]
    # What is left of a row after whole vectors of four is added at the end; wider kernels mask it with zeros.
    whole = count // 4 * 4 if lanes == 4 else count
    sums = np.zeros((len(powers), lanes), np.float32)
    for start in range(0, whole, lanes):
        part = powers[:, start : min(start + lanes, whole)]
        sums[:, : part.shape[1]] = f32(sums[:, : part.shape[1]] + part)
    if lanes == 16:
        sums = f32(sums[:, :8] + sums[:, 8:])
    if cpu == "sse":
        sums = f32(sums[:, :2] + sums[:, 2:])
    while sums.shape[1] > 1:
        sums = f32(sums[:, 0::2] + sums[:, 1::2])
    total = sums
    for k in range(whole, count):
        total = f32(total + powers[:, k : k + 1])
    return total
