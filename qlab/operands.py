"""What operators hand to a scheme's primitives: operands, targets, sums of products, windows, blocked weights."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from qlab.arithmetic import (
    LARGEST,
    LARGEST_EXACT,
    MOST_EXACT_PRODUCTS,
    MOST_PRODUCTS,
    moved,
    refuse_large,
    refuse_products,
)
from qlab.lowering import Window, patches
from qlab.qtypes import Array
from qlab.reals import Reals
from qlab.trace import Index


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

    A float8 ``dtype`` is a format with a rounding of its own; ``saturate`` says what it does beyond its largest number.
    ``tensor`` is the graph's name of the result. ``precision`` is the type in which QuantizeLinear divides (from
    opset 23 on); "" where the operator has no say in it. ``axis`` and ``block_size`` are the attributes that spread
    the scale.
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
        lhs, rhs: raw codes (int64; lhs may be int16), or reals of the scheme.
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
        fractions = any(
            v.dtype == object and not isinstance(v, Reals) for v in (self.lhs, self.rhs)
        )
        refuse_large(shape, LARGEST_EXACT if fractions else LARGEST)
        refuse_products(math.prod(shape) * k, MOST_EXACT_PRODUCTS if fractions else MOST_PRODUCTS)

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
            taken = moved(value, lambda v: np.broadcast_to(v, (*shape, *tail))[(*batch, *entry)])
            return np.asarray(taken)

        lhs = at(self.lhs, (rows, k), (row, slice(None)))
        return (
            lhs.astype(np.int64) if lhs.dtype == np.int16 else lhs,
            at(self.rhs, (k, columns), (slice(None), column)),
            np.broadcast_to(at(self.lhs_zero_point, (rows, 1), (row, slice(None))), (k,)),
            np.broadcast_to(at(self.rhs_zero_point, (1, columns), (slice(None), column)), (k,)),
        )


@dataclasses.dataclass(frozen=True)
class Pool:
    """Windows that slide over a tensor, and what becomes of each.

    Attributes:
        geometry: the windows. shape: of the tensor they slide over, channels first: (N, C, spatial…).
        include_pad: the mean is over the padding too (count_include_pad).
        channels_last: the result is (N, spatial…, C).
        mlas: ONNX Runtime calls MLAS for float32 here: GlobalAveragePool, AveragePool below opset 19 (unless ceil_mode
            meets count_include_pad), and MaxPool without dilations.
    """

    geometry: Window
    shape: Index
    include_pad: bool = False
    channels_last: bool = False
    mlas: bool = False

    @property
    def whole(self) -> bool:
        """True where the one window is the image, without padding."""
        return self.geometry.kernel == self.shape[2:] and not any(
            self.geometry.begins + self.geometry.ends
        )

    def windows(self, x: Array, fill: Array) -> Array:
        """X (N, C, spatial…) → (N, C, positions, taps), taps in row-major order, ``fill`` outside of X."""
        if self.whole:
            return x.reshape(*x.shape[:2], 1, self.geometry.taps)
        one = dataclasses.replace(self.geometry, group=x.shape[1])
        return patches(x, fill, one, channel_major=True)

    @functools.cached_property
    def inside(self) -> Array:
        """(positions, taps): True where a window's element is one of X's."""
        return np.asarray(self._reached(self.shape[2:])[0, 0])

    @functools.cached_property
    def count(self) -> Array:
        """(1, 1, positions), int64: how many elements the schema's mean is over."""
        if not self.include_pad:
            return np.asarray(self.inside.sum(-1).reshape(1, 1, -1))
        geometry = self.geometry
        padded = [
            n + b + e
            for n, b, e in zip(self.shape[2:], geometry.begins, geometry.ends, strict=True)
        ]
        return np.asarray(self._reached(padded, begins=(0,) * len(padded)).sum(-1))

    def _reached(self, spatial: Sequence[int], **changed: Index) -> Array:
        one = dataclasses.replace(self.geometry, group=1, **changed)
        zero = np.zeros((), np.bool_)
        return patches(np.ones((1, 1, *spatial), np.bool_), zero, one, channel_major=True)

    def arrange(self, values: Array) -> Array:
        """(N, C, positions) → the result's shape."""
        first = values.reshape(*values.shape[:2], *self.geometry.output)
        return np.moveaxis(first, 1, -1) if self.channels_last else first


@dataclasses.dataclass(frozen=True)
class BlockedWeights:
    """The weights of MatMulNBits: B of N columns, each cut into blocks along K.

    Attributes:
        codes: int64 (N, blocks · block_size), what is beyond K included.
        scale: as stored; zero_point: int64; both (N, blocks).
        k: rows of B that count. block_size: rows of a block. bits: of a code.
        explicit: zero_points is given; else they are 2^(bits - 1).
        constant: which of ``B``, ``scales`` and ``zero_points`` are initializers.
    """

    codes: Array
    scale: Array
    zero_point: Array
    k: int
    block_size: int
    bits: int
    explicit: bool
    constant: frozenset[str]

    def spread(self, parameter: Array) -> Array:
        """(N, blocks) → one entry for each code."""
        return np.repeat(parameter, self.block_size, axis=1)

    def split(self, most: int) -> "BlockedWeights":
        """The same weights in blocks of at most ``most`` rows; scales and zero points are repeated."""
        times = max(self.block_size // most, 1)
        scale, zero_point = (np.repeat(v, times, axis=1) for v in (self.scale, self.zero_point))
        size = self.block_size // times
        return dataclasses.replace(self, scale=scale, zero_point=zero_point, block_size=size)

    def contraction(self, a: Array, real: Array) -> Contraction:
        """A (…, K) times dequantized weights (N, K): all rows of A are those of one matrix."""
        *lead, k = a.shape
        rows, zero = a.reshape(-1, k), np.zeros((), np.int64)

        def arrange(result: Array) -> Array:
            return result.reshape(*lead, len(real))

        positions = tuple((i,) for i in range(k))
        product = Product(len(rows), len(real), b_transposed=True)
        return Contraction(
            rows, real.T, zero, zero, arrange, ("k",), positions, ("A", "B"), product=product
        )
