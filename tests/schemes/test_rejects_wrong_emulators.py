"""The batteries can fail: each deliberately wrong variant of ort_cpu is rejected by them.

Each variant is compared with ONNX Runtime as test_ort_cpu.py does it; it has to mispredict some code.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from qlab.arithmetic import fma
from qlab.batteries import quantization
from qlab.batteries.convolutions import conv_cases as all_conv_cases
from qlab.batteries.elementwise import elementwise_cases
from qlab.batteries.products import matmul_cases as all_matmul_cases
from qlab.batteries.quantization import dequantize_cases, dynamic_cases
from qlab.case import Case
from qlab.engines.ort import emulated_cpus, run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.kernels.numbers import f32
from qlab.kernels.qlinearadd import first_is_scalar
from qlab.qtypes import DTYPES, bounds, saturate
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import Step, trace

HALF = np.float32(0.5)


def half_away(values):
    return f32(np.trunc(values + np.copysign(HALF, values)))


class ZeroPointBeforeRounding(OrtCpu):
    """As QLinearAdd has it, in QuantizeLinear and requantization."""

    def to_codes(self, scaled, target):
        codes = saturate(np.rint(f32(scaled + f32(target.zero_point))).astype(np.int64), target.dtype)  # fmt: skip
        yield Step("output", "", codes, tensor=target.tensor)
        return codes


class ZeroPointAfterRounding(OrtCpu):
    """As QuantizeLinear has it, in QLinearAdd and QLinearMul."""

    def sum_to_codes(self, total, target):
        rounded = np.rint(f32(total - f32(target.zero_point))).astype(np.int64)
        codes = saturate(rounded + target.zero_point, target.dtype)
        yield Step("output", "", codes, tensor=target.tensor)
        return codes


class HalfAwayFromZero(OrtCpu):
    """The rounding of C's round()."""

    def to_codes(self, scaled, target):
        low, high = bounds(target.dtype)
        clamped = np.clip(scaled, low - target.zero_point, high - target.zero_point)
        codes = (half_away(f32(np.nan_to_num(clamped, nan=-(2.0**20)))) + target.zero_point).clip(
            low
        )
        codes = codes.astype(np.int64).astype(DTYPES[target.dtype])
        yield Step("output", "", codes, tensor=target.tensor)
        return codes

    def sum_to_codes(self, total, target):
        codes = saturate(half_away(total).astype(np.int64), target.dtype)
        yield Step("output", "", codes, tensor=target.tensor)
        return codes


class ReciprocalScale(OrtCpu):
    """QuantizeLinear as a multiplication by 1 / scale."""

    def quantize(self, x, target):
        inverse = f32(np.float32(1) / target.scale)
        return (yield from self.to_codes(f32(x * inverse), target))


class LateDivision(OrtCpu):
    """x_scale · (w_scale / y_scale)."""

    def requantize(self, accumulator, scales, target):
        *first, (_, last) = scales
        ratio = f32(last / target.scale)
        for _, scale in first:
            ratio = f32(scale * ratio)
        return (yield from self.to_codes(f32(f32(accumulator) * ratio), target))


class EarlyDivision(OrtCpu):
    """(x_scale / y_scale) · w_scale."""

    def requantize(self, accumulator, scales, target):
        ratio = f32(scales[0][1] / target.scale)
        for _, scale in scales[1:]:
            ratio = f32(ratio * scale)
        return (yield from self.to_codes(f32(f32(accumulator) * ratio), target))


class DoubleMultiplier(OrtCpu):
    """The product with the float32 multiplier in float64."""

    def requantize(self, accumulator, scales, target):
        product, _ = self.scale_product(scales)
        rounded = np.rint(accumulator * f32(product / target.scale).astype(np.float64))
        codes = saturate(rounded.astype(np.int64) + target.zero_point, target.dtype)
        yield Step("output", "", codes, tensor=target.tensor)
        return codes


class ExactAccumulator(OrtCpu):
    """float32 that does not round the accumulator first."""

    def requantize(self, accumulator, scales, target):
        product, _ = self.scale_product(scales)
        multiplier = f32(product / target.scale).astype(np.float64)
        return (yield from self.to_codes(f32(accumulator * multiplier), target))


class NoSaturation(OrtCpu):
    """Pairs of uint8 × int8 products that do not saturate."""

    def saturates(self, c):
        return False


class PairsFromTheSecond(OrtCpu):
    """Pairs (1, 2), (3, 4) …"""

    def accumulate(self, contraction):
        c = contraction
        pad = [(0, 0)] * (c.lhs.ndim - 1)
        shifted = dataclasses.replace(
            c,
            lhs=np.pad(c.lhs, [*pad, (1, 0)]),
            rhs=np.pad(c.rhs, [*[(0, 0)] * (c.rhs.ndim - 2), (1, 0), (0, 0)]),
        )
        total = yield from super().accumulate(shifted)
        # The padding took part in K · zero points.
        return total - c.arrange(
            np.broadcast_to(c.lhs_zero_point * c.rhs_zero_point, c.result_shape)
        )


class SaturatesCentered(OrtCpu):
    """Pairs saturate after the zero point of x was subtracted."""

    def accumulate(self, contraction):
        c = contraction
        centered = dataclasses.replace(
            c, lhs=c.lhs - c.lhs_zero_point, lhs_zero_point=np.asarray(0)
        )
        return (yield from super().accumulate(centered))


class SaturatesEverySigned(OrtCpu):
    """int8 × int8 saturates too, and depthwise."""

    def saturates(self, c):
        return self.cpu == "avx2" and bool((c.rhs < 0).any())


class _Add(OrtCpu):
    """QLinearAdd in another order of operations: total(x_a, r_a, z_a, x_b, r_b, z_b, z_c)."""

    def add(self, a, b, target):
        if first_is_scalar(a.codes.shape, b.codes.shape) and self.swaps:
            a, b = b, a
        r = [f32(q.scale / target.scale) for q in (a, b)]
        x, z = [f32(q.codes) for q in (a, b)], [f32(q.zero_point) for q in (a, b)]
        total = self.total(x[0], r[0], z[0], x[1], r[1], z[1], f32(target.zero_point))
        return (yield from self.sum_to_codes(total, target))

    swaps = True

    def total(self, xa, ra, za, xb, rb, zb, zc):
        fixed = f32(zc - fma(ra, za, f32(rb * zb)))
        return fma(xa, ra, fma(xb, rb, fixed))


class AddWithoutFma(_Add):
    def total(self, xa, ra, za, xb, rb, zb, zc):
        fixed = f32(zc - f32(f32(ra * za) + f32(rb * zb)))
        return f32(f32(xa * ra) + f32(f32(xb * rb) + fixed))


class AddUnfusedConstant(_Add):
    def total(self, xa, ra, za, xb, rb, zb, zc):
        fixed = f32(zc - f32(f32(ra * za) + f32(rb * zb)))
        return fma(xa, ra, fma(xb, rb, fixed))


class AddConstantFusedOnTheOther(_Add):
    def total(self, xa, ra, za, xb, rb, zb, zc):
        fixed = f32(zc - fma(rb, zb, f32(ra * za)))
        return fma(xa, ra, fma(xb, rb, fixed))


class AddFirstOperandFirst(_Add):
    def total(self, xa, ra, za, xb, rb, zb, zc):
        fixed = f32(zc - fma(ra, za, f32(rb * zb)))
        return fma(xb, rb, fma(xa, ra, fixed))


class AddNeverSwaps(_Add):
    swaps = False


class AddCentered(_Add):
    def total(self, xa, ra, za, xb, rb, zb, zc):
        return f32(fma(f32(xa - za), ra, f32(f32(xb - zb) * rb)) + zc)


class MulLateDivision(OrtCpu):
    """a_scale · (b_scale / c_scale)."""

    def multiply(self, a, b, target):
        product = f32((a.codes - a.zero_point) * (b.codes - b.zero_point))
        ratio = f32(a.scale * f32(b.scale / target.scale))
        total = f32(f32(product * ratio) + f32(target.zero_point))
        return (yield from self.sum_to_codes(total, target))


class MulFused(OrtCpu):
    """The zero point added with a fused multiply-add."""

    def multiply(self, a, b, target):
        product = f32((a.codes - a.zero_point) * (b.codes - b.zero_point))
        ratio = f32(f32(a.scale * b.scale) / target.scale)
        total = fma(product, ratio, f32(target.zero_point))
        return (yield from self.sum_to_codes(total, target))


class DequantizeExactly(OrtCpu):
    """The code itself not rounded to float32."""

    def dequantize(self, q, tensor, dtype):
        value = f32((q.codes - q.zero_point) * q.scale.astype(np.float64))
        yield Step("output", "", value, tensor=tensor)
        return value


class DynamicInDouble(OrtCpu):
    """Scale and zero point of DynamicQuantizeLinear computed in float64, rounded at the end."""

    def dynamic_quantize(self, x, tensors):
        low, high = (np.float64(f(x, initial=0)) for f in (np.min, np.max))
        scale = (high - low) / 255 if high != low else np.float64(1)
        zero_point = np.asarray(np.rint(np.clip(-low / scale, 0, 255))).astype(np.uint8)
        yield Step("y_scale", "", f32(scale), tensor=tensors[1])
        yield Step("y_zero_point", "", zero_point, tensor=tensors[2])
        codes = saturate(np.rint(f32(x) / f32(scale)).astype(np.int64) + int(zero_point), "uint8")
        yield Step("y", "", codes, tensor=tensors[0])
        return codes


def add_cases() -> Iterator[Case]:
    return elementwise_cases("QLinearAdd", "int8", 1)


def mul_cases() -> Iterator[Case]:
    return elementwise_cases("QLinearMul", "int8", 2)


def quantize_cases() -> Iterator[Case]:
    return quantization.quantize_cases("int8", 3)


def matmul_cases(b: str = "uint8") -> Iterator[Case]:
    return all_matmul_cases("QLinearMatMul", "uint8", b, 6)


def gemm_cases() -> Iterator[Case]:
    return all_matmul_cases("QGemm", "uint8", "uint8", 6)


def conv_cases(x: str = "uint8", w: str = "uint8") -> Iterator[Case]:
    return all_conv_cases("QLinearConv", x, w, 8)


def mixed_conv_cases() -> Iterator[Case]:
    return conv_cases("uint8", "int8")


def mixed_matmul_cases() -> Iterator[Case]:
    return matmul_cases("int8")


WRONG: list[tuple[type[OrtCpu], Callable[[], Iterator[Case]]]] = [
    (ZeroPointBeforeRounding, quantize_cases),
    (ZeroPointBeforeRounding, matmul_cases),
    (ZeroPointBeforeRounding, gemm_cases),
    (ZeroPointBeforeRounding, conv_cases),
    (ZeroPointAfterRounding, add_cases),
    (ZeroPointAfterRounding, mul_cases),
    (HalfAwayFromZero, quantize_cases),
    (HalfAwayFromZero, matmul_cases),
    (HalfAwayFromZero, conv_cases),
    (HalfAwayFromZero, add_cases),
    (HalfAwayFromZero, mul_cases),
    (ReciprocalScale, quantize_cases),
    (LateDivision, gemm_cases),
    (EarlyDivision, gemm_cases),
    (LateDivision, conv_cases),
    (EarlyDivision, matmul_cases),
    (DoubleMultiplier, matmul_cases),
    (DoubleMultiplier, gemm_cases),
    (DoubleMultiplier, conv_cases),
    (ExactAccumulator, matmul_cases),
    (ExactAccumulator, conv_cases),
    (AddWithoutFma, add_cases),
    (AddUnfusedConstant, add_cases),
    (AddConstantFusedOnTheOther, add_cases),
    (AddFirstOperandFirst, add_cases),
    (AddNeverSwaps, add_cases),
    (AddCentered, add_cases),
    (MulLateDivision, mul_cases),
    (MulFused, mul_cases),
    (DequantizeExactly, lambda: dequantize_cases("int32", 4)),
    (DynamicInDouble, lambda: dynamic_cases(5)),
]
WRONG_ON_AVX2: list[tuple[type[OrtCpu], Callable[[], Iterator[Case]]]] = [
    (NoSaturation, mixed_matmul_cases),
    (NoSaturation, mixed_conv_cases),
    (PairsFromTheSecond, mixed_matmul_cases),
    (SaturatesCentered, mixed_matmul_cases),
    (SaturatesEverySigned, lambda: all_matmul_cases("MatMulInteger", "int8", "int8", 6)),
    (SaturatesEverySigned, mixed_conv_cases),
]


def rejected(emulator: Callable[[str], OrtCpu], cases: Iterator[Case], cpu: str) -> bool:
    """True where some code differs; the battery stops there."""
    for case in cases:
        run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"), cpu=cpu, timeout=120)
        assert run.status is RunStatus.OK, run.message
        assert trace(case.graph, case.inputs, OrtCpu(run.cpu)).outputs.keys() == run.outputs.keys()
        with np.errstate(all="ignore"):
            predicted = trace(case.graph, case.inputs, emulator(run.cpu)).outputs
        if any(not np.array_equal(predicted[n], v, equal_nan=v.dtype.kind == "f") for n, v in run.outputs.items()):  # fmt: skip
            return True
    return False


def names(pairs):
    return [f"{emulator.__name__}-{number}" for number, (emulator, _) in enumerate(pairs)]


@pytest.mark.parametrize(("emulator", "cases"), WRONG, ids=names(WRONG))
def test_a_wrong_emulator_is_rejected(emulator, cases):
    assert rejected(emulator, cases(), "this")


@pytest.mark.parametrize(("emulator", "cases"), WRONG_ON_AVX2, ids=names(WRONG_ON_AVX2))
def test_a_wrong_emulator_of_avx2_is_rejected(emulator, cases):
    if "avx2" not in emulated_cpus():
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    assert rejected(emulator, cases(), "avx2")


@pytest.mark.parametrize(("cpu", "emulator"), [("avx2", "sse"), ("sse", "avx2"), ("avx2", "arm64")])
def test_the_arithmetic_of_another_cpu_is_rejected(cpu, emulator):
    if cpu not in emulated_cpus():
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    assert rejected(lambda _: OrtCpu(emulator), add_cases(), cpu)


def test_the_variants_differ_from_the_right_one_by_their_fault_only():
    """The frame that the wrong additions share is right where its order is the kernel's."""
    assert not rejected(_Add, add_cases(), "this")
