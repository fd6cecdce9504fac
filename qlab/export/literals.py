"""Values and nodes as Python source that needs numpy and onnx only, old releases of them too.

A case may come from a stranger's link, and its script is run: whatever its texts hold, they stay string literals
(`text`) or comments (`comment`).
"""

import keyword
import math
import textwrap
from collections.abc import Sequence

import numpy as np

from qlab.errors import ExportError
from qlab.graph import Node
from qlab.qtypes import Array, bounds, dtype_name, is_float, is_integer

PLAIN = (
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("bool", "float16", "float32", "float64"),
)
PACKED = ("int4", "uint4")
NOT_ATTRIBUTES = ("op_type", "inputs", "outputs", "name", "doc_string", "domain", "overload")
LARGEST = 20_000  # elements of a literal
WIDTH = 100


def text(value: str) -> str:
    """A string literal: one line, whatever the string holds."""
    plain = value.isascii() and value.isprintable() and not {'"', "\\"} & set(value)
    return f'"{value}"' if plain else ascii(value)


def comment(value: str, width: int = 96) -> str:
    """Lines of comment; nothing in the text can end the comment."""
    words = " ".join(value.split())
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    return "\n".join(f"# {line}" for line in textwrap.wrap(printable, width)) or "#"


def filled(opening: str, tokens: Sequence[str], closing: str, indent: int = 0) -> str:
    """``opening`` + tokens with commas + ``closing``: on one line if it fits, else lines filled with whole tokens."""
    margin = " " * indent
    line = f"{margin}{opening}{', '.join(tokens)}{closing}"
    if len(line) <= WIDTH:
        return line
    lines = [f"{margin}{opening}"]
    inner = line = " " * (indent + 4)
    for token in tokens:
        if line != inner and len(line) + len(token) + 1 > WIDTH:
            lines.append(line.rstrip())
            line = inner
        line += f"{token}, "
    return "\n".join([*lines, line.rstrip(), f"{margin}{closing}"])


def array(value: Array) -> str:
    """A numpy array of a plain type as an expression on one line; every bit of it is read back.

    Raises:
        ExportError: a type that numpy alone does not have, or too many elements.
    """
    return f"np.array({', '.join(_array(value))}{_after(value)}"


def entry(name: str, value: Array) -> str:
    """``"x": np.array(…),`` as an entry of a dict, in lines of at most 100 characters. Raises as `array`."""
    return filled(f"{text(name)}: np.array(", _array(value), f"{_after(value)},", 4)


def tensor(name: str, value: Array) -> str:
    """A TensorProto as an expression: by numpy where it has the type, else from its stored bytes."""
    _check_size(name, value)
    kind = dtype_name(value.dtype)
    if kind in PLAIN:
        return f"numpy_helper.from_array({array(value)}, {text(name)})"
    raw = _packed(value) if kind in PACKED else np.ascontiguousarray(value).tobytes()
    return (
        f"helper.make_tensor({text(name)}, TensorProto.{enum(value)}, {list(value.shape)}, "
        f"{raw!r}, raw=True)"
    )


def node(item: Node, indent: int = 0) -> str:
    """A helper.make_node call. Raises ExportError for an attribute whose name is no keyword argument."""
    parts = [text(item.op_type), *_names(item.inputs), *_names(item.outputs)]
    if item.domain:
        parts.append(f"domain={text(item.domain)}")
    for key, value in item.attributes.items():
        if not key.isidentifier() or keyword.iskeyword(key) or key in NOT_ATTRIBUTES:
            raise ExportError(f"an attribute with the name {key!r} cannot be written into a script")
        parts.append(f"{key}={_attribute(key, value)}")
    return filled("helper.make_node(", parts, ")", indent)


def enum(value: Array) -> str:
    """ONNX's name of an array's type, ``FLOAT``, ``INT8``, ``FLOAT8E4M3FN``."""
    names = {"float32": "FLOAT", "float64": "DOUBLE"}
    kind = dtype_name(value.dtype)
    return names.get(kind, kind.upper().replace("_", ""))


def _array(value: Array) -> list[str]:
    """The arguments of np.array, split where a line may end."""
    name = dtype_name(value.dtype)
    _check_size("a tensor", value)
    if name not in PLAIN:
        raise ExportError(f"numpy has no {name}: such a tensor cannot be a literal in a script")
    written = [_real(v) if is_float(value.dtype) else str(v) for v in value.reshape(-1)]
    if _as_bits(value):
        name = f"uint{8 * value.dtype.itemsize}"
        written = [hex(int(v)) for v in np.ascontiguousarray(value).view(name).reshape(-1)]
    return [*_nested(written, value.shape).split(", "), text(name)]


def _after(value: Array) -> str:
    """What follows the arguments of np.array."""
    view = f".view({text(dtype_name(value.dtype))})" if _as_bits(value) else ""
    return f"){view}" if value.size else f"){view}.reshape({list(value.shape)})"


def _as_bits(value: Array) -> bool:
    """True where a decimal does not give every bit back: a NaN with bits of its own."""
    if not is_float(value.dtype):
        return False
    read = np.array([float(_real(v).replace("np.", "")) for v in value.reshape(-1)], value.dtype)
    return read.tobytes() != value.tobytes()


def _check_size(name: str, value: Array) -> None:
    if value.size > LARGEST:
        raise ExportError(
            f"{name} of {value.size:,} elements is too long for a script; at most {LARGEST:,}"
        )


def _names(names: tuple[str, ...]) -> list[str]:
    """A list of names, split where a line may end."""
    listed = [text(name) for name in names] or [""]
    listed[0] = f"[{listed[0]}"
    listed[-1] += "]"
    return listed


def _attribute(name: str, value: object) -> str:
    if isinstance(value, np.ndarray):
        return tensor(name, value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_attribute(name, entry) for entry in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, (int, float)):
        return repr(value)
    raise ExportError(f"attribute {name}: a {type(value).__name__} cannot be written into a script")


def _real(value: np.generic) -> str:
    number = float(value)
    if not math.isfinite(number):
        return "np.nan" if math.isnan(number) else "np.inf" if number > 0 else "-np.inf"
    shortest = str(value)
    return shortest if "." in shortest or "e" in shortest else f"{shortest}.0"


def _nested(flat: list[str], shape: tuple[int, ...]) -> str:
    if not flat:
        return "[]"
    level = flat
    for size in reversed(shape):
        level = ["[" + ", ".join(level[i : i + size]) + "]" for i in range(0, len(level), size)]
    return level[0]


def _packed(value: Array) -> bytes:
    """Two 4-bit codes a byte, the first in the low half, as TensorProto stores them."""
    low, _ = bounds(value.dtype)
    assert is_integer(value.dtype) and low in (-8, 0)
    codes = [int(v) & 15 for v in value.reshape(-1)]
    codes += [0] * (len(codes) % 2)
    return bytes(a | b << 4 for a, b in zip(codes[::2], codes[1::2], strict=True))
