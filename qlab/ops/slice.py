"""Slice: from start to end in steps, along some axes; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, integers, moved
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

INPUTS = ("data", "starts", "ends", "axes", "steps")


def part(start: int, end: int, step: int, size: int) -> slice:
    """ONNX's start, end and step as a slice: negative ones count from the end, those beyond go to it."""
    if step == 0:
        raise TraceError("steps has a 0; each must be above or below it")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    start, end = (n + size if n < 0 else n for n in (start, end))
    start = min(max(start, 0), high)
    end = min(max(end, low), high if step > 0 else size)
    return slice(start, None if end < 0 else end, step)


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data = call["data"]
    starts, ends, axes, steps = (integers(call, name, since=10) for name in INPUTS[1:])
    if starts is None or ends is None:
        raise TraceError("starts and ends are needed")
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise TraceError(
            f"starts, ends, axes and steps have {len(starts)}, {len(ends)}, {len(axes)} and {len(steps)} entries; "
            "all must have as many"
        )
    parts = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        at = axis_of(axis, data.ndim, "axes")
        parts[at] = part(start, end, step, data.shape[at])
    yield moved(call, "data", "data from starts to ends", data[tuple(parts)])


OPERATOR = Operator("Slice", "", INPUTS, "ai.onnx Slice, opsets 1 to 13", _steps)
