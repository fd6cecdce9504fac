"""Pad: with more entries at the ends of axes: a constant, or entries of the tensor; changes no value.

Entries are taken away first where pads are negative."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import refuse_large
from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, integers, moved, of_one_type
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

INPUTS = ("data", "pads", "constant_value", "axes")
MODES = ("constant", "reflect", "edge", "wrap")


def _pads(call: Call, rank: int) -> list[tuple[int, int]]:
    """How many entries are added before and after those of each axis."""
    pads = integers(call, "pads", since=11)
    if pads is None:
        raise TraceError("pads is needed")
    axes = integers(call, "axes", since=11)
    places = range(rank) if axes is None else [axis_of(axis, rank, "axes") for axis in axes]
    if len(pads) != 2 * len(places):
        raise TraceError(f"pads has {len(pads)} entries; {2 * len(places)} are needed, two for each axis")  # fmt: skip
    both = [(0, 0)] * rank
    for number, axis in enumerate(places):
        both[axis] = (pads[number], pads[len(places) + number])
    return both


def _fill(call: Call) -> tuple[Array, Array]:
    """data and what is added, in one number system."""
    if call.opset >= 11 and call.optional("constant_value") is not None:
        data, fill = of_one_type(call, ("data", "constant_value"))
        if fill.size != 1:
            raise TraceError(f"constant_value has {fill.size} entries; one is allowed")
        return data, fill.reshape(())
    data = call["data"]
    value = np.asarray(call.attribute("value", 0.0) if call.opset < 11 else 0.0, np.float32)
    if data.dtype == object:
        return data, call.scheme.real(value)
    return data, value.astype(data.dtype)


def cropped(data: Array, pads: list[tuple[int, int]]) -> Array:
    """Without the entries that negative pads take away."""
    for axis, (size, (before, after)) in enumerate(zip(data.shape, pads, strict=True)):
        kept = np.arange(size)[max(-before, 0) : max(size + min(after, 0), 0)]
        data = np.take(data, kept, axis=axis)
    return data


def source(before: int, after: int, size: int, mode: str) -> Array:
    """For each entry of the result the one that it is. Raises TraceError where there is none."""
    index = np.arange(-before, size + after)
    if size == 0 and index.size:
        raise TraceError(f"{mode} has nothing to repeat on an axis without entries")
    if mode == "edge":
        return np.clip(index, 0, size - 1)
    if mode == "wrap":
        return index % max(size, 1)
    if max(before, after) > size - 1 and max(before, after) > 0:
        raise TraceError(
            f"reflect of {max(before, after)} entries on an axis of {size} is not modelled; at most {size - 1} are"
        )
    index = np.abs(index)
    return np.where(index >= size, 2 * (size - 1) - index, index)


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    mode = str(call.attribute("mode", "constant"))
    if mode not in MODES:
        raise TraceError(f"mode {mode!r} is not one of {', '.join(MODES)}")
    data, fill = _fill(call)
    pads = _pads(call, data.ndim)
    shape = tuple(n + b + a for n, (b, a) in zip(data.shape, pads, strict=True))
    if min(shape, default=0) < 0:
        raise TraceError(f"pads take more entries away than the shape {list(data.shape)} has")
    refuse_large(shape)
    added = [(max(before, 0), max(after, 0)) for before, after in pads]
    inner = cropped(data, pads)
    if mode == "constant":
        value = np.full(shape, fill, data.dtype)
        inside = (slice(b, b + n) for n, (b, _) in zip(inner.shape, added, strict=True))
        if inner.size:
            value[tuple(inside)] = inner
    else:
        value = inner
        for axis, (before, after) in enumerate(added):
            index = source(before, after, inner.shape[axis], mode)
            value = np.take(value, index, axis=axis)
    named = "constant_value" if mode == "constant" else f"its own entries ({mode})"
    yield moved(call, "data", f"data, and {named} around it", value)


OPERATOR = Operator("Pad", "", INPUTS, "ai.onnx Pad, opsets 2 to 23", _steps)
