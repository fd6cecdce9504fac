"""Schemes: one arithmetic each, one file each, discovered. A scheme's primitives are generators of steps."""

import dataclasses
import functools
import math
import sys
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from qlab.arithmetic import LARGEST, LARGEST_EXACT, refuse_large
from qlab.errors import TraceError
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.registry import discover
from qlab.trace import Index

MOST_PRODUCTS = 1_000_000_000  # of codes: about 2 s
MOST_EXACT_PRODUCTS = 20_000_000  # of rational numbers: about 2 s


@dataclasses.dataclass(frozen=True)
class Quantized:
    """A quantized operand: codes with a scale and a zero point that broadcast to them.

    Attributes:
        name: the schema's prefix: ``A`` for A, A_scale, A_zero_point.
        codes: int64; of a float8 type the stored numbers, whose zero_point is 0.
        zero_point: int64. scale: as stored (float16, bfloat16 or float32).
    """

    name: str
    codes: Array
    scale: Array
    zero_point: Array

    @property
    def scale_name(self) -> str:
        """``A_scale``."""
        return f"{self.name}_scale" if self.name else "scale"

    @property
    def zero_point_name(self) -> str:
        """``A_zero_point``."""
        return f"{self.name}_zero_point" if self.name else "zero_point"


@dataclasses.dataclass(frozen=True)
class Target:
    """What a result is quantized to: scale and zero point (int64) that broadcast to it, the codes' dtype.

    ``axis`` and ``block_size`` are the attributes that spread the scale. A float8 ``dtype`` is a format with a rounding of its own; ``saturate`` says what it does beyond its largest number.

    ``tensor`` is the graph's name of the result. ``precision`` is the type in which QuantizeLinear divides (from
    opset 23 on); "" where the operator has no say in it.
    """

    name: str
    scale: Array
    zero_point: Array
    dtype: str
    tensor: str
    precision: str = ""
    saturate: bool = True
    axis: int = 0
    block_size: int = 0

    @property
    def scale_name(self) -> str:
        """``y_scale``."""
        return f"{self.name}_scale"

    @property
    def zero_point_name(self) -> str:
        """``y_zero_point``."""
        return f"{self.name}_zero_point"


@dataclasses.dataclass(frozen=True)
class Product:
    """A product of reals as ONNX Runtime calls its matrix product A · B for it.

    Attributes:
        rows, columns: of A and of B; matrices that share B are rows of one A.
        a_transposed, b_transposed: how the operands are stored.
        packed: B is an initializer, so that it was packed when the session was made.
    """

    rows: int
    columns: int
    a_transposed: bool = False
    b_transposed: bool = False
    packed: bool = False


@dataclasses.dataclass(frozen=True)
class Affine:
    """What Gemm makes of a sum of products: alpha · sum + beta · addend.

    Attributes:
        alpha, beta: float32, shape (). addend: reals that broadcast to the tensor; None where there is none.
    """

    alpha: Array
    beta: Array
    addend: Array | None


@dataclasses.dataclass(frozen=True)
class Contraction:
    """Sums of products: lhs (…, rows, K) · rhs (…, K, columns), arranged into a tensor.

    Attributes:
        lhs, rhs: raw codes (int64), or reals of the scheme.
        lhs_zero_point: int64, broadcasts to (…, rows, 1); rhs_zero_point to (…, 1, columns).
        arrange: (…, rows, columns) → the tensor's shape; moves entries, changes none.
        axes, positions: names of a tap's coordinates, and those of each of the K taps.
        names: of the two operands, for formulas.
        pairs: True where ONNX Runtime multiplies unsigned by signed bytes here, so that AVX2 saturates pairs.
        constant_rhs: the signed operand is an initializer (``session.x64quantprecision`` rewrites only those).
        product: of reals: how ONNX Runtime calls its matrix product; None for codes.
    """

    lhs: Array
    rhs: Array
    lhs_zero_point: Array
    rhs_zero_point: Array
    arrange: Callable[[Array], Array]
    axes: tuple[str, ...]
    positions: tuple[Index, ...]
    names: tuple[str, str]
    pairs: bool = False
    constant_rhs: bool = False
    product: Product | None = None

    def __post_init__(self) -> None:
        """Raises TraceError where there is more to multiply than is traced."""
        shape, k = self.result_shape, self.lhs.shape[-1]
        exact = object in (self.lhs.dtype, self.rhs.dtype)
        refuse_large(shape, LARGEST_EXACT if exact else LARGEST)
        limit = MOST_EXACT_PRODUCTS if exact else MOST_PRODUCTS
        if math.prod(shape) * k > limit:
            raise TraceError(
                f"{math.prod(shape) * k:,} products are to be added; at most {limit:,} are traced"
            )

    @property
    def result_shape(self) -> Index:
        """(…, rows, columns)."""
        batch = np.broadcast_shapes(self.lhs.shape[:-2], self.rhs.shape[:-2])
        return (*batch, self.lhs.shape[-2], self.rhs.shape[-1])

    def locate(self, index: Index) -> Index:
        """The entry of the result that becomes the tensor's element ``index``."""
        shape = self.result_shape
        flat = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
        return tuple(int(i) for i in np.unravel_index(int(self.arrange(flat)[index]), shape))

    def operands(self, index: Index) -> tuple[Array, Array, Array, Array]:
        """lhs, rhs, and both zero points of the K taps of one element of the tensor; each of length K."""
        *batch, row, column = self.locate(index)
        shape = self.result_shape[:-2]
        k, rows, columns = self.lhs.shape[-1], self.lhs.shape[-2], self.rhs.shape[-1]

        def at(value: Array, tail: Index, entry: tuple[int | slice, ...]) -> Array:
            return np.asarray(np.broadcast_to(value, (*shape, *tail))[(*batch, *entry)])

        return (
            at(self.lhs, (rows, k), (row, slice(None))),
            at(self.rhs, (k, columns), (slice(None), column)),
            np.broadcast_to(at(self.lhs_zero_point, (rows, 1), (row, slice(None))), (k,)),
            np.broadcast_to(at(self.rhs_zero_point, (1, columns), (slice(None), column)), (k,)),
        )


@runtime_checkable
class Scheme(Protocol):
    """The primitives that operators are made of.

    Each yields its steps and returns the last value. A primitive that is given a `Target` finishes its tensor.
    """

    @property
    def name(self) -> str:
        """``exact``, ``float64``, ``float32``, ``ort_cpu``."""

    @property
    def cpu(self) -> str:
        """The CPU class of ort_cpu; "" where it does not matter."""

    @property
    def source(self) -> str:
        """A specification version, or repository paths with the release."""

    def real(self, values: Array) -> Array:
        """A stored array as the scheme's real numbers."""

    def quantize(self, x: Array, target: Target) -> Steps:
        """Real x → codes."""

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """Codes → real numbers of ``dtype``."""

    def dynamic_quantize(self, x: Array, tensors: tuple[str, str, str]) -> Steps:
        """Real x → uint8 codes, scale and zero point chosen from x's range."""

    def accumulate(self, contraction: Contraction) -> Steps:
        """Codes → int64 sums of products of the codes minus their zero points."""

    def requantize(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], target: Target
    ) -> Steps:
        """Integer sums times the scales, over the target's scale, → codes."""

    def rescale(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], tensor: str
    ) -> Steps:
        """Integer sums times the scales → reals; finishes ``tensor`` where it is not empty."""

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """QLinearAdd."""

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """QLinearMul."""

    def contract(self, contraction: Contraction, affine: Affine | None = None) -> Steps:
        """Sums of products of reals; with ``affine`` alpha · sum + beta · addend."""


@functools.cache
def schemes() -> dict[str, Scheme]:
    """Name → scheme, with default parameters."""
    found: list[Scheme] = discover(sys.modules[__name__], Scheme)
    order = ("exact", "float64", "float32")
    found.sort(key=lambda s: (order.index(s.name) if s.name in order else len(order), s.name))
    return {scheme.name: scheme for scheme in found}


def scheme(name: str) -> Scheme:
    """A scheme by name. Raises TraceError for an unknown one."""
    if name not in schemes():
        raise TraceError(f"unknown scheme {name!r}; there are {', '.join(schemes())}")
    return schemes()[name]
