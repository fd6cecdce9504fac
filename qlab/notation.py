"""Numbers as text for people: the real minus sign, thousands commas, and how exact a number is."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from qlab.qtypes import dtype_name, is_float, is_integer

MINUS = "−"
VIEWS = ("decimal", "hexadecimal", "exact")
CUT = "…"
_DIGITS = 10  # significant digits of an exact number before it is cut
_LONG = 40  # characters of an exact expansion before another form is taken


def signed(text: str) -> str:
    """ASCII text of a number with the real minus sign."""
    return text.replace("-", MINUS)


def integer(value: Any) -> str:
    """``−32,850``."""
    return signed(f"{int(value):,}")


def steps(count: int, unit: str = "step") -> str:
    """``1 step``, ``18 steps``, ``2 ulps``."""
    return f"{integer(count)} {unit}" if abs(count) == 1 else f"{integer(count)} {unit}s"


def difference(count: int) -> str:
    """A signed difference, ``+2`` or ``−1``."""
    return f"+{count:,}" if count > 0 else integer(count)


def show(value: Any, view: str = "decimal") -> str:
    """A number in one of the three views, with ``…`` where digits are left off.

    Args:
        value: int, float, Fraction or a numpy scalar of any ONNX type.
        view: ``decimal`` (the shortest that reads back; ten digits of an exact number), ``hexadecimal`` or
            ``exact`` (a fraction or the whole decimal expansion).
    """
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, np.generic) and is_integer(value.dtype):
        return _integer_hex(value) if view == "hexadecimal" else integer(value)
    if isinstance(value, int):
        return signed(hex(value)) if view == "hexadecimal" else integer(value)
    if not isinstance(value, Fraction) and not math.isfinite(float(value)):
        return signed(str(float(value))).replace("inf", "∞").replace("nan", "NaN")
    if view == "hexadecimal":
        return _float_hex(value)
    if view == "exact":
        return _exact(value)
    return _decimal(value)


def short(value: Any) -> str:
    """At most eight significant digits, for sentences and axis labels."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return integer(value.numerator)
    number = float(value)
    if not math.isfinite(number):
        return show(number)
    return signed(f"{number:.8g}")


def bit_pattern(value: Any) -> str:
    """The stored bits of a float, ``0x3c033f3a``; empty for anything else."""
    if not isinstance(value, np.generic) or not is_float(value.dtype):
        return ""
    width = value.dtype.itemsize
    return f"0x{int.from_bytes(value.tobytes(), 'little'):0{2 * width}x}"


def plain(value: Any) -> str:
    """A stored number as one would type it: no commas, ASCII minus, shortest that reads back."""
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, np.generic) and is_integer(value.dtype):
        return str(int(value))
    text = str(value)
    return text[:-2] if text.endswith(".0") else text


def _decimal(value: Any) -> str:
    if isinstance(value, Fraction):
        return _fraction_decimal(value, _DIGITS)
    text = str(value) if isinstance(value, np.generic) else repr(float(value))
    text = text[:-2] if text.endswith(".0") else text
    whole, dot, rest = text.partition(".")
    if "e" in text or not whole.lstrip("-").isdigit():
        return signed(text)
    return signed(f"{int(whole):,}" if whole != "-0" else "-0") + dot + rest


def _fraction_decimal(value: Fraction, digits: int) -> str:
    """``digits`` significant digits, cut and not rounded, so that what is shown is a prefix of the number."""
    if value == 0:
        return "0"
    sign = MINUS if value < 0 else ""
    magnitude = abs(value)
    exponent = _decimal_exponent(magnitude)
    if value.denominator == 1 and exponent < 21:
        return integer(value.numerator)
    scaled = magnitude * Fraction(10) ** (digits - 1 - exponent)
    mantissa = str(scaled.numerator // scaled.denominator)
    cut = "" if scaled.denominator == 1 else CUT
    if -5 <= exponent < digits:
        if exponent < 0:
            whole, rest = "0", "0" * (-exponent - 1) + mantissa
        else:
            whole, rest = mantissa[: exponent + 1], mantissa[exponent + 1 :]
        rest = rest if cut else rest.rstrip("0")
        return f"{sign}{int(whole):,}" + (f".{rest}" if rest else "") + cut
    rest = mantissa[1:] if cut else mantissa[1:].rstrip("0")
    return f"{sign}{mantissa[0]}" + (f".{rest}" if rest else "") + f"{cut}e{signed(str(exponent))}"


def _decimal_exponent(magnitude: Fraction) -> int:
    exponent = len(str(magnitude.numerator)) - len(str(magnitude.denominator))
    return exponent if Fraction(10) ** exponent <= magnitude else exponent - 1


def _exact(value: Any) -> str:
    fraction = value if isinstance(value, Fraction) else Fraction(float(value))
    if fraction.denominator == 1 and abs(fraction.numerator) < 10**21:
        return integer(fraction.numerator)
    if not isinstance(value, Fraction):
        whole = _fraction_decimal(fraction, 200)
        if len(whole) <= _LONG:
            return whole
        power = fraction.denominator.bit_length() - 1
        if power == 0:
            return signed(f"{float(value):.17g}") + CUT
        return f"{integer(fraction.numerator)}·2^{MINUS}{power}"
    text = f"{integer(fraction.numerator)}/{integer(fraction.denominator)}"
    return text if len(text) <= _LONG else _fraction_decimal(fraction, 28)


def _integer_hex(value: np.generic) -> str:
    """Two's complement of a code; a signed hexadecimal number for int64, which stands for "any integer"."""
    name = dtype_name(value.dtype)
    if name in ("int64", "uint64"):
        return signed(hex(int(value)))
    bits = int(name.removeprefix("u").removeprefix("int"))
    return f"0x{int(value) & ((1 << bits) - 1):0{max(1, bits // 4)}x}"


def _float_hex(value: Any) -> str:
    if isinstance(value, Fraction):
        text, cut = _fraction_hex(value), ""
        if Fraction(float.fromhex(text)) != value:
            cut = CUT
        mantissa, _, exponent = text.partition("p")
        return signed(f"{_trim(mantissa)}{cut}p{exponent}")
    mantissa, _, exponent = float(value).hex().partition("p")
    return signed(f"{_trim(mantissa)}p{exponent}")


def _fraction_hex(value: Fraction) -> str:
    """The nearest float64's, which shows 13 hexadecimal digits."""
    try:
        return float(value).hex()
    except OverflowError:
        return math.copysign(math.inf, value).hex()


def _trim(mantissa: str) -> str:
    return mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
