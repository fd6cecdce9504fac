"""A sum of products as C: what stands before the loop over the taps, in it, and after it."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from qlab.c.emission import Emission, line
from qlab.c.recorder import Primitive
from qlab.c.text import plain
from qlab.qtypes import Array
from qlab.trace import Index


@dataclasses.dataclass(frozen=True)
class Accumulation:
    """Lines before the loop over the taps, in it, and after it; ``result`` names what they make."""

    before: Sequence[str]
    tap: Sequence[str]
    after: Sequence[str] = ()
    result: str = "accumulator"


@dataclasses.dataclass(frozen=True)
class Factors:
    """C expressions of the two factors of a tap and of their zero points, and how many taps there are.

    Attributes:
        shape, variables: of the result. addend: what Gemm adds, an expression; "" where there is none.
    """

    names: tuple[str, str]
    zero_points: tuple[str, str]
    taps: int
    shape: Index = ()
    variables: Sequence[str] = ()
    addend: str = ""


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
    (a, b), real = factors.names, e.file.real
    before = [f"{real} accumulator = 0; /* {_formula(p, 'accumulator')} */"]
    after, result, affine = [], "accumulator", p["affine"]
    if affine is not None and affine.alpha != 1:
        alpha = e.file.scalar("alpha", affine.alpha, real)
        after.append(line(real, "scaled_by_alpha", f"{alpha} * accumulator"))
        result = "scaled_by_alpha"
    if factors.addend:
        term = f"({real}){factors.addend}"
        if affine.beta != 1:
            term = f"{e.file.scalar('beta', affine.beta, real)} * {term}"
        after.append(line(real, "with_bias", f"{result} + {term}", p.step("with_bias").formula))
        result = "with_bias"
    return Accumulation(before, [f"accumulator += {a} * {b};"], after, result)


def activation(e: Emission) -> dict[str, Array]:
    """What a fused activation limits the result to: ``min``, and of Clip ``max``; nothing where there is none."""
    name = e.node.attributes.get("activation", "")
    if not name:
        return {}
    if name == "Relu":
        return {"min": np.zeros((), np.float32)}
    low, high = (np.asarray(v, np.float32) for v in e.node.attributes["activation_params"])
    return {"min": low, "max": high}


def activated(e: Emission, value: str) -> tuple[list[str], str]:
    """The lines of a fused activation over reals, and the name of their result; -0.0 and NaN stay."""
    lines, real = list[str](), e.file.real
    for name, end in activation(e).items():
        limit = e.file.scalar(f"activation_{name}", end, real)
        chosen, sign, said = ("above", "<", "max") if name == "min" else ("between", ">", "min")
        test = f"{value} {sign} {limit} ? {limit} : {value}"
        lines.append(line(real, chosen, test, f"{said}({value}, {limit})"))
        value = chosen
    return lines, value


def _formula(p: Primitive, name: str) -> str:
    return plain(p.step(name).formula)
