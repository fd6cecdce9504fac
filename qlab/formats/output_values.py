"""What a person's own implementation returned, as an array: pasted as a C array or a table, or in a .npy or .csv file.

Nothing is guessed: as many values as the tensor has, each a code of its type, or one line says which is not.
"""

import io
import re
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

import numpy as np

from qlab.errors import CaseError
from qlab.qtypes import DTYPES, Array, bounds, is_integer
from qlab.trace import Index

LARGEST = 100_000_000  # bytes of a file
LONGEST, LINES = (
    100,
    1_000,
)  # characters of a value with what stands around it; so many values' worth of comments
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_NOTATION = re.compile(  # what languages write around a number: casts, macros, constructors, a dtype at the end
    r"\(\s*(?:u?int\d+_t|u?int\d+|(?:un)?signed char|char|short|int|long|float|double|half|_Float16)\s*\)"
    r"|\bU?INT\d+_C(?=\s*\()|\b(?:(?:np|numpy|torch|tf|jnp)\.)?(?:u?int\d+|float\d+|array|asarray|tensor)(?=\s*\()"
    r"|,\s*(?:dtype|device)\s*=\s*[\w.:\"']+|\)\s*\.(?:astype|view|reshape)\([^()]*\)"
)
_BETWEEN = re.compile(r"[\s,;|{}\[\]()]+")
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|(\d+))[uUlL]*")
_REAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFlL]?")
_NO_NUMBER = {"nan", "inf", "infinity", "nanf"}
_BOOLS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}
_SHOWN = 40  # characters of what is not understood


def values_from_file(path: str | Path, dtype: str, shape: Index) -> Array:
    """The values in a file: ``.npy``, else text as `values_from_text` has it.

    Args:
        dtype: ONNX name of the tensor's type. shape: of the tensor.

    Raises:
        CaseError: no such file, or other values than the tensor can hold; one line.
    """
    file = Path(path)
    try:
        if file.exists() and not file.is_file():
            raise CaseError(f"{_name(file)} is no regular file")
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except CaseError:
        raise
    except (OSError, ValueError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is no path"
        raise CaseError(f"{_name(file)} cannot be read: {words}") from None
    return values_from_bytes(content, file.name, dtype, shape)


def values_from_bytes(content: bytes, name: str, dtype: str, shape: Index) -> Array:
    """The content of a file of this name, as `values_from_file` has it."""
    if len(content) > LARGEST:
        raise CaseError(f"{_name(name)} is larger than {LARGEST:,} bytes")
    if name.lower().endswith(".npy") or content.startswith(b"\x93NUMPY"):
        return _from_npy(content, name, dtype, shape)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CaseError(
            f"{_name(name)} is neither .npy nor UTF-8 text; .npy, .csv, a C array or a table can be read, "
            f"a raw dump after numpy.save(file, numpy.fromfile(dump, its dtype))"
        ) from None
    return values_from_text(text, dtype, shape)


def values_from_text(text: str, dtype: str, shape: Index) -> Array:
    """Values from a C array, a JSON list, a .csv or any table: numbers with anything usual between them.

    Comments of C, lines that begin with #, casts, a dtype and a table's header are left out. A hexadecimal number may be the bits of a negative code:
    0xA8 is −88 in int8.
    """
    size = int(np.prod(shape, dtype=np.int64))
    longest = LONGEST * (size + LINES)
    if len(text) > longest:
        raise CaseError(
            f"the text has {len(text):,} characters, more than {longest:,}, for a tensor of {_counted(size, shape)}"
        )
    plain = _without_header(_NOTATION.sub(" ", _COMMENT.sub(" ", text)))
    words = [w for w in _BETWEEN.split(_initializer(plain)) if w]
    if not words and size:
        raise CaseError(f"no values are given; the tensor has {_counted(size, shape)}")
    read = _code if is_integer(dtype) else _real
    values = [
        read(word.replace("−", "-"), dtype, place)
        for place, word in enumerate(words[: size + 1], 1)
    ]
    if len(words) != size:
        _refuse_count(len(words), size, shape)
    kind = np.float64 if not is_integer(dtype) else np.uint64 if dtype == "uint64" else np.int64
    return _fit(np.asarray(values, kind), dtype, shape)


def _without_header(text: str) -> str:
    """Without the first line where that is a table's header: names, and a number begins the next."""
    first, _, rest = text.lstrip().partition("\n")
    names = [w.strip().strip("\"'") for w in re.split(r"[,;\t]", first)]
    named = all(
        re.fullmatch(r"[A-Za-z_][\w .:-]*", w) and w.lower() not in _NO_NUMBER for w in names
    )
    return rest if named and re.match(r"\s*[+−-]?[\d.]", rest) else text


def _initializer(text: str) -> str:
    """What stands in the braces of a C array, or the whole text where it is none."""
    if "=" not in text:
        return text
    if text.count("=") > 1:
        raise CaseError(
            f"{text.count('=')} arrays are given; give the one that your implementation returned"
        )
    return text.partition("=")[2]


def _code(word: str, dtype: str, place: int) -> int:
    if len(word) > LONGEST:  # before it is matched, which takes the square of its length
        raise CaseError(f"value {place} has {len(word):,} characters")
    low, high = bounds(dtype)
    match = _INTEGER.fullmatch(word)
    if match is None:
        if not _REAL.fullmatch(word) or not _whole(word):
            raise CaseError(f"value {place} is {word[:_SHOWN]!r}, which is no integer")
        value = int(Decimal(word.rstrip("fFlL")))
    else:
        sign, hexadecimal, decimal = match.groups()
        if decimal and len(decimal) > 1 and decimal.startswith("0") and decimal.strip("0"):
            raise CaseError(
                f"value {place} is {word[:_SHOWN]!r}, which is octal in C; write it as a decimal number"
            )
        value = int(hexadecimal, 16) if hexadecimal else int(decimal)
        width = (high - low + 1).bit_length() - 1
        for bits in (width, 8, 16, 32, 64) if hexadecimal and not sign and low < 0 else ():
            if 2**bits + low <= value < 2**bits:  # printed as it is, or after it was widened
                value -= 2**bits
        value = -value if sign == "-" else value
    if not low <= value <= high:
        whole = 2 * (high + 1)
        hint = (
            f"; the bits of {value} are {value - whole} in {dtype}"
            if low < 0 <= value < whole
            else ""
        )
        raise CaseError(f"value {place} is {value}; {dtype} has {low} to {high}{hint}")
    return value


def _whole(word: str) -> bool:
    number = Decimal(word.rstrip("fFlL"))
    return abs(number.adjusted()) < LONGEST and number == number.to_integral_value()


def _real(word: str, dtype: str, place: int) -> float:
    if len(word) > LONGEST:
        raise CaseError(f"value {place} has {len(word):,} characters")
    if dtype == "bool":
        if word.lower() not in _BOOLS:
            raise CaseError(
                f"value {place} is {word[:_SHOWN]!r}; bool has 0 and 1, or true and false"
            )
        return _BOOLS[word.lower()]
    bare = word.lower().lstrip("+-")
    hexadecimal = bare.startswith("0x")
    if bare not in _NO_NUMBER and not hexadecimal and not _REAL.fullmatch(word):
        raise CaseError(f"value {place} is {word[:_SHOWN]!r}, which is no number")
    if bare in _NO_NUMBER:
        return float(word.lower().removesuffix("f") if bare == "nanf" else word)
    if hexadecimal:
        try:
            return float.fromhex(word.rstrip("lL"))
        except (ValueError, OverflowError):
            raise CaseError(f"value {place} is {word[:_SHOWN]!r}, which is no number") from None
    return float(word.rstrip("fFlL"))


def _from_npy(content: bytes, name: str, dtype: str, shape: Index) -> Array:
    try:
        values = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # the header is an expression of a stranger: whatever it makes numpy raise
        raise CaseError(f"{_name(name)} is no .npy file that can be read") from None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iufb":
        raise CaseError(f"{_name(name)} holds no array of numbers")
    if values.ndim > 1 and _bare(values.shape) != _bare(shape):
        raise CaseError(
            f"{_name(name)} has the shape {list(values.shape)}; the tensor has {list(shape)}"
        )
    flat = values.reshape(-1)
    if is_integer(dtype):
        low, high = bounds(dtype)
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~((flat >= low) & (flat <= high) & (flat % 1 == 0)))
        if wrong.size:
            place = int(wrong[0])
            raise CaseError(
                f"value {place + 1} is {flat[place]}; {dtype} has the integers {low} to {high}"
                + (
                    f"; where these are its bits, save array.view({dtype!r})"
                    if _bits(flat, dtype)
                    else ""
                )
            )
        flat = flat.astype(np.uint64 if dtype == "uint64" else np.int64)
    return _fit(flat, dtype, shape)


def _bits(values: Array, dtype: str) -> bool:
    """True where an unsigned array of the type's width stands for a signed type."""
    return values.dtype.name == f"u{dtype}"


def _fit(values: Array, dtype: str, shape: Index) -> Array:
    size = int(np.prod(shape, dtype=np.int64))
    if values.size != size:
        _refuse_count(values.size, size, shape)
    with np.errstate(over="ignore"):
        fitting = values.astype(DTYPES[dtype])
    if not is_integer(dtype):
        lost = np.flatnonzero(np.isfinite(values) & ~np.isfinite(fitting.astype(np.float64)))
        if lost.size:
            raise CaseError(f"value {lost[0] + 1} is {values[lost[0]]:g}, too large for {dtype}")
        if dtype.startswith("float8"):
            near = fitting.astype(np.float64)
            off = np.flatnonzero(
                np.abs(near - values) > 0.01 * np.abs(values)
            )  # more than printing rounds
            if off.size:
                raise CaseError(
                    f"value {off[0] + 1} is {values[off[0]]:g}, which {dtype} does not have; {near[off[0]]:g} is next to it"
                )
    return fitting.reshape(shape)


def _refuse_count(count: int, size: int, shape: Index) -> NoReturn:
    given = "1 value is" if count == 1 else f"{count:,} values are"
    each = "give that one" if size == 1 else "give one for each, the last axis fastest"
    if size and count > size and count % size == 0:
        each += ", without the inputs"
    raise CaseError(f"{given} given; the tensor has {_counted(size, shape)}: {each}")


def _bare(shape: Index) -> Index:
    return tuple(n for n in shape if n != 1)


def _counted(size: int, shape: Index) -> str:
    several = len(shape) > 1 and size != 1
    return f"{size:,}" + (f" ({' × '.join(map(str, shape))})" if several else "")


def _name(path: str | Path) -> str:
    return str(path)[-80:]
