"""A sum of products as C: what stands before the loop over the taps, in it, and after it."""

import dataclasses
from collections.abc import Sequence

from qlab.c.emission import Emission, line
from qlab.c.recorder import Primitive


@dataclasses.dataclass(frozen=True)
class Accumulation:
    """Lines that make ``accumulator``. In the loop the two factors are ``left`` and ``right``."""

    before: Sequence[str]
    tap: Sequence[str]
    after: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Factors:
    """C expressions of the two factors of a tap and of their zero points, and how many taps there are."""

    names: tuple[str, str]
    zero_points: tuple[str, str]
    taps: int


def centred(e: Emission, p: Primitive, factors: Factors) -> Accumulation:
    """Σ (a - a_zero_point) · (b - b_zero_point) over the integers: exact, float64 and float32."""
    (a, b), (za, zb) = factors.names, factors.zero_points
    step = f"accumulator += ({a} - {za}) * ({b} - {zb});"
    return Accumulation([f"int64_t accumulator = 0; /* {_formula(p, 'accumulator')} */"], [step])


def raw(e: Emission, p: Primitive, factors: Factors) -> Accumulation:
    """The raw sum, then the zero points' part, in an int32 register: ONNX Runtime."""
    (a, b), (za, zb) = factors.names, factors.zero_points
    before = [
        f"int64_t raw_sum = 0; /* {_formula(p, 'raw_sum')} */",
        "int64_t left_sum = 0;",
        "int64_t right_sum = 0;",
    ]
    tap = [f"left_sum += {a};", f"right_sum += {b};"]
    after = []
    if "saturate" in p.step("raw_sum").formula:
        before += ["int64_t first = 0; /* product of a pair */", "int second = 0;"]
        pair = e.file.use("pair_int16")
        tap += [
            "if (second) {",
            f"    raw_sum += {pair}(first, {a} * {b});",
            "} else {",
            f"    first = {a} * {b};",
            "}",
            "second = !second;",
        ]
        after += ["if (second) {", f"    raw_sum += {pair}(first, 0);", "}"]
    else:
        tap.append(f"raw_sum += {a} * {b};")
    part = f"(int64_t){factors.taps} * {za} * {zb} - {zb} * left_sum - {za} * right_sum"
    after += [
        line("int64_t", "zero_point_part", part, p.step("zero_point_part").formula),
        line(
            "int64_t",
            "accumulator",
            f"{e.file.use('wrap32')}(raw_sum + zero_point_part)",
            "raw_sum + zero_point_part",
        ),
    ]
    return Accumulation(before, tap, after)


def in_order(e: Emission, p: Primitive, factors: Factors) -> Accumulation:
    """Σ a · b over reals, added in the order of the taps."""
    a, b = factors.names
    before = [f"{e.file.real} accumulator = 0; /* {_formula(p, 'accumulator')} */"]
    return Accumulation(before, [f"accumulator += {a} * {b};"])


def _formula(p: Primitive, name: str) -> str:
    from qlab.c.text import plain

    return plain(p.step(name).formula)
