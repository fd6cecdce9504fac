"""The specification's roundings as C, and where a scheme adds the zero point: before rounding or after it."""

from qlab.c.emission import Emission, line
from qlab.schemes.rounding import ROUNDINGS

_MATH = {"half_to_even": "rint", "half_away": "round", "toward_zero": "trunc", "floor": "floor"}
"""Functions of <math.h>; half up has none."""


def rounding(e: Emission) -> str:
    """The scheme's rounding: a key of ``ROUNDINGS``."""
    return str(getattr(e.file.scheme, "rounding", "half_to_even"))


def is_before(e: Emission, schema: bool) -> bool:
    """True where the zero point is added before rounding. ``schema``: where the operator's schema has it there."""
    place = getattr(e.file.scheme, "zero_point", "")
    return bool(place == "before" or (not place and schema))


def rounded(e: Emission, value: str) -> str:
    """A real rounded to a whole number, as the scheme rounds: an expression of the same type."""
    suffix = "f" if e.file.real == "float" else ""
    name = _MATH.get(rounding(e))
    return f"{name}{suffix}({value})" if name else f"{e.file.use(f'half_up{suffix}')}({value})"


def round_sum(e: Emission) -> str:
    """The helper that rounds a quotient of whole numbers as the scheme rounds."""
    return e.file.use(f"round_{rounding(e)}")


def code_lines(e: Emission, zero: str, zero_name: str, *, before: bool) -> tuple[list[str], str]:
    """From ``scaled`` to an integer that is not saturated yet: the lines, and its name.

    Args:
        zero: the zero point, an expression. zero_name: the schema's name of it. before: where the operator's schema has it.
    """
    real, to_integer = e.file.real, e.file.use("to_integer")
    words = f"round {ROUNDINGS[rounding(e)]}"
    if is_before(e, before):
        name = "sum" if before else "with_zero_point"  # a mean's operand is its sum
        return [
            line(real, name, f"scaled + ({real}){zero}", f"scaled + {zero_name}"),
            line(real, "rounded", rounded(e, name), words),
        ], f"{to_integer}(rounded)"
    biased = f"{to_integer}(rounded) + {zero}"
    return [
        line(real, "rounded", rounded(e, "scaled"), words),
        line("int64_t", "biased", biased, f"rounded + {zero_name}"),
    ], "biased"
