"""Pad: data with entries before and after along its axes; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, integers, of_one_type
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

OUTSIDE = -1  # an entry that is the constant, not one of data's


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data, fill = call["data"], _fill(call)
    if fill is not None:
        data, fill = of_one_type(call, ("data", "constant_value"))
    begins, ends = _pads(call, data.ndim)
    mode = call.attribute("mode", "constant")
    constant = np.zeros(data.shape, np.bool_)
    value = data
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        entries = _entries(mode, data.shape[axis], begin, end)
        outside = entries == OUTSIDE
        shape = [-1 if i == axis else 1 for i in range(data.ndim)]
        inside = np.where(outside, 0, entries)
        value, constant = np.take(value, inside, axis), np.take(constant, inside, axis)
        constant = constant | outside.reshape(shape)
    if constant.any():
        zero = np.zeros((), np.int64)
        if fill is None:
            fill = call.scheme.real(zero) if data.dtype == object else zero.astype(data.dtype)
        value = np.where(constant, fill.reshape(()), value)
    formula = f"data, with {mode} entries around"
    yield Step("output", formula, np.asarray(value), tensor=call.output, dtype=call.dtype("data"))


def _fill(call: Call) -> Array | None:
    if call.opset < 11:
        return np.asarray(call.attribute("value", 0.0), np.float32)
    return call.optional("constant_value")


def _pads(call: Call, rank: int) -> tuple[list[int], list[int]]:
    """Entries before and after along each axis."""
    pads = integers(call, "pads", since=11)
    if pads is None:
        raise TraceError("the required pads are absent")
    given = call.optional("axes") if call.opset >= 18 else None
    axes = (
        range(rank) if given is None else [axis_of(int(a), rank, "axes") for a in given.reshape(-1)]
    )
    if len(pads) != 2 * len(axes) or len(set(axes)) != len(axes):
        raise TraceError(
            f"pads has {len(pads)} entries for {len(axes)} axes; two for each axis are needed"
        )
    begins, ends = [0] * rank, [0] * rank
    for place, axis in enumerate(axes):
        begins[axis], ends[axis] = pads[place], pads[place + len(axes)]
    return begins, ends


def _entries(mode: str, size: int, begin: int, end: int) -> Array:
    """Which entry of data each of the result's is along one axis.

    Negative pads take entries away first; the modes repeat what is left.
    """
    first, last = max(-begin, 0), size - max(-end, 0)
    left = last - first
    if left < 0:
        raise TraceError(f"pads {begin} and {end} take more than the {size} entries of an axis")
    places = np.arange(-max(begin, 0), left + max(end, 0))
    inside = (places >= 0) & (places < left)
    if mode == "constant":
        return np.where(inside, places + first, OUTSIDE)
    if mode not in ("edge", "wrap", "reflect"):
        raise TraceError(f"mode {mode!r} is not constant, reflect, edge or wrap")
    if not inside.all():
        if left == 0 or (mode == "reflect" and max(begin, end) >= left):
            words = f"{mode} pads of {begin} and {end} are more than the {size} entries allow"
            raise TraceError(words)
        if mode == "edge":
            places = np.clip(places, 0, left - 1)
        elif mode == "wrap":
            places = places % left
        else:
            bounced = np.abs(places)
            places = np.where(bounced < left, bounced, 2 * (left - 1) - bounced)
    return np.asarray(places + first)


OPERATOR = Operator(
    "Pad",
    "",
    ("data", "pads", "constant_value", "axes"),
    "ai.onnx Pad, opsets 2 to 25",
    _steps,
)
