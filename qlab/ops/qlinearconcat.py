"""QLinearConcat: tensors of codes one after the other along an axis, each converted to the result's parameters."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.moving import axis_of, of_one_type
from qlab.ops.parameters import codes, per_tensor, target, zero_point
from qlab.qtypes import Array
from qlab.schemes import Quantized
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    count, rest = divmod(len(call.node.inputs) - 2, 3)
    if rest or count < 1:
        raise TraceError(
            f"it has {len(call.node.inputs)} inputs; Y_scale, Y_zero_point, and codes, scale and zero point "
            "of each tensor are needed"
        )
    names = tuple(f"X{i}" for i in range(count))
    of_one_type(call, ("Y_zero_point", *names, *(f"{n}_zero_point" for n in names)))
    parts = [codes(call, name, bits=8) for name in names]
    axis = axis_of(call.attribute("axis", 1), parts[0].ndim)
    joined = np.concatenate(parts, axis=axis)

    def spread(suffix: str, parameters: list[Array]) -> Array:
        """One entry a tensor → one for each position along the axis."""
        scalars = [per_tensor(n + suffix, p) for n, p in zip(names, parameters, strict=True)]
        along = np.repeat(np.stack(scalars), [part.shape[axis] for part in parts])
        return along.reshape([-1 if i == axis else 1 for i in range(joined.ndim)])

    yield Step("X", f"{', '.join(names)} along axis {axis}", joined)
    scale = spread("_scale", [call[f"{name}_scale"] for name in names])
    yield Step("X_scale", "the scale of each tensor", scale)
    zeros = spread("_zero_point", [zero_point(call, f"{name}_zero_point") for name in names])
    yield Step("X_zero_point", "the zero point of each tensor", zeros)
    per_tensor("Y_scale", call["Y_scale"])
    made = target(call, "Y", call.dtype("Y_zero_point"), joined.shape, axis)
    yield from scheme.convert(Quantized("X", joined, scale, zeros), made)


OPERATOR = Operator(
    "QLinearConcat",
    "com.microsoft",
    ("Y_scale", "Y_zero_point"),
    "com.microsoft QLinearConcat, onnxruntime 1.32.0",
    _steps,
    variadic=("X{}", "X{}_scale", "X{}_zero_point"),
    one_type=True,
)
