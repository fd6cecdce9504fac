"""Exact reals of many elements: sums of integers times rational factors, that become fractions where they are looked at.

A result of many elements has few scales. So its exact values are Σ numbers · factor, with one array of numbers that a
float64 holds without error for each term, and a rational factor for all, or for each channel. Rounding them needs no
fraction for each element: where the numerators over the common denominator fit int64, integers do; else a float64 does,
with a proven bound of its error, and only the elements within that bound of a tie are computed as fractions.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from qlab.integers import matmul
from qlab.qtypes import Array

MOST_FACTORS = 4096  # entries of a factor, which is an array of fractions
MOST_TERMS = 6
_LARGEST = 2**62  # of integers that are added here
_PRECISE = 2**53  # a float64 holds every integer up to here
_FACTORS = Fraction(1, 2**800), Fraction(2**800)  # far from float64's smallest and largest numbers
_ROUGH = 2.0**-20  # an error for all up to here leaves few elements in doubt
_NUMBERS = 2.0**-150, 2.0**130  # float32's, and all integers that are met here


class Reals:
    """An array of exact reals, none of them NaN or infinite.

    It stands where an object array of fractions would, and becomes one, once, where anything but `scaled`, `plus`,
    `times`, `rounded` or `at` is asked of it.

    Attributes:
        terms: numbers (int64 or float64, each exact) and factors (objects: Fraction), whose shapes broadcast.
    """

    dtype = np.dtype(object)

    def __init__(self, terms: tuple[tuple[Array, Array], ...]) -> None:
        self.terms = terms
        self.shape = np.broadcast_shapes(*(a.shape for term in terms for a in term))
        self.ndim = len(self.shape)
        self.size = math.prod(self.shape)

    @functools.cached_property
    def fractions(self) -> Array:
        """The same as an object array of fractions."""
        return self._fractions_at(...)

    def _fractions_at(self, where: Any) -> Array:
        """The chosen elements as fractions: an index, a mask of this shape, or an ellipsis."""
        total: Any = 0
        for numbers, factor in self.terms:
            spread = (np.broadcast_to(a, self.shape)[where] for a in (numbers, factor))
            # An element alone is one of numpy's own integers, which overflow; astype makes it Python's.
            number, by = (np.asarray(a).astype(object) for a in spread)
            total = total + _TO_FRACTION(number) * by
        return np.asarray(total, dtype=object)

    def at(self, index: tuple[int, ...], shape: tuple[int, ...]) -> Fraction:
        """One element of this, broadcast to ``shape``."""
        own = index[len(shape) - self.ndim :]
        place = tuple(0 if n == 1 else i for i, n in zip(own, self.shape, strict=True))
        found: Any = self._fractions_at(place)[()]
        return Fraction(found)

    def scaled(self, factor: Array) -> "Reals | None":
        """Times factors (objects); None where that has no such form."""
        if factor.size > MOST_FACTORS or not all(_is_fraction(f) for f in factor.reshape(-1)):
            return None
        return Reals(tuple((numbers, _objects(own * factor)) for numbers, own in self.terms))

    def plus(self, other: "Reals") -> "Reals | None":
        """The sum; None where it would have too many terms."""
        terms = self.terms + other.terms
        return Reals(terms) if len(terms) <= MOST_TERMS else None

    def times(self, other: "Reals") -> "Reals | None":
        """The product; None where it would have too many terms, or numbers that int64 does not surely hold."""
        terms = []
        for a, f in self.terms:
            for b, g in other.terms:
                whole = a.dtype == b.dtype == np.int64
                if not whole or _largest(a) * _largest(b) >= _LARGEST:
                    return None
                terms.append((a * b, _objects(f * g)))
        return Reals(tuple(terms)) if len(terms) <= MOST_TERMS else None

    def moved(self, function: Callable[[Array], Array]) -> "Reals":
        """What a function that moves entries, repeats some or puts 0 between them makes of this."""
        return Reals(
            tuple(
                (
                    function(np.broadcast_to(numbers, self.shape)),
                    _moved_factor(factor, self.shape, function),
                )
                for numbers, factor in self.terms
            )
        )

    @property
    def longest(self) -> int:
        """Bits of the longest numerator or denominator of a factor."""
        factors = [f for _, factor in self.terms for f in factor.reshape(-1)]
        longest = max(max(abs(f.numerator), f.denominator) for f in factors)
        return int(longest).bit_length()

    def rounded(self, rounding: str, exactly: Callable[[Array], Array]) -> Array | None:
        """Each element rounded to an integer, as int64; None where they may not fit, or nothing is proven.

        Args:
            rounding: a key of `qlab.schemes.rounding.ROUNDINGS`.
            exactly: rounds an object array of fractions.
        """
        numerators = self._numerators()
        if numerators is not None:
            return _divided(*numerators, rounding)
        values = self._approximate()
        if values is None or (values.size and not np.abs(values).max() < _LARGEST):
            return None
        error = self._error(values)
        # floor, rint and what they leave have no error of their own in float64.
        if rounding == "half_to_even":
            result = np.rint(values)
            distance = 0.5 - np.abs(values - result)
        else:
            result = np.floor(values)
            rest = values - result
            directed = rounding in ("floor", "toward_zero")
            distance = np.minimum(rest, 1 - rest) if directed else np.abs(rest - 0.5)
            if rounding != "floor":  # away from what decides, half up and half away are one
                result = np.trunc(values) if directed else result + (rest > 0.5)
        doubtful = distance <= error
        result = result.astype(np.int64)
        if doubtful.any():
            result[doubtful] = exactly(self._fractions_at(doubtful)).astype(np.int64)
        return np.asarray(result)

    def to_float64(self) -> Array | None:
        """The values as float64 where each is one exactly; None where that is not sure."""
        if len(self.terms) != 1:
            return None
        (numbers, factor) = self.terms[0]
        if numbers.dtype != np.int64 or not _within(factor):
            return None
        dyadic = all(f.denominator.bit_count() == 1 for f in factor.reshape(-1))
        longest = max(abs(f.numerator) for f in factor.reshape(-1))
        if not dyadic or _largest(numbers) * longest > _PRECISE:
            return None
        return np.asarray(numbers.astype(np.float64) * factor.astype(np.float64))

    def nearly(self) -> Array:
        """The values as float64, off by far less than float32 sees."""
        values = self._approximate()
        return values if values is not None else self.fractions.astype(np.float64)

    def _numerators(self) -> tuple[Array, Array] | None:
        """Numerators over common denominators (one for all, or one a channel), as int64 where they surely fit."""
        if any(numbers.dtype != np.int64 for numbers, _ in self.terms):
            return None
        denominators = functools.reduce(_LCM, (_DENOMINATOR(f) for _, f in self.terms))
        total: Any = np.zeros((), np.int64)
        largest = _most(denominators)
        scaled = []
        for numbers, factor in self.terms:
            by = _objects(factor * denominators)
            largest += 2 * max(_largest(numbers), 1) * _most(by)
            scaled.append((numbers, by))
        if largest >= _LARGEST:
            return None
        for numbers, by in scaled:
            total = total + numbers * np.asarray(_NUMERATOR(by), dtype=np.int64)
        return np.asarray(total), np.asarray(denominators).astype(np.int64)

    def _approximate(self) -> Array | None:
        """The values as float64, `_error` off at most; None where a number is too large or small for the proof."""
        total: Any = np.zeros((), np.float64)
        for numbers, factor in self.terms:
            if not _within(factor) or not _in_range(numbers):
                return None
            total = total + numbers.astype(np.float64) * factor.astype(np.float64)
        return np.asarray(total)

    def _error(self, values: Array) -> Any:
        """A bound of the error of `_approximate`: one for all, or one for each where that is too rough.

        With u = 2^-53: a factor, a number beyond 2^53 and their product are rounded by at most u each, the sum of t
        terms by at most (t - 1)·u of the sum of their magnitudes. (t + 4)·u of that sum covers it, and its own rounding.
        """
        units = (len(self.terms) + 4) * 2.0**-53
        parts = [
            (np.abs(n).astype(np.float64), np.abs(f.astype(np.float64))) for n, f in self.terms
        ]
        largest = sum(float(n.max(initial=0)) * float(f.max(initial=0)) for n, f in parts)
        if largest * units < _ROUGH:
            return largest * units
        return sum(n * f for n, f in parts) * units

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """For numpy: the fractions."""
        return np.array(self.fractions, dtype=dtype or object, copy=copy)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.fractions, name)

    def __getitem__(self, index: Any) -> Any:
        return self.fractions[index]

    def __len__(self) -> int:
        return int(self.shape[0])


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: Reals, *others: Any) -> Any:
        return getattr(self.fractions, name)(*others)

    return method


for _name in ("add", "sub", "mul", "truediv", "radd", "rsub", "rmul", "rtruediv", "neg", "abs"):
    setattr(Reals, f"__{_name}__", _delegated(f"__{_name}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Reals, f"__{_name}__", _delegated(f"__{_name}__"))


def _moved_factor(
    factor: Array, shape: tuple[int, ...], function: Callable[[Array], Array]
) -> Array:
    """The factor of each moved entry, one for all along each axis where it is the same."""
    if factor.size == 1:
        return factor.reshape(())
    places = function(np.broadcast_to(np.arange(factor.size).reshape(factor.shape), shape))
    for axis in range(places.ndim if places.size else 0):
        first = places.take([0], axis)
        if (places == first).all():
            places = first
    return _objects(factor.reshape(-1)[places])


def contracted(lhs: Reals, rhs: Reals) -> Reals | None:
    """The matrix product lhs (…, rows, K) · rhs (…, K, columns); None where it is no integers' times factors."""
    if len(lhs.terms) != 1 or len(rhs.terms) != 1:
        return None
    (a, f), (b, g) = lhs.terms[0], rhs.terms[0]
    f, g = (factor.reshape((1,) * (2 - factor.ndim) + factor.shape) for factor in (f, g))
    integers = a.dtype == b.dtype == np.int64
    if not integers or f.shape[-1] != 1 or g.shape[-2] != 1:
        return None
    if _largest(a) * _largest(b) * max(a.shape[-1], 1) >= _LARGEST:
        return None
    return Reals(((matmul(a, b), _objects(f * g)),))


def of_numbers(values: Array) -> Reals | None:
    """Integers or floats as exact reals; None where one is NaN, infinite or beyond int64."""
    if values.dtype.kind in "iu":
        if values.dtype == np.uint64 and _largest(values) >= _LARGEST:
            return None
        return Reals(((values.astype(np.int64), _ONE),))
    numbers = values.astype(np.float64)
    return Reals(((numbers, _ONE),)) if _in_range(numbers) else None


def of_fractions(values: Array) -> Reals | None:
    """Few fractions as exact reals; None where they are many, or one is NaN or infinite."""
    if values.size > MOST_FACTORS or not all(_is_fraction(v) for v in values.reshape(-1)):
        return None
    return Reals(((np.ones((), np.int64), values),))


def _divided(numerators: Array, denominators: Array, rounding: str) -> Array:
    """Numerators over denominators, rounded, in int64; neither twice a numerator nor a denominator leaves its range."""
    whole = numerators // denominators
    rest = numerators - whole * denominators  # from 0 to the denominator
    if rounding == "floor":
        return np.asarray(whole)
    if rounding == "toward_zero":
        return np.asarray(whole + ((rest > 0) & (whole < 0)))
    twice = 2 * rest - denominators  # 0: a tie
    up = {
        "half_to_even": (whole & 1).astype(bool),
        "half_up": np.True_,
        "half_away": whole >= 0,
    }[rounding]
    return np.asarray(whole + ((twice > 0) | ((twice == 0) & up)))


_ONE = np.asarray(Fraction(1), dtype=object)
_TO_FRACTION = np.frompyfunc(Fraction, 1, 1)
_NUMERATOR = np.frompyfunc(lambda f: int(f.numerator), 1, 1)
_LCM = np.frompyfunc(math.lcm, 2, 1)
_DENOMINATOR = np.frompyfunc(lambda f: f.denominator, 1, 1)


def _objects(values: Any) -> Array:
    return np.asarray(values, dtype=object)


def _is_fraction(value: Any) -> bool:
    return isinstance(value, Fraction)


def _largest(numbers: Array) -> int:
    return max(abs(int(numbers.min())), abs(int(numbers.max()))) if numbers.size else 0


def _most(values: Any) -> int:
    return max((abs(int(v)) for v in np.asarray(values, dtype=object).reshape(-1)), default=0)


def _within(factor: Array) -> bool:
    return all(f == 0 or _FACTORS[0] < abs(f) < _FACTORS[1] for f in factor.reshape(-1))


def _in_range(numbers: Array) -> bool:
    """True where no number is NaN, infinite, or so small or large that a product could leave float64's range."""
    if numbers.dtype == np.int64:
        return True
    magnitudes = np.abs(numbers)
    smallest, largest = _NUMBERS
    return bool(((magnitudes == 0) | ((magnitudes >= smallest) & (magnitudes < largest))).all())
