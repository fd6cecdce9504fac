"""Values that a real can have where it stands for a code of 8 bits: so few that a function of them can be proven.

The specification's float32 and float64 take exp from Python's math. That of another C library may differ in the last
bits of a double, so C can only have it where no such bit decides, or from a table.
"""

import math
from collections.abc import Callable

import numpy as np

from qlab.c.emission import Emission
from qlab.errors import ExportError
from qlab.ops import Steps
from qlab.qtypes import Array, bounds, dtype_name, is_integer
from qlab.schemes import Quantized

MARGIN = (
    2.0**-46
)  # relative, 64 units in the last place of a double: far more than any C library's exp errs


def value_of(steps: Steps) -> Array:
    """What a primitive returns; its steps are passed over."""
    with np.errstate(all="ignore"):
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return np.asarray(end.value)


def require_constant(e: Emission, *names: str) -> None:
    """Raises ExportError where a node computes one of these inputs, so that no table can be made of it."""
    for name in names:
        if e.tensor(name) and e.graph.producer(e.tensor(name)) is not None:
            raise ExportError(
                f"{name} is computed by a node; {e.node.op_type} in C needs it constant: its table is made of it"
            )


def codes_of(kind: str) -> Array:
    """All codes of ``int8_t`` or ``uint8_t``, from the lowest on."""
    low, high = bounds(kind.removesuffix("_t"))
    return np.arange(low, high + 1)


def source(e: Emission, name: str) -> Quantized:
    """All codes that an input stands for, with scale and zero point.

    Raises:
        ExportError: it is made by no DequantizeLinear of at most 8 bits with one constant scale.
    """
    node = e.graph.producer(e.tensor(name))
    if node is not None and node.op_type == "DequantizeLinear":
        codes = e.trace.tensors[node.input(0)]
        given = [node.input(1), *filter(None, [node.input(2)])]
        scale, *zero = (e.trace.tensors[tensor] for tensor in given)
        constant = all(e.graph.producer(tensor) is None for tensor in given)
        small = is_integer(codes.dtype) and codes.dtype.itemsize == 1
        if small and constant and scale.size == 1:
            low, high = bounds(dtype_name(codes.dtype))
            zero_point = np.asarray(zero[0] if zero else 0).reshape(()).astype(np.int64)
            return Quantized("x", np.arange(low, high + 1), scale.reshape(()), zero_point)
    raise ExportError(
        f"{e.node.op_type} of any real in {e.file.scheme.name} needs exp as Python's math has it, which no C library "
        "promises; behind a DequantizeLinear of 8 bits with one constant scale it is written, and in ort_cpu"
    )


def reals(e: Emission, q: Quantized) -> Array:
    """The scheme's reals of all codes. Raises ExportError where they are not finite."""
    values = value_of(e.file.scheme.dequantize(q, "", "float32"))
    if not np.isfinite(values.astype(np.float64)).all():
        raise ExportError(
            f"the scale {float(q.scale)} gives values that are not finite: {e.node.op_type} of them is not written in C"
        )
    return values


def require_decided(
    e: Emission, arguments: Array, function: Callable[[float], float], name: str
) -> None:
    """Raises ExportError where the last bits of a double may decide the float32 that a result is rounded to."""
    for x in np.unique(arguments.astype(np.float64)).tolist():
        value = function(x)
        low, high = (np.float32(value * (1 + sign * MARGIN)) for sign in (-1, 1))
        if low != high and not math.isnan(value):
            raise ExportError(
                f"{name}({x!r}) is so near to the middle between two float32 that a C library may round it to either; "
                "take float64 or ort_cpu"
            )
