"""ort_cpu: what ONNX Runtime's CPU execution provider computes, operation by operation.

Each formula predicts ONNX Runtime's codes exactly; tests/schemes/test_ort_cpu.py proves it against the installed
release. ``f32(·)`` is one rounding to float32, ``fma`` a fused multiply-add, all in the order of the kernels.
"""

import dataclasses
import re

import numpy as np

from qlab.arithmetic import FLOAT32
from qlab.errors import TraceError
from qlab.functions import Function
from qlab.interpolation import Resampling
from qlab.kernels import (
    convert,
    float8,
    functions,
    matmulintegertofloat,
    matmulnbits,
    pooling,
    qgemm,
    qlinearadd,
    qlinearpool,
    qlinearsoftmax,
    quantize_int32,
    resize,
    softmax,
    where,
)
from qlab.kernels.numbers import f16, f32, wrap32
from qlab.kernels.quantize_int32 import through_int32
from qlab.kernels.sgemm import sgemm
from qlab.lowering import Rows
from qlab.ops import Steps
from qlab.qtypes import DTYPES, Array, bounds, dtype_name, is_float, is_float8, is_integer, saturate
from qlab.schemes import Affine, BlockedWeights, Contraction, Pool, Quantized, Target
from qlab.trace import Step

CPUS = ("avx2", "sse", "vnni", "arm64")


@dataclasses.dataclass(frozen=True)
class OrtCpu:
    """ONNX Runtime on one class of CPU.

    Attributes:
        cpu: ``avx2`` (AVX2 or AVX-512 without VNNI: pairs of uint8 × int8 products saturate in 16 bits), ``vnni``
            (the same kernels with exact accumulators), ``sse`` (exact accumulators, no fused multiply-add),
            ``arm64`` (exact accumulators, fixed-point QLinearAdd).
        x64quantprecision: the session entry of that name is "1": constant int8 weights do not saturate.
        version: the release, ``1.28.0``; "" is the newest that was measured, 1.32.0. QLinearSoftmax changed with it
            (`qlab.kernels.qlinearsoftmax` has where), the halves of nearest Resize (`qlab.kernels.resize`) and
            QuantizeLinear (`qlab.kernels.quantize_int32`, `qlab.kernels.float8`).
        avx512: the float32 Softmax runs on AVX-512; None is as CPUs of the class have it mostly: ``vnni`` with,
            ``avx2`` without. Others exist (AVX-VNNI without AVX-512; AVX-512 without VNNI).
    """

    cpu: str = "avx2"
    x64quantprecision: bool = False
    version: str = ""
    avx512: bool | None = None
    name: str = "ort_cpu"
    source: str = (
        "onnxruntime 1.32.0: core/mlas/lib/{quantize,qgemm,qlmul,qladd}.cpp, intrinsics/avx2/qladd_avx2.cpp, "
        "core/providers/cpu/quantization, contrib_ops/cpu/quantization"
    )

    def real(self, values: Array) -> Array:
        """Stored values as float32. Raises TraceError for another float type: its kernels are not proven."""
        if is_float(values.dtype) and values.dtype != np.float32:
            raise TraceError(
                f"{dtype_name(values.dtype)} has no proven arithmetic in ort_cpu; float32 has, "
                "and float16 in QuantizeLinear and DequantizeLinear"
            )
        return FLOAT32.real(values)

    @property
    def wide(self) -> bool:
        """The float32 Softmax runs on registers of 512 bits."""
        if self.cpu not in ("avx2", "vnni"):
            return False
        return self.cpu == "vnni" if self.avx512 is None else self.avx512

    def before(self, release: tuple[int, int]) -> bool:
        """True for a release older than this one, ``(1, 29)``."""
        numbers = tuple(int(n) for n in re.findall(r"\d+", self.version)[:2])
        return bool(numbers) and numbers < release

    def quantize(self, x: Array, target: Target) -> Steps:
        """MlasQuantizeLinear: divide, clamp, round half to even, add the zero point."""
        value, scale, formula = self._widened(x), self._widened(target.scale), "x / {}"
        half = target.precision == "float16" and not self.before((1, 32))
        if half:
            value, scale, formula = f16(value), f16(scale), "f16(f16(x) / f16({}))"
        elif target.precision not in ("", "float16", "float32"):
            raise TraceError(f"dividing in {target.precision} has no proven arithmetic in ort_cpu")
        scaled = f32(np.divide(value, scale))
        if half:
            scaled = f16(scaled)
        of_float8 = target.dtype if is_float8(target.dtype) else ""
        formula = f"f32({formula.format(target.scale_name)})"
        yield Step("scaled", formula, scaled, decides=True, format=of_float8)
        if of_float8:
            return (yield from float8.round_to_target(self, scaled, target))
        if is_integer(target.dtype) and (mask := through_int32(self, x, target)) is not None:
            half = x.dtype == np.float16
            return (yield from quantize_int32.to_codes(self, scaled, mask, target, half=half))
        return (yield from self.to_codes(scaled, target))

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """f32(f32(q - zero_point) · scale), then rounded to float16 where that is the tensor's type."""
        if is_float8(q.codes.dtype):
            value = f32(f32(q.codes) * self._widened(q.scale))
            formula = f"f32({q.name} · {q.scale_name})"
        else:
            centered = wrap32(q.codes - q.zero_point)
            yield Step("centered", f"{q.name} - {q.zero_point_name}", centered)
            value = f32(f32(centered) * self._widened(q.scale))
            formula = f"f32(f32(centered) · {q.scale_name})"
        if dtype == "float16":
            yield Step("scaled", formula, value)
            value, formula = value.astype(np.float16), "f16(scaled)"
        elif dtype != "float32":
            raise TraceError(f"dequantizing to {dtype} has no proven arithmetic in ort_cpu")
        yield Step("output", formula, value, tensor=tensor, dtype=dtype)
        return value

    def _widened(self, values: Array) -> Array:
        """Float16 values as float32; others as `real` has them."""
        return f32(values) if values.dtype == np.float16 else self.real(values)

    def dynamic_quantize(self, x: Array, tensors: tuple[str, str, str]) -> Steps:
        """Scale and zero point from the range of x with 0 in it."""
        values = self.real(x)
        if np.isnan(values).any():
            raise TraceError(
                "NaN in x: which lane it erases depends on the order of the kernel; not modelled"
            )
        low = f32(np.min(values, initial=0))
        high = f32(np.max(values, initial=0))
        yield Step("minimum", "min(0, min(x))", low)
        yield Step("maximum", "max(0, max(x))", high)
        y_scale = f32(f32(high - low) / np.float32(255)) if high != low else np.ones((), np.float32)
        note = "set to 1 where maximum = minimum" if high == low else ""
        yield Step(
            "y_scale", "f32(f32(maximum - minimum) / 255)", y_scale, tensor=tensors[1], note=note
        )
        real_zero_point = f32(np.float32(0) - f32(low / y_scale))
        yield Step(
            "real_zero_point", "f32(0 - f32(minimum / y_scale))", real_zero_point, decides=True
        )
        # std::min(255, NaN) is 255: so it is where -inf / inf leaves no number.
        clamped = np.where(real_zero_point < 255, real_zero_point, np.float32(255))
        clamped = np.where(clamped > 0, clamped, np.float32(0))
        zero_point = np.asarray(np.rint(clamped)).astype(np.uint8)
        yield Step(
            "y_zero_point", "rint(clamp(real_zero_point, 0, 255))", zero_point, tensor=tensors[2]
        )
        target = Target("y", y_scale, zero_point.astype(np.int64), "uint8", tensors[0])
        return (yield from self.quantize(values, target))

    def accumulate(self, contraction: Contraction) -> Steps:
        """Raw sum of products, then the zero points' part, in int32."""
        return (yield from qgemm.accumulate(self, contraction))

    def saturates(self, c: Contraction) -> bool:
        """True where two products are added in 16 bits: VPMADDUBSW, which `x64quantprecision` avoids for constants."""
        return c.pairs and self.cpu == "avx2" and not (self.x64quantprecision and c.constant_rhs)

    def requantize(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], target: Target
    ) -> Steps:
        """MlasRequantizeOutput: float32 multiplier, clamp, round half to even, add the zero point."""
        product, name = self.scale_product(scales)
        multiplier = f32(product / self.real(target.scale))
        yield Step("multiplier", f"f32({name} / {target.scale_name})", multiplier)
        total = yield from self._in_int32(accumulator)
        scaled = f32(f32(total) * multiplier)
        yield Step("scaled", "f32(f32(accumulator) · multiplier)", scaled, decides=True)
        return (yield from self.to_codes(scaled, target))

    def rescale(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], tensor: str
    ) -> Steps:
        """f32(f32(accumulator) · scales)."""
        multiplier, name = self.scale_product(scales)
        yield Step("multiplier", name, multiplier)
        value = f32(f32((yield from self._in_int32(accumulator))) * multiplier)
        name = "output" if tensor else "scaled"
        yield Step(name, "f32(f32(accumulator) · multiplier)", value, tensor=tensor)
        return value

    def rescale_with_bias(
        self,
        accumulator: Array,
        scales: tuple[tuple[str, Array], ...],
        bias: Array | None,
        tensor: str,
        *,
        separate: bool = False,
    ) -> Steps:
        """MatMulIntegerToFloat and DynamicQuantizeMatMul."""
        return (
            yield from matmulintegertofloat.rescale(
                self, accumulator, scales, bias, tensor, separate=separate
            )
        )

    def _in_int32(self, accumulator: Array) -> Steps:
        """The sum as its int32 register holds it, a bias included."""
        total = wrap32(accumulator)
        if not np.array_equal(total, accumulator):
            yield Step("wrapped", "accumulator modulo 2^32", total, note="int32 overflow wraps")
        return total

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """QLinearAdd."""
        return (yield from qlinearadd.add(self, a, b, target))

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """QLinearMul: no fused operation, the zero point added before rounding."""
        product = np.asarray((a.codes - a.zero_point) * (b.codes - b.zero_point))
        yield Step(
            "product",
            f"({a.name} - {a.zero_point_name}) · ({b.name} - {b.zero_point_name})",
            product,
        )
        scales, name = self.scale_product(((a.scale_name, a.scale), (b.scale_name, b.scale)))
        multiplier = f32(scales / self.real(target.scale))
        yield Step("multiplier", f"f32({name} / {target.scale_name})", multiplier)
        scaled = f32(f32(product) * multiplier)
        yield Step("scaled", "f32(product · multiplier)", scaled)
        total = f32(scaled + f32(target.zero_point))
        yield Step("sum", f"f32(scaled + {target.zero_point_name})", total, decides=True)
        return (yield from self.sum_to_codes(total, target))

    def convert(self, q: Quantized, target: Target) -> Steps:
        """The tables of QLinearConcat and QLinearWhere."""
        return (yield from convert.convert(self, q, target))

    def cast(self, x: Array, tensor: str, dtype: str) -> Steps:
        """One rounding to float32; from float32 to float16 another."""
        known = dtype == "float32" or (dtype, dtype_name(x.dtype)) == ("float16", "float32")
        if not known or dtype_name(x.dtype) in ("int4", "uint4"):
            raise TraceError(f"casting from {dtype_name(x.dtype)} to {dtype} is not modelled")
        value = x.astype(DTYPES[dtype])
        yield Step("output", f"input as {dtype}", value, tensor=tensor, dtype=dtype)
        return value

    def select(self, condition: Array, x: Array, y: Array, tensor: str, dtype: str) -> Steps:
        """Where, which loses the sign of zeros."""
        return (yield from where.select(condition, x, y, tensor, dtype))

    def resize(self, x: Array, how: Resampling, tensor: str, dtype: str) -> Steps:
        """Resize: positions in float32."""
        return (yield from resize.resize(self, x, how, tensor, dtype))

    def contract(self, contraction: Contraction, affine: Affine | None = None) -> Steps:
        """MLAS SGEMM with one thread."""
        return (yield from sgemm(contraction, affine, self.cpu))

    def average_pool(self, x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
        """MLAS's pools, or a plain loop."""
        return (yield from pooling.average_pool(self, x, pool, tensor, dtype))

    def quantized_average_pool(self, x: Quantized, pool: Pool, target: Target) -> Steps:
        """QLinearAveragePool, and QLinearGlobalAveragePool where the window is the whole image."""
        return (yield from qlinearpool.average_pool(self, x, pool, target))

    def max_pool(self, x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
        """MLAS's pools, or a plain loop."""
        return (yield from pooling.max_pool(self, x, pool, tensor, dtype))

    def multiply_blocks(
        self,
        a: Array,
        weights: BlockedWeights,
        bias: Array | None,
        tensor: str,
        *,
        accuracy_level: int,
    ) -> Steps:
        """MatMulNBits. Raises TraceError for VNNI without AVX-512 and AVX-512 without VNNI, which were never run."""
        if self.wide != (self.cpu == "vnni"):
            raise TraceError(
                "MatMulNBits on a CPU with only one of VNNI and AVX-512 has kernels of its own: not modelled"
            )
        return (yield from matmulnbits.multiply(self.cpu, a, weights, bias, tensor, accuracy_level))

    def evaluate(self, x: Array, function: Function, tensor: str, dtype: str) -> Steps:
        """The function's float32 kernel."""
        return (yield from functions.evaluate(self, x, function, tensor, dtype))

    def lookup(self, q: Quantized, function: Function, target: Target) -> Steps:
        """A table of 256 entries, made with the function's float32 kernel."""
        return (yield from functions.lookup(self, q, function, target))

    def softmax(self, x: Array, rows: Rows, tensor: str, dtype: str) -> Steps:
        """MlasComputeSoftmax."""
        return (yield from softmax.softmax(self, x, rows, tensor, dtype))

    def quantized_softmax(self, q: Quantized, rows: Rows, target: Target) -> Steps:
        """QLinearSoftmax."""
        return (yield from qlinearsoftmax.softmax(self, q, rows, target))

    def scale_product(self, scales: tuple[tuple[str, Array], ...]) -> tuple[Array, str]:
        """The product of the scales, rounded after each, and its formula."""
        product, formula = self.real(scales[0][1]), scales[0][0]
        for name, scale in scales[1:]:
            product, formula = f32(product * self.real(scale)), f"f32({formula} · {name})"
        return f32(product), formula

    def to_codes(self, scaled: Array, target: Target) -> Steps:
        """Clamp to the codes' range less the zero point, round half to even, add the zero point."""
        if not is_integer(target.dtype) or DTYPES[target.dtype].itemsize > 2:
            raise TraceError(
                f"quantizing to {target.dtype} has no arithmetic here; integers of 2 to 16 bits have"
            )
        low, high = bounds(target.dtype)
        lowest, highest = f32(low - target.zero_point), f32(high - target.zero_point)
        # MAXPS and MINPS give their second operand where one is NaN: NaN becomes the lowest.
        clamped = np.where(scaled > lowest, scaled, lowest)
        clamped = f32(np.where(clamped < highest, clamped, highest))
        bounds_text = f"{low} - {target.zero_point_name}, {high} - {target.zero_point_name}"
        note = "NaN becomes the lowest code" if np.isnan(scaled).any() else ""
        yield Step("clamped", f"clamp(scaled, {bounds_text})", clamped, note=note)
        rounded = np.rint(clamped)
        yield Step("rounded", "rint(clamped)", rounded)
        biased = np.asarray(rounded.astype(np.int64) + target.zero_point)
        yield Step("biased", f"rounded + {target.zero_point_name}", biased)
        codes = biased.astype(DTYPES[target.dtype])
        yield Step("output", target.dtype, codes, tensor=target.tensor)
        return codes

    def sum_to_codes(self, total: Array, target: Target) -> Steps:
        """CVTPS2DQ, then packed with saturation to 16 and to 8 bits."""
        if self.cpu == "arm64":
            wide = np.clip(np.nan_to_num(np.rint(total).astype(np.float64)), -(2**31), 2**31 - 1)
        else:
            # What does not fit int32, NaN included, is INT32_MIN, so a positive overflow ends at the lowest code.
            fits = (total >= -(2.0**31)) & (total < 2.0**31)
            wide = np.where(fits, np.rint(total), -(2.0**31))
        rounded = np.asarray(wide).astype(np.int64)
        yield Step("rounded", "rint(sum)", rounded)
        codes = saturate(np.clip(rounded, -32768, 32767), target.dtype)
        yield Step("output", f"saturate to {target.dtype}", codes, tensor=target.tensor)
        return codes


SCHEME = OrtCpu()
VARIANTS = {f"ort_cpu ({cpu})": OrtCpu(cpu) for cpu in CPUS}
