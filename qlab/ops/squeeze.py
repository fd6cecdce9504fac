"""Squeeze: without axes of one entry; moves values, changes none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, integers, moved
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    data = call["data"]
    given = integers(call, "axes", since=13)
    if given is None:
        axes = {axis for axis, size in enumerate(data.shape) if size == 1}
    else:
        axes = {axis_of(axis, data.ndim, "axes") for axis in given}
    for axis in sorted(axes):
        if data.shape[axis] != 1:
            raise TraceError(
                f"axis {axis} has {data.shape[axis]} entries; only one can be left out"
            )
    shape = [size for axis, size in enumerate(data.shape) if axis not in axes]
    yield moved(call, "data", "data without axes of one entry", data.reshape(shape))


OPERATOR = Operator("Squeeze", "", ("data", "axes"), "ai.onnx Squeeze, opsets 1 to 23", _steps)
