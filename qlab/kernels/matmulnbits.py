"""MatMulNBits: sums in lanes of vector registers, over dequantized weights or over A in int8; or dequantized and SGEMM.

Source: onnxruntime 1.32.0, contrib_ops/cpu/quantization/matmul_nbits.cc, core/mlas/lib/qnbitgemm.cpp,
sqnbitgemm_kernel_avx_common_fp32.h, sqnbitgemm_kernel_avx{2,512}_int8_blklen*.h, sqnbitgemm_m1_sym_kernel_avx2_*.h,
with one thread. Class ``vnni`` is AVX-512 with VNNI here; AVX-VNNI without AVX-512 adds as ``avx2`` does.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from qlab.arithmetic import fma
from qlab.errors import TraceError
from qlab.kernels.lanes import halved, in_halves, in_pairs, in_quarters, schedule
from qlab.kernels.numbers import f32
from qlab.kernels.sgemm import Order, sgemm
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Affine, BlockedWeights
from qlab.trace import Index, Step, Taps, whole_step

WIDTH = {"avx2": 8, "vnni": 16}  # float32 lanes of a register
INT8 = 4  # the accuracy level that allows A in int8
LARGEST_BLOCK = 256  # of A in int8; larger blocks of B are cut
SILENT = "ONNX Runtime packs only constant zero_points for accuracy level 4: these are taken as {} instead"


def multiply(
    cpu: str, a: Array, w: BlockedWeights, bias: Array | None, tensor: str, accuracy_level: int
) -> Steps:
    """The path that ONNX Runtime takes.

    Raises TraceError on ARM64, for 2 bits, and for scales that are read from memory that was never written.
    """
    if cpu not in (*WIDTH, "sse"):
        raise TraceError(f"MatMulNBits on {cpu} has kernels of its own: not modelled")
    if w.bits not in (4, 8):
        raise TraceError(f"MatMulNBits of {w.bits} bits is not modelled; 4 and 8 bits are")
    if cpu == "sse" or "B" not in w.constant or (w.bits == 8 and accuracy_level != INT8):
        return (yield from _dequantized(cpu, a, w, bias, tensor))
    if accuracy_level != INT8:
        return (yield from _in_float32(cpu, a, w, bias, tensor))
    if "scales" not in w.constant:
        raise TraceError(
            "scales is no initializer: at accuracy level 4 ONNX Runtime then reads memory that it never wrote; "
            "not modelled"
        )
    return (yield from _in_int8(cpu, a, w, bias, tensor))


def _real(w: BlockedWeights) -> Array:
    """The dequantized weights: float32 (N, K)."""
    centered = w.codes - w.spread(w.zero_point)
    return f32(f32(centered) * w.spread(f32(w.scale)))[:, : w.k]


def _dequantized(cpu: str, a: Array, w: BlockedWeights, bias: Array | None, tensor: str) -> Steps:
    """All weights dequantized, then a matrix product A · Bᵀ."""
    real = _real(w)
    yield whole_step(
        "B_real", "f32(f32(B - zero_points) · scales)", real, a.ndim,
        "no kernel of its own for these bits, this accuracy level, CPU or B: dequantized first",
    )  # fmt: skip
    one = np.ones((), np.float32)
    affine = None if bias is None else Affine(one, one, bias)
    steps = list(sgemm(w.contraction(a, real), affine, cpu))
    yield from steps
    value = steps[-1].value
    yield Step("output", steps[-1].name, value, tensor=tensor)
    return value


def _in_float32(cpu: str, a: Array, w: BlockedWeights, bias: Array | None, tensor: str) -> Steps:
    """4 bits with accuracy level 0 to 3: one row in lanes, more rows as one chain over all of K."""
    real = _real(w)
    yield whole_step("B_real", "f32(f32(B - zero_points) · scales)", real, a.ndim)
    contraction = w.contraction(a, real)
    if contraction.lhs.shape[0] != 1:
        value = yield from sgemm(contraction, None, cpu, Order("chain", w.k, True))
    else:
        row, width = contraction.lhs[0], WIDTH[cpu]
        tail = in_pairs if cpu == "avx2" else in_halves
        whole = _in_fours(real.shape[0])
        padded = [np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, -w.k % width)]) for v in (row, real)]
        lanes = np.zeros((width, real.shape[0]), np.float32)
        for k in range(0, w.k, width):
            x, b = (v[..., k : k + width] for v in padded)
            lanes = fma(x[:, None], b.T, lanes)
        value = contraction.arrange(_folded(lanes, whole, tail))

        def taps(index: Index) -> Taps:
            column = index[-1]
            fold = in_quarters if whole[column] else tail
            b, sums, running = real[column], np.zeros(width, np.float32), []
            for k in range(w.k):
                sums[k % width] = fma(row[k], b[k], sums[k % width])
                running.append(fold(sums))
            products = row.astype(np.float64) * b.astype(np.float64)
            zero = np.zeros(w.k, np.int64)
            c = contraction
            return Taps(c.axes, c.positions, row, b, zero, zero, products, np.array(running), zero)

        note = f"added in float32 as {width} sums, of every {width}th product each"
        yield Step("accumulator", "Σ A · B", value, note=note, taps=taps)
    formula = "accumulator"
    if bias is not None:
        value, formula = f32(value + bias), "f32(accumulator + bias)"
    yield Step("output", formula, value, tensor=tensor)
    return value


@dataclasses.dataclass(frozen=True)
class _Blocks:
    """A and B in int8 and in blocks: codes (rows, blocks, block_size), scales (rows, blocks)."""

    a: Array
    a_scale: Array
    b: Array
    b_scale: Array


def _in_int8(cpu: str, a: Array, w: BlockedWeights, bias: Array | None, tensor: str) -> Steps:
    """Accuracy level 4: each block of A is quantized to int8; sums of the integers, then of the blocks in float32."""
    *lead, k = a.shape
    shape = (*lead, w.codes.shape[0])
    w = w.split(LARGEST_BLOCK)
    codes, scale = _quantized(a.reshape(-1, k), w)
    yield whole_step("A_scale", "f32(max |A| / 127), for each block", scale, a.ndim)
    formula = "rint(f32(A · f32(127 / max |A|))), for each block"
    yield whole_step("A_codes", formula, codes, a.ndim, "accuracy level 4: A is quantized too")
    zero_point, note = w.zero_point, ""
    # Its kernels for one row subtract zero points from the codes.
    centered = cpu == "avx2" and w.bits == 4 and len(codes) == 1 and w.block_size >= 32
    if w.explicit and "zero_points" not in w.constant and not centered:
        zero_point, note = np.full_like(zero_point, 1 << (w.bits - 1)), SILENT.format(1 << (w.bits - 1))  # fmt: skip
    b = w.codes.reshape(*w.scale.shape, w.block_size)
    if centered:
        b = b - zero_point[:, :, None]
    blocks = _Blocks(codes, scale, b, f32(w.scale))
    plan = list(
        schedule(w.scale.shape[1], w.block_size, w.bits, cpu, one_by_one=centered and w.explicit)
    )
    whole = np.broadcast_to(_in_fours(shape[-1]), (len(codes), shape[-1]))
    if cpu == "vnni" and w.block_size >= (64 if w.bits == 4 else 128):
        # Rows in pairs are folded in halves too.
        whole = whole & (np.arange(len(codes)) >= len(codes) // 2 * 2)[:, None]
    fold = _Fold(whole, w.block_size < 64 and cpu == "vnni")
    value = fold(_last(_sums(blocks, plan)))
    product = "A_codes · (B - zero_points)" if centered else "A_codes · B"
    yield Step(
        "accumulator",
        f"Σ over blocks f32(A_scale · scales) · Σ {product}",
        value.reshape(shape),
        note=f"added in {WIDTH[cpu]} lanes by fused multiply-adds",
        taps=lambda index: _taps(blocks, plan, fold, index, shape),
    )
    name = "accumulator"
    if bias is not None:
        value = f32(value + bias)
        yield Step("with_bias", "f32(accumulator + bias)", value.reshape(shape))
        name = "with_bias"
    if not centered:
        sums = f32(scale * f32(codes.sum(-1)))
        offsets = f32(-f32(f32(w.scale) * f32(zero_point)))
        part = np.zeros(value.shape, np.float32)
        for block in range(sums.shape[1]):
            part = fma(sums[:, None, block], offsets[None, :, block], part)
        formula = "Σ over blocks f32(A_scale · Σ A_codes) · f32(-scales · zero_points)"
        yield Step("zero_point_part", formula, part.reshape(shape), note=note)
        value, name = f32(value + part), f"f32({name} + zero_point_part)"
    value = value.reshape(shape)
    yield Step("output", name, value, tensor=tensor)
    return value


def _quantized(a: Array, w: BlockedWeights) -> tuple[Array, Array]:
    """float32 (M, K) → int64 codes (M, blocks, block_size) and float32 scales (M, blocks).

    Raises TraceError for NaN, infinities and blocks of which 127 / max |A| overflows.
    """
    padded = np.pad(a, ((0, 0), (0, w.codes.shape[1] - w.k)))
    blocks = padded.reshape(len(a), -1, w.block_size)
    largest = np.abs(blocks).max(-1)
    inverse = f32(np.where(largest == 0, 0, f32(np.float32(127) / largest)))
    if not (np.isfinite(largest) & np.isfinite(inverse)).all():
        raise TraceError(
            "at accuracy level 4 a block of A with NaN, an infinity or nothing above 3.7e-37 is not modelled"
        )
    codes = np.rint(f32(blocks * inverse[..., None])).astype(np.int64)
    return codes, f32(largest / np.float32(127))


def _in_fours(columns: int) -> Array:
    """True for the columns that the kernels take four at once; the others are folded in another order."""
    return np.arange(columns) < columns // 4 * 4


def _folded(lanes: Array, whole: Array, tail: Callable[[Array], Array]) -> Array:
    return np.asarray(np.where(whole, in_quarters(lanes), tail(lanes)))


@dataclasses.dataclass(frozen=True)
class _Fold:
    """Lanes (lanes, M, N) → sums (M, N). ``narrow``: sixteen lanes become eight first."""

    whole: Array
    narrow: bool

    def __call__(self, lanes: Array) -> Array:
        if self.narrow and len(lanes) == 16:
            lanes = halved(lanes)
        return _folded(lanes, self.whole, in_halves)


def _sums(
    blocks: _Blocks, plan: list[tuple[tuple[int, tuple[int, ...]], ...]]
) -> Iterator[tuple[int, Array]]:
    """After each step of the plan: the last block that is in, and the lanes (lanes, M, N)."""
    shape = (len(blocks.a), len(blocks.b))
    lanes = np.zeros((len(plan[0]), *shape), np.float32)
    for step in plan:
        if len(step) < len(lanes):
            lanes = halved(lanes)
        at, within = [block for block, _ in step], np.array([places for _, places in step])
        # float64 holds each integer, and multiplies matrices faster.
        a, b = (
            v[:, np.array(at)[:, None], within].swapaxes(0, 1).astype(np.float64)
            for v in (blocks.a, blocks.b)
        )
        dots = f32(np.matmul(a, b.swapaxes(1, 2)))
        scale = f32(blocks.a_scale.T[at][:, :, None] * blocks.b_scale.T[at][:, None, :])
        lanes = fma(dots, scale, lanes)
        yield max(at), lanes


def _last(sums: Iterator[tuple[int, Array]]) -> Array:
    *_, (_, lanes) = sums
    return lanes


def _taps(
    blocks: _Blocks,
    plan: list[tuple[tuple[int, tuple[int, ...]], ...]],
    fold: _Fold,
    index: Index,
    shape: Index,
) -> Taps:
    """One tap for each block: its scale, and its integer sum."""
    n = index[-1]
    m = int(np.ravel_multi_index(index[:-1], shape[:-1])) if len(shape) > 1 else 0
    one = _Blocks(
        blocks.a[m : m + 1], blocks.a_scale[m : m + 1], blocks.b[n : n + 1], blocks.b_scale[n : n + 1]
    )  # fmt: skip
    element = dataclasses.replace(fold, whole=fold.whole[m : m + 1, n : n + 1])
    count = one.b.shape[1]
    running = np.zeros(count, np.float32)
    for block, lanes in _sums(one, plan):
        running[block:] = element(lanes)[0, 0]
    scale = f32(one.a_scale[0] * one.b_scale[0])
    dots = f32((one.a[0] * one.b[0]).sum(-1))
    zero = np.zeros(count, np.int64)
    products = scale.astype(np.float64) * dots.astype(np.float64)
    positions = tuple((i,) for i in range(count))
    return Taps(("block",), positions, scale, dots, zero, zero, products, running, zero)
