"""QLinearAdd: fused multiply-adds on x86-64, fixed point on ARM64; which operand comes first depends on the shapes.

Source: onnxruntime 1.32.0, core/mlas/lib/qladd.cpp, intrinsics/avx2/qladd_avx2.cpp,
contrib_ops/cpu/quantization/qlinear_binary_op.cc.
"""

from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import fma
from qlab.errors import TraceError
from qlab.kernels.numbers import f32
from qlab.ops import Steps
from qlab.qtypes import Array, saturate
from qlab.schemes import Quantized, Target
from qlab.trace import Index, Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu


def add(scheme: "OrtCpu", a: Quantized, b: Quantized, target: Target) -> Steps:
    """QLinearAdd: the zero points folded into one constant, then two fused multiply-adds on the raw codes."""
    if max(v.size for q in (a, b, target) for v in (q.scale, q.zero_point)) > 1:
        raise TraceError("QLinearAdd has one scale and zero point for each whole tensor")
    swapped = first_is_scalar(a.codes.shape, b.codes.shape)
    scalar = swapped or first_is_scalar(b.codes.shape, a.codes.shape)
    if swapped:
        a, b = b, a
    scale_c = scheme.real(target.scale)
    r_a, r_b = f32(scheme.real(a.scale) / scale_c), f32(scheme.real(b.scale) / scale_c)
    note = "the operand of one element is the kernel's second" if swapped else ""
    yield Step(f"r{a.name}", f"f32({a.scale_name} / {target.scale_name})", r_a, note=note)
    yield Step(f"r{b.name}", f"f32({b.scale_name} / {target.scale_name})", r_b)
    if scheme.cpu == "arm64" and _takes_fixed_point(r_a, r_b):
        return (yield from _fixed_point(a, b, r_a, r_b, target))
    z_a, z_b, z_c = f32(a.zero_point), f32(b.zero_point), f32(target.zero_point)
    x_a, x_b = f32(a.codes), f32(b.codes)
    ra, rb = f"r{a.name}", f"r{b.name}"
    if scheme.cpu == "sse":
        fixed = f32(z_c - f32(f32(r_a * z_a) + f32(r_b * z_b)))
        inner = f"f32(f32({ra}·{a.zero_point_name}) + f32({rb}·{b.zero_point_name}))"
        yield Step("fixed", f"f32({target.zero_point_name} - {inner})", fixed)
        order = ((b, x_b, r_b), (a, x_a, r_a)) if scalar else ((a, x_a, r_a), (b, x_b, r_b))
        (q, x, r), (q2, x2, r2) = order
        part = f32(fixed + f32(x * r))
        yield Step("part", f"f32(fixed + f32({q.name}·r{q.name}))", part)
        total = f32(part + f32(x2 * r2))
        formula = f"f32(part + f32({q2.name}·r{q2.name}))"
    else:
        fixed = f32(z_c - fma(r_a, z_a, f32(r_b * z_b)))
        inner = f"fma({ra}, {a.zero_point_name}, f32({rb}·{b.zero_point_name}))"
        yield Step("fixed", f"f32({target.zero_point_name} - {inner})", fixed)
        part = fma(x_b, r_b, fixed)
        yield Step("part", f"fma({b.name}, {rb}, fixed)", part)
        total = fma(x_a, r_a, part)
        formula = f"fma({a.name}, {ra}, part)"
    yield Step(
        "sum", formula, total, decides=True, note="the zero point is inside the rounded value"
    )
    return (yield from scheme.sum_to_codes(total, target))


def _fixed_point(a: Quantized, b: Quantized, r_a: Array, r_b: Array, target: Target) -> Steps:
    """QLinearAdd on ARM64: 22-bit integer multipliers, rounded half away from zero."""
    shift = 21 - _exponent(r_a, r_b)
    yield Step("shift", "21 - exponent(max ratio)", np.asarray(shift))
    m_a, m_b = (np.rint(f32(r * np.float32(2.0**shift))).astype(np.int64) for r in (r_a, r_b))
    yield Step(f"m{a.name}", f"rint(r{a.name} · 2^shift)", m_a)
    yield Step(f"m{b.name}", f"rint(r{b.name} · 2^shift)", m_b)
    acc: Array = (a.codes - a.zero_point) * m_a + (b.codes - b.zero_point) * m_b
    formula = (
        f"({a.name} - {a.zero_point_name})·m{a.name} + ({b.name} - {b.zero_point_name})·m{b.name}"
    )
    yield Step("accumulator", formula, acc)
    # The position on the code axis, exactly: a float64 holds 2^31 / 2^31 without loss.
    total = acc / 2.0**shift + target.zero_point
    formula = f"accumulator / 2^shift + {target.zero_point_name}"
    yield Step("sum", formula, total, decides=True)
    rounded = ((acc - (acc < 0) + (1 << (shift - 1))) >> shift) + target.zero_point
    note = "fixed point rounds half away from zero, before the zero point is added"
    yield Step("rounded", f"half away from zero + {target.zero_point_name}", rounded, note=note)
    codes = saturate(np.clip(rounded, -32768, 32767), target.dtype)
    yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
    return codes


def first_is_scalar(a: Index, b: Index) -> bool:
    """True where QLinearAdd's broadcasting takes the first operand as its scalar, and so exchanges the roles.

    The innermost axis on which one has more than one entry decides; where none has, the first counts as scalar.
    """
    a, b = a or (1,), b or (1,)
    for n, m in zip(reversed(a), reversed(b), strict=False):
        if max(n, m) > 1:
            return n == 1
    return True


def _exponent(r_a: Array, r_b: Array) -> int:
    return int(np.frexp(np.maximum(r_a, r_b))[1]) - 1


def _takes_fixed_point(r_a: Array, r_b: Array) -> bool:
    """True where the ratios are in the range of ARM64's fixed-point path."""
    if not all(np.isfinite(r) and 2.0**-14 <= r < 2.0**8 for r in (r_a, r_b)):
        return False
    return 13 <= 21 - _exponent(r_a, r_b) <= 31
