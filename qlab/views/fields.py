"""What a person types into a field → the stored value, or one line that says what is wrong.

The one parser for codes, scales and reals: decimal, hexadecimal float (``0x1.068p-7``) or bit pattern
(``0x3c033f3a``), and the steps to the neighbouring values.
"""

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from qlab.arithmetic import round_to
from qlab.errors import CaseError
from qlab.notation import bit_pattern, integer, show
from qlab.qtypes import Array, bounds, dtype_name, is_float, is_integer

_BITS = re.compile(r"0[xX][0-9a-fA-F]+")
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def parse_value(text: str, dtype: Any) -> Any:
    """A numpy scalar of ``dtype`` from what was typed.

    Raises:
        CaseError: not a number of that type; one line with what is allowed.
    """
    typed = text.strip().replace("−", "-").replace("_", "").replace("∞", "inf")
    target = np.dtype(dtype)
    if not typed:
        raise CaseError(f"empty: {_allowed(target)}")
    if is_integer(target):
        return _parse_code(text.strip(), typed, target)
    if dtype_name(target) == "bool":
        if typed.lower() not in ("0", "1", "true", "false"):
            raise CaseError(f"{text.strip()!r} is not a bool: write 0 or 1")
        return np.bool_(typed.lower() in ("1", "true"))
    return _parse_real(text.strip(), typed, target)


def step_value(value: Any, count: int) -> Any:
    """The neighbour ``count`` codes, or units in the last place, further; the type's end stays."""
    dtype = value.dtype
    if is_integer(dtype):
        low, high = bounds(dtype)
        return dtype.type(min(max(int(value) + count, low), high))
    if dtype_name(dtype) == "bool":
        return np.bool_(count > 0)
    if np.isnan(value):
        return value
    towards = dtype.type(np.inf if count > 0 else -np.inf)
    for _ in range(abs(count)):
        if dtype_name(dtype).startswith("bfloat") or dtype_name(dtype).startswith("float8"):
            value = _neighbour(value, up=count > 0)
        else:
            value = np.nextafter(value, towards)
    return value


def _neighbour(value: Any, *, up: bool) -> Any:
    """The next value of a float that numpy's nextafter does not know (bfloat16): its bits plus or minus one."""
    unsigned = _UNSIGNED[value.dtype.itemsize]
    sign_bit = 1 << (8 * value.dtype.itemsize - 1)
    bits = int(np.asarray(value).view(unsigned)[()])
    if bits & (sign_bit - 1) == 0:
        stepped = 1 if up else sign_bit | 1
    else:
        stepped = bits + (1 if up == (bits & sign_bit == 0) else -1)
    moved = np.asarray(stepped, unsigned).view(value.dtype)[()]
    return value if np.isnan(moved) else moved


def parse_index(text: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """``0,3,1`` → an index into a tensor of ``shape``. Raises CaseError."""
    parts = [part for part in re.split(r"[,\s]+", text.strip().strip("[]()")) if part]
    example = ",".join("0" for _ in shape) or "empty"
    if not all(part.isascii() and part.isdigit() for part in parts) or len(parts) != len(shape):
        raise CaseError(
            f"{text.strip()!r} is not an element of a tensor of shape {list(shape)}: write e.g. {example}"
        )
    index = tuple(int(part) for part in parts)
    for axis, (position, size) in enumerate(zip(index, shape, strict=True)):
        if position >= size:
            raise CaseError(
                f"{position} is outside axis {axis}, which has {size} entries (0 to {size - 1})"
            )
    return index


def with_entry(value: Array, index: tuple[int, ...], entry: Any) -> Array:
    """A copy of a tensor with one entry replaced."""
    changed = np.array(value)
    changed[index] = entry
    return changed


def _allowed(dtype: Any) -> str:
    if is_integer(dtype):
        low, high = bounds(dtype)
        return f"{dtype_name(dtype)} takes an integer from {integer(low)} to {integer(high)}"
    digits = 2 * np.dtype(dtype).itemsize
    return f"{dtype_name(dtype)} takes a decimal (0.008), a hexadecimal float (0x1.068p-7) or {digits} hex digits of bits"


def _parse_code(shown: str, typed: str, dtype: Any) -> Any:
    try:
        code = int(typed, 16 if "x" in typed.lower() else 10)
    except ValueError:
        raise CaseError(f"{shown!r} is not an integer: {_allowed(dtype)}") from None
    low, high = bounds(dtype)
    if not low <= code <= high:
        raise CaseError(
            f"{integer(code)} is outside {dtype_name(dtype)}: {integer(low)} to {integer(high)}"
        )
    return np.asarray(code, np.int64).astype(dtype)[()]


def _parse_real(shown: str, typed: str, dtype: Any) -> Any:
    lowered = typed.lower()
    if lowered.lstrip("+-") in ("inf", "infinity", "nan"):
        return np.asarray(float(lowered)).astype(dtype)[()]
    if _BITS.fullmatch(typed):
        return _from_bits(shown, typed, dtype)
    try:
        exact = Fraction(float.fromhex(typed)) if "0x" in lowered else _decimal(typed)
    except (ValueError, InvalidOperation, OverflowError):
        hint = "; the decimal sign is a point" if "," in shown else ""
        raise CaseError(f"{shown!r} is not a number{hint}: {_allowed(dtype)}") from None
    value = round_to(exact, dtype)
    if not np.isfinite(value):
        largest = ml_dtypes.finfo(dtype).max  # type: ignore[no-untyped-call]
        raise CaseError(
            f"{shown} is beyond {dtype_name(dtype)}, whose largest is {show(dtype.type(largest))}; write inf for infinity"
        )
    if exact == 0 and typed.startswith("-"):
        return np.asarray(-0.0).astype(dtype)[()]
    return value


def _decimal(typed: str) -> Fraction:
    number = Decimal(typed)
    # Beyond every float type, so that a long exponent cannot make a fraction of a million digits.
    if number and not -400 < number.adjusted() < 400:
        number = Decimal(0) if number.adjusted() < 0 else Decimal("1e400")
    return Fraction(number)


def _from_bits(shown: str, typed: str, dtype: Any) -> Any:
    width = np.dtype(dtype).itemsize
    if len(typed) != 2 + 2 * width:
        raise CaseError(
            f"{shown!r}: the bits of a {dtype_name(dtype)} are {2 * width} hex digits (0x{'0' * 2 * width}); "
            "a hexadecimal float has a p (0x1.8p-7)"
        )
    bits = np.asarray(int(typed, 16), _UNSIGNED[width])
    return bits.view(dtype)[()]


def describe_stored(value: Any) -> str:
    """What is stored of a float, for the line beside a field: bits and hexadecimal float; empty for codes."""
    if not isinstance(value, np.generic) or not is_float(value.dtype):
        return ""
    return f"{show(value, 'hexadecimal')} · {bit_pattern(value)}"
