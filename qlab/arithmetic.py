"""Number systems: exact rationals, float64 and float32, and the roundings between them.

Real arrays of the exact system have dtype object: `Fraction`, or a Python float where a value is NaN or
infinite (x / 0 is what IEEE 754 says); of many elements they are `qlab.reals.Reals`, which stand for the same.
The real line has one zero: -0.0 is read as 0.
"""

import contextlib
import dataclasses
import math
import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from fractions import Fraction
from typing import Any, cast

import numpy as np

from qlab.errors import TraceError
from qlab.qtypes import DTYPES, Array, dtype_name, is_integer
from qlab.reals import MOST_FACTORS, Reals, contracted, of_fractions, of_numbers

# Beyond these a trace would take minutes or gigabytes, and nobody could stop it.
LARGEST = 20_000_000  # elements of a result
LARGEST_EXACT = 400_000  # of one in rational arithmetic: about 1 s an operation
MOST_PRODUCTS = 1_000_000_000  # of codes: about 2 s
MOST_EXACT_PRODUCTS = 20_000_000  # of rational numbers: about 2 s
LONGEST_EXACT = 65_536  # bits of a numerator or denominator; squaring doubles them
FEW = 16  # integers that are fractions one by one; more are `Reals`

_FORMATS = {  # precision in bits, smallest normal exponent, largest finite number
    "float64": (53, -1022, (2**53 - 1) * Fraction(2) ** (1023 - 52)),
    "float32": (24, -126, (2**24 - 1) * Fraction(2) ** (127 - 23)),
    "float16": (11, -14, Fraction(65504)),
    "bfloat16": (8, -126, (2**8 - 1) * Fraction(2) ** (127 - 7)),
    "float8_e4m3fn": (4, -6, Fraction(448)),
    "float8_e4m3fnuz": (4, -7, Fraction(240)),
    "float8_e5m2": (3, -14, Fraction(57344)),
    "float8_e5m2fnuz": (3, -15, Fraction(57344)),
}


def refuse_large(shape: tuple[int, ...], limit: int = LARGEST) -> None:
    """Raises TraceError where a result of this shape has more elements than are traced."""
    if math.prod(shape) > limit:
        kind = "exact result" if limit == LARGEST_EXACT else "result"
        raise TraceError(
            f"the {kind} of the shape {list(shape)} has {math.prod(shape):,} elements; at most {limit:,} are traced"
        )


def refuse_products(products: int, limit: int = MOST_PRODUCTS) -> None:
    """Raises TraceError where there is more to multiply than is traced."""
    if products > limit:
        raise TraceError(f"{products:,} products are to be added; at most {limit:,} are traced")


def refuse_long(values: Array) -> None:
    """Raises TraceError where a rational number has grown too long to compute with."""
    if isinstance(values, Reals):
        longest = values.longest
    else:
        longest = max(
            (
                max(v.numerator.bit_length(), v.denominator.bit_length())
                for v in values.reshape(-1)
                if isinstance(v, Fraction)
            ),
            default=0,
        )
    if longest > LONGEST_EXACT:
        raise TraceError(
            f"exact arithmetic needs numbers of {longest:,} bits here; at most {LONGEST_EXACT:,} are traced"
        )


def elementwise(function: Callable[..., Any], *arrays: Array) -> Array:
    """Apply a Python function to each element; always an object array, 0-d included."""
    refuse_large(np.broadcast_shapes(*(a.shape for a in arrays)), LARGEST_EXACT)
    results = _shared.get()
    key = (function, *map(_identity, arrays)) if results is not None else ()
    if results is not None and key in results:
        return results[key][0]
    with np.errstate(all="ignore"):  # floats in an object array warn of inf / inf
        result = np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object)
    if results is not None:
        result.setflags(write=False)
        results[key] = result, arrays  # held, so that an id is nobody else's
    return result


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """Within it an operation on the same operands is computed once: many schemes take the same exact steps."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


_shared: ContextVar[dict[tuple[object, ...], tuple[Array, tuple[Array, ...]]] | None] = ContextVar(
    "shared", default=None
)


def _identity(values: Array) -> object:
    return id(values) if values.dtype == object else (values.dtype, values.shape, values.tobytes())


def _apply(operation: Callable[..., Any], a: Array, b: Array) -> Array:
    if isinstance(a, Reals) or isinstance(b, Reals):
        refuse_large(np.broadcast_shapes(a.shape, b.shape))
        found = _of_many(operation, a, b)
        if found is not None:
            return cast("Array", found)
    if object in (a.dtype, b.dtype):
        return elementwise(operation, a, b)
    refuse_large(np.broadcast_shapes(a.shape, b.shape))
    return np.asarray(operation(a, b))


def _of_many(operation: Callable[..., Any], a: Any, b: Any) -> Reals | None:
    """An operation of which at least one operand is `Reals`; None where it has to be done on fractions."""
    if object not in (a.dtype, b.dtype) or a.dtype != b.dtype:
        return None
    if operation is operator.mul:
        one, other = (a, b) if isinstance(a, Reals) else (b, a)
        return one.times(other) if isinstance(other, Reals) else one.scaled(other)
    one, other = (v if isinstance(v, Reals) else of_fractions(v) for v in (a, b))
    if operation is operator.sub and other is not None:
        other = other.scaled(np.asarray(Fraction(-1), dtype=object))
    return None if one is None or other is None else one.plus(other)


def mul(a: Array, b: Array) -> Array:
    """a · b, an array also where both are 0-d (numpy gives a bare number there)."""
    return _apply(operator.mul, a, b)


def add(a: Array, b: Array) -> Array:
    """a + b, an array also where both are 0-d."""
    return _apply(operator.add, a, b)


def sub(a: Array, b: Array) -> Array:
    """a - b, an array also where both are 0-d."""
    return _apply(operator.sub, a, b)


def _fraction(value: Any) -> Fraction | float:
    if isinstance(value, Fraction):
        return value
    number = float(value) if not isinstance(value, (int, np.integer)) else int(value)
    return Fraction(number) if math.isfinite(number) else float(number)


def _divide_exact(a: Fraction | float, b: Fraction | float) -> Fraction | float:
    if isinstance(a, Fraction) and isinstance(b, Fraction) and b.numerator:
        return a / b
    if b == 0:
        return math.nan if a == 0 or a != a else math.inf if a > 0 else -math.inf
    if isinstance(a, Fraction) and b in (math.inf, -math.inf):
        return Fraction(0)
    return a / b


def _round_exact(a: Fraction | float) -> Any:
    return round(a) if isinstance(a, (Fraction, int)) else a


def round_to(value: Fraction | float, dtype: Any) -> Any:
    """One real number rounded once, half to even, to any float type.

    Overflow gives infinity, as IEEE 754 has it, and NaN in a float8 type without infinities; NaN stays.
    """
    target = np.dtype(dtype)
    if value == 0 or not isinstance(value := _fraction(value), Fraction):
        return target.type(float(value))  # -0.0 keeps its sign
    precision, smallest, largest = _FORMATS[dtype_name(target)]
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, smallest) - precision + 1)
    rounded = round(value / quantum) * quantum
    if abs(rounded) > largest:
        return target.type(math.inf if value > 0 else -math.inf)
    return target.type(float(rounded))


def to_float(values: Array, dtype: Any) -> Array:
    """Real numbers of any system as an array of a float dtype, each rounded once."""
    if isinstance(values, Reals) and (found := values.to_float64()) is not None:
        values = found
    twice = values.dtype == np.float64 and dtype_name(dtype).startswith(("bfloat16", "float8"))
    if twice:
        values = _to_odd_float32(values)
    if values.dtype != object:
        # One rounding each; ml_dtypes goes from float64 to its own types through float32, which would be a second.
        with np.errstate(all="ignore"):
            return values.astype(dtype)
    result = np.empty(values.shape, np.dtype(dtype))
    flat = result.reshape(-1)
    for position, value in enumerate(values.reshape(-1)):
        flat[position] = round_to(value, dtype)
    return result


def _to_odd_float32(values: Array) -> Array:
    """float64 as float32, rounded to odd: rounding that to a type of at most 22 bits is rounding once."""
    with np.errstate(all="ignore"):
        near = values.astype(np.float32)
        wide = near.astype(np.float64)
        even = (np.ascontiguousarray(near).view(np.int32) & 1).reshape(near.shape) == 0
        inexact = np.isfinite(values) & (wide != values) & even
        towards = np.where(values > wide, np.float32(np.inf), np.float32(-np.inf))
        return np.asarray(np.where(inexact, np.nextafter(near, towards), near))


def to_float8(values: Array, dtype: str, *, saturate: bool) -> Array:
    """Real numbers of any system as float8, each rounded once, half to even.

    Args:
        saturate: what is beyond the largest number, infinities included, becomes that number; else infinity, or NaN
            where the type has none. NaN stays NaN.
    """
    if saturate:
        largest = _FORMATS[dtype][2]
        if values.dtype == object:
            values = elementwise(lambda v: v if v != v else min(max(v, -largest), largest), values)
        else:
            values = np.asarray(np.clip(values, -float(largest), float(largest)))
    return to_float(values, DTYPES[dtype])


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """One number system.

    Attributes:
        name: ``exact``, ``float64`` or ``float32``.
        real: a stored array (codes or floats) as numbers of this system, without loss where it can be.
        divide, rint: elementwise; a division by zero gives an infinity or NaN; rint rounds half to even.
    """

    name: str
    real: Callable[[Array], Array]
    divide: Callable[[Array, Array], Array]
    rint: Callable[[Array], Array]


def _real_exact(values: Array) -> Array:
    if values.dtype == object:
        return values
    if values.size > (FEW if is_integer(values.dtype) else MOST_FACTORS):
        found = of_numbers(values)
        if found is not None:
            return cast("Array", found)
    return elementwise(_fraction, values)


def _quotient_exact(a: Array, b: Array) -> Array:
    if isinstance(a, Reals) and not isinstance(b, Reals) and b.dtype == object:
        inverse = np.asarray(np.frompyfunc(_inverse, 1, 1)(b), dtype=object)
        found = a.scaled(inverse)
        if found is not None:
            return cast("Array", found)
    return elementwise(_divide_exact, a, b)


def _inverse(value: Any) -> Any:
    """1 / value, or NaN where that is no rational number."""
    return 1 / value if isinstance(value, Fraction) and value else math.nan


def _nearest_exact(values: Array) -> Array:
    if isinstance(values, Reals):
        found = values.rounded("half_to_even", lambda v: elementwise(_round_exact, v))
        if found is not None:
            return cast("Array", found)
    return elementwise(_round_exact, values)


def _float_arithmetic(dtype: type[np.floating[Any]]) -> Arithmetic:
    def real(values: Array) -> Array:
        return to_float(values, dtype) if values.dtype == object else values.astype(dtype)

    def divide(a: Array, b: Array) -> Array:
        return np.asarray(np.divide(a, b, dtype=dtype))

    def rint(a: Array) -> Array:
        return np.asarray(np.rint(a, dtype=dtype))

    return Arithmetic(np.dtype(dtype).name, real, divide, rint)


EXACT = Arithmetic(
    "exact",
    _real_exact,
    _quotient_exact,
    _nearest_exact,
)
FLOAT64 = _float_arithmetic(np.float64)
FLOAT32 = _float_arithmetic(np.float32)


def to_integers(rounded: Array) -> Array:
    """Rounded reals as Python integers in an object array, or int64 where they fit.

    NaN has no integer, and the specification names none: it is passed through as the smallest int64, so that
    saturation gives the lowest code, as ONNX Runtime's kernels do. Infinities go to the ends of int64.
    """
    low, high = _WIDEST
    if rounded.dtype == object:
        return elementwise(_within, rounded).astype(np.int64)
    if is_integer(rounded.dtype):
        return np.asarray(np.clip(rounded.astype(np.int64), low, high))
    with np.errstate(invalid="ignore"):
        clipped = np.where(np.isnan(rounded), low, np.clip(rounded.astype(np.float64), low, high))
    return np.asarray(clipped).astype(np.int64)


_WIDEST = -(2**62), 2**62  # far outside every code type; adding a zero point cannot overflow


def _within(value: Any) -> Any:
    low, high = _WIDEST
    return low if value != value else min(max(value, low), high)


def fma(a: Array, b: Array, c: Array) -> Array:
    """Fused multiply-add: a·b + c in float32, rounded once.

    The product of two float32 is exact in float64. Its sum with c is rounded to odd in float64, after which the
    rounding to float32 is the correct one (53 bits are at least 2·24 + 2).
    Source: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Trans. Computers 57(4), 2008.
    """
    with np.errstate(all="ignore"):
        product = a.astype(np.float32).astype(np.float64) * b.astype(np.float32).astype(np.float64)
        addend = np.broadcast_to(
            c.astype(np.float32).astype(np.float64), np.broadcast_shapes(product.shape, c.shape)
        )
        total = product + addend
        # TwoSum: the error of the addition, exactly.
        part = total - product
        error = (product - (total - part)) + (addend - part)
        even = (np.ascontiguousarray(total).view(np.int64) & 1) == 0
        inexact = np.isfinite(total) & (error != 0) & even.reshape(total.shape)
        odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
        return np.asarray(np.where(inexact, odd, total)).astype(np.float32)


def moved(values: Array, function: Callable[[Array], Array]) -> Array:
    """What a function that only moves entries, or puts 0 between them, makes of reals of any system."""
    return cast("Array", values.moved(function)) if isinstance(values, Reals) else function(values)


def contract_exact(lhs: Array, rhs: Array) -> Array:
    """lhs (…, M, K) · rhs (…, K, N) over object arrays of the exact system.

    Finite operands are scaled to integers by the least common denominator first: integer products are many times
    faster than those of fractions, and as exact.
    """
    if lhs.size == 0 or rhs.size == 0:
        batch = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
        zeros = np.zeros((*batch, lhs.shape[-2], rhs.shape[-1]), np.int64)
        return elementwise(_fraction, zeros)
    if isinstance(lhs, Reals) and isinstance(rhs, Reals):
        found = contracted(lhs, rhs)
        if found is not None:
            return cast("Array", found)
        lhs, rhs = lhs.fractions, rhs.fractions
    refuse_products(lhs.size * rhs.shape[-1], MOST_EXACT_PRODUCTS)
    if not all(isinstance(v, Fraction) for array in (lhs, rhs) for v in array.reshape(-1)):
        with np.errstate(all="ignore"):
            return elementwise(_fraction, np.asarray(np.matmul(lhs, rhs), dtype=object))
    scaled, denominators = [], []
    for array in (lhs, rhs):
        common = math.lcm(*{v.denominator for v in array.reshape(-1)})
        scaled.append(elementwise(lambda v, d=common: v.numerator * (d // v.denominator), array))
        denominators.append(common)
    whole = denominators[0] * denominators[1]
    return elementwise(lambda v: Fraction(v, whole), np.asarray(np.matmul(*scaled), dtype=object))
