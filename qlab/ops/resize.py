"""Resize: a tensor of other lengths; each element the nearest entry, or linear between entries.

Modelled are ``nearest`` and ``linear`` from opset 11 on, without antialiasing, with lengths or scales as given.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import LARGEST, refuse_large
from qlab.errors import TraceError
from qlab.interpolation import FORMULAS, NEAREST, Resampling
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of
from qlab.qtypes import Array
from qlab.trace import Index, Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _present(call: Call, name: str) -> Array | None:
    """An input; None where it is absent or empty, which opset 11 has for absent."""
    value = call.optional(name)
    return None if value is None or not value.size else value.reshape(-1)


def _attribute(call: Call, name: str, default: str, known: tuple[str, ...]) -> str:
    value = str(call.attribute(name, default))
    if value not in known:
        raise TraceError(f"{name} {value!r} is not modelled; {', '.join(known)} are")
    return value


def _lengths(call: Call, sizes: Index, axes: Index) -> tuple[Index, Array | None]:
    """The lengths of the result, and the scales where those are given."""
    scales, wanted = _present(call, "scales"), _present(call, "sizes")
    if (scales is None) == (wanted is None):
        raise TraceError("one of scales and sizes is needed, and not both")
    given = scales if scales is not None else wanted
    assert given is not None
    if len(given) != len(axes):
        name = "scales" if scales is not None else "sizes"
        raise TraceError(
            f"{name} has {len(given)} entries; {len(axes)} are needed, one for each axis"
        )
    if scales is None:
        outputs = list(sizes)
        for axis, value in zip(axes, given, strict=True):
            outputs[axis] = int(value)
        if min(outputs) < 0 or any(n == 0 < m for n, m in zip(sizes, outputs, strict=True)):
            raise TraceError(f"sizes {outputs} cannot be made of {list(sizes)}")
        return tuple(outputs), None
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise TraceError(f"scales {scales.tolist()}: each must be above 0 and finite")
    whole = np.ones(len(sizes), np.float32)
    whole[list(axes)] = scales.astype(np.float32)
    # In float32, as ONNX's shape inference multiplies: the shape is no matter of the scheme.
    products = np.floor(whole * np.asarray(sizes, np.float32))
    return tuple(int(n) for n in products), whole


def _parse(call: Call) -> Resampling:
    sizes = call["X"].shape
    rank = len(sizes)
    if call.opset < 11:
        raise TraceError("Resize of opset 10 is not modelled; from opset 11 on it is")
    if not rank:
        raise TraceError("X has no axis to resize")
    if call.attribute("antialias", 0):
        raise TraceError("antialias is not modelled")
    _attribute(call, "keep_aspect_ratio_policy", "stretch", ("stretch",))
    axes = tuple(axis_of(int(a), rank, "axes") for a in call.attribute("axes", ())) or tuple(range(rank))  # fmt: skip
    outputs, scales = _lengths(call, sizes, axes)
    coordinates = _attribute(call, "coordinate_transformation_mode", "half_pixel", tuple(FORMULAS))
    roi = np.repeat(np.array([0, 1], np.float32), rank)
    if coordinates == "tf_crop_and_resize":
        given = _present(call, "roi")
        if given is None or len(given) != 2 * len(axes):
            raise TraceError(f"roi of {2 * len(axes)} entries is needed by tf_crop_and_resize")
        if scales is not None:
            raise TraceError("tf_crop_and_resize with scales is not modelled; with sizes it is")
        roi[[*axes, *(rank + axis for axis in axes)]] = given.astype(np.float32)
    return Resampling(
        _attribute(call, "mode", "nearest", ("nearest", "linear")),
        coordinates,
        _attribute(call, "nearest_mode", "round_prefer_floor", tuple(NEAREST)),
        sizes,
        outputs,
        scales,
        roi,
        float(call.attribute("extrapolation_value", 0.0)),
    )


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    how = _parse(call)
    refuse_large(how.outputs, LARGEST)
    if 0 in how.outputs:
        empty = np.empty(how.outputs, call["X"].dtype)
        yield Step("output", "no elements", empty, tensor=call.output, dtype=call.dtype("X"))
        return
    yield from scheme.resize(call["X"], how, call.output, call.dtype("X"))


OPERATOR = Operator(
    "Resize", "", ("X", "roi", "scales", "sizes"), "ai.onnx Resize, opsets 11 to 19", _steps
)
