"""Texts, names and numbers as C99 source. A case may come from a stranger: its texts stay in comments, harmless."""

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qlab.errors import ExportError
from qlab.qtypes import Array, dtype_name

WIDTH = 100
CTYPES = {
    "int2": "int8_t",
    "uint2": "uint8_t",
    "int4": "int8_t",
    "uint4": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32)},
    "int64": "int64_t",
    "bool": "uint8_t",
    "float32": "float",
    "float64": "double",
}
BITS = {"float16": "uint16_t", "bfloat16": "uint16_t"} | {
    f"float8_{kind}": "uint8_t" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")
}
"""Formats that C99 does not have: their bits are stored."""
_PLAIN = str.maketrans(
    {"·": "*", "−": "-", "–": "-", "Σ": "sum of ", "×": "x", "≥": ">=", "≤": "<=", "²": "^2", "→": "->", "’": "'"}
)  # fmt: skip
_RESERVED = set(
    [
        "auto",
        "bool",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "main",
        "y0",
        "y1",
        "yn",
        "j0",
        "j1",
        "jn",
        "gamma",
    ]
)


def plain(text: str) -> str:
    """One line of ASCII that cannot end a comment, open one or hold a trigraph; ``·`` is written ``*``."""
    words = " ".join(text.translate(_PLAIN).split())
    shown = "".join(
        c if c.isascii() and c.isprintable() and c != "\\" else f"<U+{ord(c):04X}>" for c in words
    )
    return re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", lambda found: f"{found[0]} ", shown)


def comment(*paragraphs: str) -> str:
    """A block comment; each paragraph begins a line."""
    lines = [
        line
        for paragraph in paragraphs
        for line in textwrap.wrap(plain(paragraph), WIDTH - 3, subsequent_indent="  ") or [""]
    ]
    return "\n".join(["/*", *(f" * {line}".rstrip() for line in lines), " */"])


def ctype(dtype: Any) -> str:
    """The C type of one element. Raises ExportError for a type that C99 does not have."""
    name = dtype_name(dtype)
    if name in BITS:
        return BITS[name]
    if name not in CTYPES:
        raise ExportError(
            f"{name} has no type in C99 here; {', '.join(CTYPES)} have: convert the tensor to one of them"
        )
    return CTYPES[name]


class Names:
    """Identifiers of one file, each given once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*_RESERVED, *taken}

    def new(self, wanted: str) -> str:
        """``wanted`` with only letters, digits and underscores, and a number where it is taken."""
        name = re.sub(r"[^0-9A-Za-z_]", "_", wanted)[:40]
        name = name if name[:1].isalpha() else f"t_{name}"
        number, chosen = 2, name
        while chosen in self._taken:
            number, chosen = number + 1, f"{name}_{number}"
        self._taken.add(chosen)
        return chosen


def number(value: Any, kind: str) -> str:
    """A constant of a C type; floats in hexadecimal, so that every bit is there."""
    if kind in ("float", "double"):
        real = float(value)
        if math.isnan(real):
            return "NAN"
        if math.isinf(real):
            return "INFINITY" if real > 0 else "-INFINITY"
        mantissa, _, exponent = real.hex().partition("p")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa}p{exponent}{'f' if kind == 'float' else ''}"
    integer = int(value)
    if integer == -(2**31):
        return "(-2147483647 - 1)"
    if integer == -(2**63):
        return "(-9223372036854775807 - 1)"
    return f"{integer}u" if kind.startswith("uint32") else str(integer)


def filled(opening: str, tokens: Sequence[str], closing: str) -> str:
    """``opening`` + tokens + ``closing``, on one line if it fits, else in lines filled with whole tokens."""
    line = f"{opening}{', '.join(tokens)}{closing}"
    if len(line) <= WIDTH:
        return line
    body = textwrap.wrap(
        ", ".join(t.replace(" ", "\0") for t in tokens), WIDTH - 4, break_long_words=False
    )
    return "\n".join([opening, *(f"    {part}".replace("\0", " ") for part in body), closing])


def array(name: str, values: Array, kind: str) -> str:
    """The definition of a static constant array; of no elements it holds one 0, which C99 needs."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if dtype_name(values.dtype) in BITS and kind.startswith("uint"):
        flat = flat.view(f"uint{8 * values.dtype.itemsize}")
    tokens = [number(v, kind) for v in flat] or ["0"]
    return filled(f"static const {kind} {name}[{len(tokens)}] = {{", tokens, "};")


def scalar(name: str, value: Array, kind: str) -> str:
    """The definition of a static constant, with the decimal value of a float."""
    only = np.asarray(value).reshape(-1)[0]
    said = f" /* {float(only)!r} */" if kind in ("float", "double") else ""
    return f"static const {kind} {name} = {number(only, kind)};{said}"
