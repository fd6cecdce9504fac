"""Scales and zero points: values and shapes."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from qlab.case import Case
from qlab.notation import integer, show
from qlab.qtypes import Array, is_float
from qlab.report import Finding
from qlab.rules.checked_node import SCALARS_ONLY, CheckedNode, Operand

# Which axis of which operand may have a scale and zero point for each entry. MatMul operands: rows of a, columns of b.
PER_AXIS = {
    ("QLinearConv", "w"): 0,
    ("ConvInteger", "w"): 0,
    ("QLinearMatMul", "a"): -2,
    ("QLinearMatMul", "b"): -1,
    ("QLinearMatMul", "y"): -2,
    ("MatMulInteger", "a"): -2,
    ("MatMulInteger", "b"): -1,
    ("QGemm", "b"): -1,
}
AXIS_WORDS = {0: "output channel", -2: "row", -1: "column"}
# What the specification allows and the CPU kernels refuse.
REFUSED_PER_AXIS = {
    ("QLinearMatMul", "a"),
    ("QLinearMatMul", "y"),
    ("MatMulInteger", "a"),
    ("ConvInteger", "w"),
}


def parameters(check: CheckedNode) -> Iterator[Finding]:
    """Values of scales, shapes of scales and zero points."""
    for operand in check.operands():
        scale, zero_point = (check.case.tensor(n) for n in (operand.scale, operand.zero_point))
        if scale is not None and is_float(scale.dtype):
            yield from _scale_values(check, operand, scale)
        held = {
            n: v
            for n, v in ((operand.scale, scale), (operand.zero_point, zero_point))
            if v is not None
        }
        wrong = [
            finding
            for name, value in held.items()
            for finding in _shape(check, operand, name, value)
        ]
        if len(wrong) == 2 and wrong[0].rule == wrong[1].rule:
            first, second = (f.found for f in wrong)
            found = first if first.startswith("axis") else f"{first}, {second}"
            wrong = [dataclasses.replace(wrong[0], found=found)]
        yield from wrong
        if (
            not wrong
            and scale is not None
            and zero_point is not None
            and scale.shape != zero_point.shape
        ):
            yield from _two_shapes(check, operand, scale, zero_point)


def _scale_values(check: CheckedNode, operand: Operand, scale: Array) -> Iterator[Finding]:
    values = scale.astype(np.float64).reshape(-1)
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if not len(bad):
        return
    value = scale.reshape(-1)[bad[0]]
    smallest = np.nextafter(np.float32(0), np.float32(1))
    which = f" in entry {bad[0]}" if scale.size > 1 else ""
    nearest, fix = "", None
    if value == 0 or value < 0:
        nearest = (
            f"the smallest {scale.dtype.name} above 0 is {show(smallest)}"
            if value == 0
            else "its absolute value"
        )
        if value < 0 or scale.dtype == np.float32:

            def fix() -> Case:
                repaired = np.where(scale == 0, smallest, np.abs(scale)).astype(scale.dtype)
                return check.case.with_tensor(operand.scale, repaired)

    divides = operand.codes in check.node.outputs
    what = "divides by" if divides else "multiplies by"
    literally = "; x / 0 is ±∞, which saturates, and 0 / 0 is NaN, which becomes the lowest code"
    yield check.finding(
        operand.scale,
        f"A scale is the size of one step, positive and finite: {check.node.op_type} {what} {operand.prefix}_scale"
        + (literally if divides and value == 0 else ""),
        f"{operand.scale} is {show(value)}{which}",
        nearest,
        fix,
    )


def _shape(check: CheckedNode, operand: Operand, name: str, value: Array) -> Iterator[Finding]:
    op_type, prefix = check.node.op_type, operand.prefix
    if op_type in ("QuantizeLinear", "DequantizeLinear"):
        yield from _linear_shape(check, operand, name, value)
        return
    axis = PER_AXIS.get((op_type, prefix))
    shape = check.known.get(operand.codes, ("", None))[1]
    single = value.shape == () if op_type in SCALARS_ONLY else value.size == 1
    if single:
        return
    allowed = "one for the whole tensor" + (
        " (a scalar, shape [])" if op_type in SCALARS_ONLY else ""
    )
    if axis is not None:
        each = AXIS_WORDS[axis]
        length = _length(check, operand, axis, shape)
        allowed = f"one for the whole tensor, or one for each {each}"
        if (op_type, prefix) in REFUSED_PER_AXIS and (length is None or value.size == length):
            yield check.finding(
                name,
                f"The specification allows one {_names(check, operand)} for each {each}; "
                "ONNX Runtime's CPU kernel takes one for the whole tensor",
                f"{name} has {_entries(value)}",
                f"one for all {each}s",
                lambda: _first_of(check, operand),
            )
            return
        if length is None or (value.size == length and value.ndim == 1):
            return
        allowed += f" ({length:,})"
    yield _wrong_shape(check, operand, name, value, allowed)


def _wrong_shape(
    check: CheckedNode, operand: Operand, name: str, value: Array, allowed: str
) -> Finding:
    return check.finding(
        name,
        f"{check.node.op_type} takes {_names(check, operand)} as {allowed}",
        f"{name} has the shape {list(value.shape)}",
        "its first entry for the whole tensor" if value.size else "",
        (lambda: _first_of(check, operand)) if value.size else None,
    )


def _names(check: CheckedNode, operand: Operand) -> str:
    """``x_scale and x_zero_point``, as far as the operator has them."""
    both = (f"{operand.prefix}_scale", f"{operand.prefix}_zero_point")
    return " and ".join(name for name in both if name in check.names)


def _entries(value: Array) -> str:
    return (
        "no entry"
        if not value.size
        else "1 entry"
        if value.size == 1
        else f"{value.size:,} entries"
    )


def _length(
    check: CheckedNode, operand: Operand, axis: int, shape: tuple[int, ...] | None
) -> int | None:
    if operand.prefix == "y":
        a = check.known.get(check.named.get("a", ""), ("", None))[1]
        return a[-2] if a is not None and len(a) > 1 else None
    if shape is None or len(shape) < 2:
        return None
    if check.node.op_type == "QGemm" and check.node.attributes.get("transB", 0):
        axis = -2
    return shape[axis]


def _first_of(check: CheckedNode, operand: Operand) -> Case:
    """Scale and zero point of an operand as one entry each, the first."""
    case = check.case
    for name in (operand.scale, operand.zero_point):
        value = case.tensor(name)
        if value is not None and value.size:
            case = case.with_tensor(name, value.reshape(-1)[:1].reshape(()))
    return case


def _linear_shape(
    check: CheckedNode, operand: Operand, name: str, value: Array
) -> Iterator[Finding]:
    shape = check.known.get(check.node.inputs[0], ("", None))[1]
    if shape is None or value.size == 1:
        return
    axis, block = check.node.attributes.get("axis", 1), check.node.attributes.get("block_size", 0)
    if not isinstance(block, int) or block < 0:
        return
    rank = len(shape)
    x = check.node.inputs[0]
    if not isinstance(axis, int) or not -rank <= axis < rank:
        fits = value.ndim == 1 and rank > 0 and value.size == shape[-1]
        yield check.finding(
            name,
            f"The axis must be from {integer(-rank)} to {rank - 1} for {x} of the shape {list(shape)}",
            f"axis is {integer(axis) if isinstance(axis, int) else axis}"
            + ("" if "axis" in check.node.attributes else " (the default)"),
            "axis = −1" if fits else "its first entry for the whole tensor" if value.size else "",
            (lambda: check.with_node(attributes={**check.node.attributes, "axis": -1}))
            if fits
            else (lambda: _first_of(check, operand))
            if value.size
            else None,
        )
        return
    blocked = (
        tuple(-(-n // block) if i == axis % rank else n for i, n in enumerate(shape))
        if block
        else None
    )
    wanted = blocked or (shape[axis],)
    if value.shape == wanted:
        return
    rule = f"one for the whole tensor, or one for each entry of axis {axis} ({shape[axis]:,})"
    if block:
        rule = f"one for each block of {block}: the shape {list(wanted)}"
    yield _wrong_shape(check, operand, name, value, rule)


def _two_shapes(
    check: CheckedNode, operand: Operand, scale: Array, zero_point: Array
) -> Iterator[Finding]:
    if scale.size == zero_point.size == 1 and check.node.op_type not in SCALARS_ONLY:
        return
    fix: Callable[[], Case] | None = None
    for name, one, many in (
        (operand.zero_point, zero_point, scale),
        (operand.scale, scale, zero_point),
    ):
        if one.size == 1 and many.size and fix is None:
            repeated = np.broadcast_to(one.reshape(()), many.shape).copy()
            fix = functools.partial(check.case.with_tensor, name, repeated)
    yield check.finding(
        operand.zero_point,
        f"{operand.prefix}_scale and {operand.prefix}_zero_point must have the same shape",
        f"{operand.scale} has the shape {list(scale.shape)}, {operand.zero_point} {list(zero_point.shape)}",
        "the single one repeated" if fix else "",
        fix,
    )
