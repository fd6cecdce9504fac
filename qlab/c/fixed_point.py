"""Fixed-point rescaling as C: integer multipliers and shifts that are known when the file is written, and roundings.

The recorded steps say which form it is: ``high_product`` rounds twice, ``wide_product`` once, and the formula of
``rounded`` says where a tie goes.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from qlab.c import text
from qlab.c.emission import Emission, Operand, line
from qlab.c.recorder import Primitive
from qlab.errors import ExportError
from qlab.qtypes import Array

LARGEST_SHIFT = 62  # of an int64


@dataclasses.dataclass(frozen=True)
class Part:
    """Some lines of a function on single elements, the operands that they read, and the zero point if they read it."""

    lines: Sequence[str]
    operands: Sequence[Operand] = ()
    zero_point: str = ""


def constants(
    e: Emission, p: Primitive, scales: Sequence[tuple[str, Array]], shown: Sequence[str],
    wanted: Mapping[str, str],
) -> list[Operand]:  # fmt: skip
    """Define steps that depend on scales only as constants of the file, below a comment that says where they come from.

    Args:
        scales: name and values of those that the steps are computed from.
        shown: names of steps that stand in the comment only. wanted: name of a step → C type of its constant.

    Returns:
        The operands: of one value its ``array`` is "" and its ``name`` the constant.

    Raises:
        ExportError: a scale is not known when the file is written.
    """
    for name, _ in scales:
        tensor = e.tensor(name)
        if tensor and tensor not in e.graph.constants:
            raise ExportError(
                f"{name} is not constant: {e.file.scheme.name} makes its multiplier when the file is written; "
                "give the scale as a constant"
            )
    said = [f"{name} = {_shown(value)}" for name, value in scales]
    said += [f"{name} = {p.step(name).formula} = {_shown(p.step(name).value)}" for name in shown]
    said += [f"{name} = {p.step(name).formula}" for name in wanted]
    operands, definitions = [], []
    for name, kind in wanted.items():
        value = np.asarray(p.step(name).value)
        if value.size == 1:
            constant = e.file.names.new(name)
            definitions.append(text.scalar(constant, value, kind))
            operands.append(Operand(kind, constant, "", ()))
            continue
        e.file.count(value)
        constant = e.file.names.new(f"{name}s")
        definitions.append(text.array(constant, value, kind))
        operands.append(Operand(kind, name, constant, value.shape))
    e.file.definitions.append("\n".join([text.comment(*said), *definitions]))
    return operands


def read(operands: Sequence[Operand]) -> list[Operand]:
    """Those that a function takes as parameters: the others are constants of the file."""
    return [o for o in operands if o.array]


def _shown(value: Array) -> str:
    flat = np.asarray(value).reshape(-1)
    return repr(float(flat[0])) if flat.size == 1 else f"{flat.size} values"


def rescaled(
    e: Emission, p: Primitive, value: str, scales: Sequence[tuple[str, Array]], shown: Sequence[str],
    prefix: str = "", *, high_word: bool = False,
) -> Part:  # fmt: skip
    """``value``, an int32, times the multiplier of a stage: lines that end with ``rounded``.

    Args:
        prefix: of the stage's steps. high_word: CMSIS-NN's shift in two parts, the first kept in an int32.

    Raises:
        ExportError: a shift that an int64 does not have.
    """
    name = f"{prefix}shift" if p.find(f"{prefix}shift") else f"{prefix}right_shift"
    shifts = np.asarray(p.step(name).value)
    rounds_twice = p.find(f"{prefix}high_product") is not None
    if (abs(shifts) > LARGEST_SHIFT).any():
        raise ExportError(
            f"{name} is {int(shifts.reshape(-1)[abs(shifts).argmax()])}, more than a 64-bit integer can be shifted by: "
            "take scales that are nearer to each other"
        )
    kinds = {f"{prefix}quantized_multiplier": "int32_t", name: "int32_t"}
    moves = not rounds_twice or name.endswith("right_shift") or bool(shifts.any())
    if not moves:
        del kinds[name]
    used = constants(e, p, scales, shown, kinds)
    factor, shift = used[0].name, used[-1].name if moves else "0"
    form = _twice if rounds_twice else _once
    lines = form(e, p, value, prefix, factor, shift, shifts, high_word)
    return Part(lines, read(used))


def _twice(
    e: Emission, p: Primitive, value: str, prefix: str, factor: str, shift: str, shifts: Array, _: bool
) -> list[str]:  # fmt: skip
    """SQRDMULH, then a rounding shift."""
    lines, to_left = [], p.find(f"{prefix}left_shifted")
    right = shift
    if p.find(f"{prefix}shift"):  # positive to the left
        if (shifts < 0).all():
            right = f"-{shift}"
        elif (shifts <= 0).any() and (shifts < 0).any():
            right = f"{shift} < 0 ? -{shift} : 0"
        else:
            right = "0"
        left = shift if (shifts > 0).all() else f"({shift} > 0 ? {shift} : 0)"
        if to_left is not None:
            moved = f"{e.file.use('wrap32')}((int64_t){value} * ((int64_t)1 << {left}))"
            lines.append(line("int32_t", to_left.name, moved, to_left.formula))
            value = to_left.name
    high, rounded = p.step(f"{prefix}high_product"), p.step(f"{prefix}rounded")
    product = f"{e.file.use('sqrdmulh')}({value}, {factor})"
    lines.append(line("int32_t", high.name, product, high.formula))
    shifted = high.name
    if right != "0":
        away = rounded.formula.endswith("away from zero")
        how = "shift_half_away" if away else "shift_half_up"
        if not away and (shifts >= 0).any():
            shifted = f"{shift} < 0 ? {e.file.use(how)}({high.name}, -{shift}) : {high.name}"
        else:
            shifted = f"{e.file.use(how)}({high.name}, {right})"
    return [*lines, line("int64_t", rounded.name, shifted, rounded.formula)]


def _once(
    e: Emission, p: Primitive, value: str, prefix: str, factor: str, shift: str, _: Array, high_word: bool
) -> list[str]:  # fmt: skip
    """A product of 64 bits, then a rounding shift to an int32."""
    wide, rounded = p.step(f"{prefix}wide_product"), p.step(f"{prefix}rounded")
    lines = [line("int64_t", wide.name, f"(int64_t){value} * {factor}", wide.formula)]
    to_right = shift if p.find(f"{prefix}right_shift") else f"31 - {shift}"
    wrap32 = e.file.use("wrap32")
    if high_word:
        floor_shift = e.file.use("floor_shift")
        first = f"{wrap32}({floor_shift}({wide.name}, 30 - {shift}))"
        lines.append(line("int64_t", f"{prefix}twice", first, "half a step below the result"))
        half = f"{floor_shift}({prefix}twice + 1, 1)"
        return [*lines, line("int64_t", rounded.name, half, rounded.formula)]
    how = "shift_half_up" if rounded.formula.endswith("half up") else "shift_half_away"
    shifted = f"{wrap32}({e.file.use(how)}({wide.name}, {to_right}))"
    return [*lines, line("int64_t", rounded.name, shifted, rounded.formula)]


def sum_of_ratios(e: Emission, p: Primitive) -> Part:
    """XNNPACK's and QNNPACK's ADD: two integer multipliers with one shift."""
    a, b, target = p["a"], p["b"], p["target"]
    scales = [(q.scale_name, q.scale) for q in (a, b, target)]
    names = [f"{q.name}_quantized_multiplier" for q in (a, b)]
    kinds = dict.fromkeys(("right_shift", *names), "int32_t")
    used = constants(e, p, scales, [f"{q.name}_ratio" for q in (a, b)], kinds)
    shift, *factors = (o.name for o in used)
    terms: list[str] = []
    operands: list[Operand] = []
    for q, factor in zip((a, b), factors, strict=True):
        zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        operands += zeros
        terms.append(f"(int64_t)({q.name} - {zero}) * {factor}")
    total, rounded = p.step("accumulator"), p.step("rounded")
    how = "shift_half_up" if rounded.formula.endswith("half up") else "shift_half_away"
    lines = [
        line(
            "int32_t", "accumulator", f"{e.file.use('wrap32')}({' + '.join(terms)})", total.formula
        ),
        line(
            "int64_t", "rounded", f"{e.file.use(how)}(accumulator, {shift})", rounded.formula
        ),
    ]  # fmt: skip
    return Part(lines, operands)
