"""The order in which ONNX Runtime's float32 matrix product (MLAS SGEMM) adds: it decides the last bits of a sum.

Source: onnxruntime 1.32.0, core/mlas/lib/sgemm.cpp, x86_64/SgemmKernelM1Avx.S, SgemmKernelM1TransposeBAvx.S, with
one thread. tests/schemes/test_sgemm.py finds it equal to the installed release, bit for bit.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from qlab.arithmetic import fma
from qlab.errors import TraceError
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Affine, Contraction, Product
from qlab.trace import Index, Step, Taps

PACKED_BLOCK = 256
BLOCK = 128
NOTES = {
    "chain": "added one by one in float32",
    "fours": "added in float32, four products first and then to the sum",
    "lanes": "added in float32 as eight sums, of every eighth product each",
}


@dataclasses.dataclass(frozen=True)
class Order:
    """How a sum over k is made.

    Attributes:
        name: ``chain``: one by one, from zero again after each ``block``, whose sum is then added to the others;
            ``fours``: four products first, then added to the sum; ``lanes``: eight sums, each of every eighth
            product, added up at the end.
        fused: each step of a chain is a fused multiply-add.
    """

    name: str
    block: int
    fused: bool


def order(product: Product, cpu: str, *, plain: bool = True) -> Order:
    """The order that MLAS chooses; ``plain``: alpha is 1, and beta too where there is an addend."""
    if cpu in ("avx2", "vnni") and plain and not product.packed:
        # Kernels of their own for one row or one column, made for AVX, which has no fused multiply-add.
        if product.rows == 1 and not product.a_transposed:
            return Order("lanes" if product.b_transposed else "fours", 4, False)
        if product.columns == 1 and not product.b_transposed:
            return Order("fours" if product.a_transposed else "lanes", 4, False)
    block = BLOCK
    if product.packed:
        block = PACKED_BLOCK
    elif not product.a_transposed:
        # A block of B holds 128 · 128 entries; few columns make it longer.
        width = BLOCK
        while width > 16 and width // 2 >= product.columns:
            width, block = width // 2, block * 2
    return Order("chain", block, cpu != "sse")


def sgemm(c: Contraction, affine: Affine | None, cpu: str, how: Order | None = None) -> Steps:
    """alpha · A · B + beta · C. An addend is there before the first product, so it is no step of its own.

    ``how``: an order other than the one that MLAS chooses for a matrix product.

    Raises TraceError for a contraction of codes.
    """
    if c.product is None:
        raise TraceError("a float32 matrix product of codes has no kernel")
    alpha, beta, addend = np.ones((), np.float32), np.ones((), np.float32), None
    if affine is not None:
        alpha, beta = _f32(affine.alpha), _f32(affine.beta)
        addend = affine.addend if beta != 0 else None
    how = how or order(c.product, cpu, plain=bool(alpha == 1 and (beta == 1 or addend is None)))
    folds = np.zeros((), np.int64)
    if how.name == "lanes":
        folds = lane_folds(max(c.product.rows, c.product.columns), c.result_shape)
    name, formula = "accumulator", f"Σ {c.names[0]} · {c.names[1]}"
    if alpha != 1:
        name, formula = "scaled_by_alpha", f"alpha · {formula}"
    total = np.zeros(c.result_shape, np.float32)
    if addend is not None:
        total = addend = np.broadcast_to(_f32(beta * addend), c.result_shape)
        name, formula = "with_bias", f"{'beta · ' if beta != 1 else ''}C + {formula}"
    for total in partial_sums(c.lhs, c.rhs, how, folds=folds, alpha=alpha, addend=addend):  # noqa: B007
        pass
    value = c.arrange(total)

    def taps(index: Index) -> Taps:
        a, b, _, _ = c.operands(index)
        at = c.locate(index)
        start = None if addend is None else np.asarray(addend[at])
        fold = np.broadcast_to(folds, c.result_shape)[at]
        sums = partial_sums(
            a[None, :], b[:, None], how, folds=np.asarray(fold), alpha=alpha, addend=start
        )
        running = np.array([s[0, 0] for s in sums], np.float32)
        zero = np.zeros(len(a), np.int64)
        # With a fused multiply-add the product itself is never rounded: float64 holds it exactly.
        products = a.astype(np.float64) * b.astype(np.float64) if how.fused else _f32(a * b)
        return Taps(c.axes, c.positions, a, b, zero, zero, products, running, zero)

    yield Step(name, formula, value, note=NOTES[how.name], taps=taps)
    return value


def partial_sums(
    lhs: Array,
    rhs: Array,
    how: Order,
    *,
    folds: Array,
    alpha: Array,
    addend: Array | None,
) -> Iterator[Array]:
    """The sum so far, after each product; the last is the result. All float32.

    Args:
        lhs, rhs: (…, M, K) and (…, K, N).
        folds: of `lane_folds`, for lanes.
        alpha: factor of each block's sum. addend: what is there before the first product.
    """
    count = lhs.shape[-1]
    products = ((lhs[..., :, k, None], rhs[..., k, None, :]) for k in range(count))
    zero = np.zeros((), np.float32)
    if how.name == "lanes":
        lanes = [zero] * 8
        for k, (x, w) in enumerate(products):
            lanes[k % 8] = _add(lanes[k % 8], _f32(x * w))
            yield _add(_fold(lanes, folds), zero if addend is None else addend)
        return
    total, part = addend, zero
    # What is left after the fours is added as two, and as one.
    ends = {count - 2} if how.name == "fours" and count % 4 == 3 else set()
    for k, (x, w) in enumerate(products):
        part = fma(x, w, part) if how.fused else _add(part, _f32(x * w))
        value = _block(part, alpha, total, fused=how.fused)
        yield value
        if (k + 1) % how.block == 0 or k in ends:
            total, part = value, zero


def lane_folds(length: int, shape: Index) -> Array:
    """For each result of lanes, of which ``length`` are in a row, how many are made at once: four, two or one.

    Each adds up its eight lanes in another order. ``shape``: of the result.
    """
    left = length % 4
    folds = np.array([4] * (length - left) + [2] * (left & 2) + [1] * (left & 1))
    return folds.reshape(shape if folds.size == np.prod(shape) else shape[-2:])


def _fold(lanes: list[Array], folds: Array) -> Array:
    halves = (lanes[:4], lanes[4:])
    four = _add(*(_add(_add(_add(a, b), c), d) for a, b, c, d in halves))
    one = _add(*(_add(_add(a, b), _add(c, d)) for a, b, c, d in halves))
    even, odd = (_add(*(_add(half[i], half[i + 2]) for half in halves)) for i in (0, 1))
    return np.asarray(np.where(folds == 4, four, np.where(folds == 2, _add(even, odd), one)))


def _block(part: Array, alpha: Array, total: Array | None, *, fused: bool) -> Array:
    if total is None:
        return _f32(part * alpha)
    return fma(part, alpha, total) if fused else _add(_f32(part * alpha), total)


def _add(a: Array, b: Array) -> Array:
    return _f32(a + b)


def _f32(values: Array) -> Array:
    return np.asarray(values).astype(np.float32)
