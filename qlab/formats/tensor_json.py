"""A tensor as JSON: one key, its data type, with a number or nested lists; every value bit for bit."""

import math
import re
import struct
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from qlab.arithmetic import round_to
from qlab.errors import CaseError
from qlab.qtypes import ALIASES, DTYPES, Array, bounds, dtype_name, is_float

LARGEST = 4_000_000  # elements
DEEPEST = 32  # nested lists
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_BITS = re.compile(r"0x[0-9a-fA-F]+")


def tensor_to_json(value: Array) -> dict[str, Any]:
    """``{"int8": [[1, -2]]}``; with ``shape`` where nesting cannot say it (a tensor without elements)."""
    name = dtype_name(value.dtype)
    if name not in DTYPES:
        raise CaseError(f"{name} tensors have no JSON form; there are {', '.join(DTYPES)}")
    one = _real if is_float(value.dtype) else bool if name == "bool" else int
    listed: Any = [one(entry) for entry in value.reshape(-1)]
    for size in reversed(value.shape[1:]):
        listed = [listed[i : i + size] for i in range(0, len(listed), size)] if size else []
    if value.ndim == 0:
        listed = listed[0]
    return {name: listed, **({} if value.size else {"shape": list(value.shape)})}


def _real(entry: Any) -> float | str:
    """The shortest decimal that reads back; ``"nan"`` and ``"inf"``; the bits of any other NaN."""
    if math.isnan(entry):
        usual = np.asarray(math.nan).astype(entry.dtype)
        return "nan" if entry.tobytes() == usual.tobytes() else bits(entry)
    if math.isinf(entry):
        return "inf" if entry > 0 else "-inf"
    # str() of a numpy float has the fewest digits that are this float among floats of its type.
    return float(str(entry))


def bits(entry: Any) -> str:
    """The stored bits of a float, ``0x7fc00001``."""
    width = entry.dtype.itemsize
    return f"0x{int.from_bytes(entry.tobytes(), 'little'):0{2 * width}x}"


def tensor_from_json(given: Any, where: str) -> Array:
    """The array of a JSON tensor.

    Args:
        where: path of the tensor in the document, for messages: ``constants.B_scale``.

    Raises:
        CaseError: one line with where, what, and what is allowed.
    """
    if not isinstance(given, dict):
        raise CaseError(
            f'{where}: a tensor is an object like {{"int8": [1, 2]}}, not {_shown(given)}'
        )
    kinds = [key for key in given if key != "shape"]
    if len(kinds) != 1:
        raise CaseError(
            f"{where}: a tensor has one data type as its key, this has {len(kinds)}: {', '.join(kinds)}"
        )
    name = ALIASES.get(kinds[0], kinds[0])
    if name not in DTYPES:
        raise CaseError(f"{where}: {kinds[0]!r} is no data type; there are {', '.join(DTYPES)}")
    dtype = DTYPES[name]
    flat: list[Any] = []
    nested = _flatten(given[kinds[0]], flat, where, ())
    shape = _declared(given["shape"], nested, len(flat), where) if "shape" in given else nested
    read = _read_real if is_float(dtype) else _read_bool if name == "bool" else _read_code
    values = np.empty(len(flat), dtype)
    for position, entry in enumerate(flat):
        try:
            values[position] = read(entry, dtype)
        except CaseError as error:
            index = list(int(i) for i in np.unravel_index(position, nested)) if nested else ""
            raise CaseError(f"{where}{index}: {error}") from None
    return values.reshape(shape)


def _flatten(given: Any, flat: list[Any], where: str, index: tuple[int, ...]) -> tuple[int, ...]:
    """Append the entries in order; returns the shape. Raises CaseError where lists are ragged."""
    if not isinstance(given, list):
        flat.append(given)
        if len(flat) > LARGEST:
            raise CaseError(f"{where}: more than {LARGEST:,} elements")
        return ()
    if len(index) >= DEEPEST:
        raise CaseError(f"{where}: lists nested deeper than {DEEPEST}")
    shapes = [_flatten(entry, flat, where, (*index, i)) for i, entry in enumerate(given)]
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise CaseError(
                f"{where}{list(index)}: ragged: entry 0 has the shape {list(shapes[0])}, entry {i} {list(shape)}"
            )
    return (len(given), *(shapes[0] if shapes else ()))


def _declared(shape: Any, nested: tuple[int, ...], size: int, where: str) -> tuple[int, ...]:
    if not isinstance(shape, list) or not all(
        isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape
    ):
        raise CaseError(f"{where}.shape: {_shown(shape)} is not a list of sizes like [0, 3]")
    if len(shape) > DEEPEST or max(shape, default=0) > 2**31:
        raise CaseError(f"{where}.shape: {_shown(shape)} is too large")
    if math.prod(shape) != size or (size and tuple(shape) != nested):
        raise CaseError(
            f"{where}.shape: {shape} does not fit the values, which have the shape {list(nested)}"
        )
    return tuple(shape)


def _read_code(entry: Any, dtype: Any) -> Any:
    low, high = bounds(dtype)
    if isinstance(entry, bool) or not isinstance(entry, int):
        raise CaseError(
            f"{_shown(entry)} is not an integer; {dtype_name(dtype)} takes {low} to {high}"
        )
    if not low <= entry <= high:
        raise CaseError(
            f"{_shown(entry)} is outside {dtype_name(dtype)}, which takes {low} to {high}"
        )
    return entry


def _read_bool(entry: Any, dtype: Any) -> Any:
    if entry not in (True, False, 0, 1) or isinstance(entry, float):
        raise CaseError(f"{_shown(entry)} is not a bool: write true or false")
    return bool(entry)


def _read_real(entry: Any, dtype: Any) -> Any:
    if isinstance(entry, bool) or not isinstance(entry, (int, float, Decimal, str)):
        raise CaseError(f"{_shown(entry)} is not a number")
    if isinstance(entry, str):
        return _read_text(entry, dtype)
    return _rounded(entry, dtype)


def _read_text(entry: str, dtype: Any) -> Any:
    lowered = entry.strip().lower()
    if lowered.lstrip("+-") in ("nan", "inf", "infinity"):
        return np.asarray(float(lowered)).astype(dtype)[()]
    if _BITS.fullmatch(lowered):
        width = np.dtype(dtype).itemsize
        if len(lowered) != 2 + 2 * width:
            raise CaseError(
                f"{entry!r}: the bits of a {dtype_name(dtype)} are {2 * width} hexadecimal digits"
            )
        return np.asarray(int(lowered, 16), _UNSIGNED[width]).view(dtype)[()]
    try:
        return _rounded(float.fromhex(lowered) if "0x" in lowered else Decimal(lowered), dtype)
    except (ValueError, OverflowError, InvalidOperation):
        raise CaseError(
            f"{_shown(entry)} is no number; as text write nan, inf, -inf, 0x1.068p-7 or the bits 0x3c033f3a"
        ) from None


def _rounded(entry: int | float | Decimal, dtype: Any) -> Any:
    """The decimal rounded once to the type; a minus sign before zero is kept."""
    number = Decimal(entry)
    if not number.is_finite():
        return np.asarray(float(entry)).astype(dtype)[()]
    if (
        abs(number.adjusted()) > 400
    ):  # beyond every type here, and its Fraction could fill the memory
        value = np.asarray(math.inf if number.adjusted() > 0 and number else 0.0).astype(dtype)[()]
    elif dtype is DTYPES["float32"] and _rounds_once(number):
        value = np.asarray(abs(float(number)), np.float32)[()]
    else:
        value = round_to(abs(Fraction(number)), dtype)
    if number and not np.isfinite(value):
        raise CaseError(f'{entry} is beyond {dtype_name(dtype)}; write "inf" for infinity')
    return -value if number.is_signed() else value


def _rounds_once(number: Decimal) -> bool:
    """True where rounding to float64 and then to float32 is rounding to float32: no tie can arise between."""
    double = abs(float(number))
    (bits,) = struct.unpack("<q", struct.pack("<d", double))
    return 1.2e-38 < double < 3.4e38 and bits & 0x1FFF_FFFF != 0x1000_0000


def _shown(given: Any, limit: int = 40) -> str:
    text = repr(given)
    return text if len(text) <= limit else f"{text[:limit]}…"
