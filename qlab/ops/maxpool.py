"""MaxPool, and com.microsoft NhwcMaxPool of codes: the largest of each window that slides over X."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.parameters import reals
from qlab.ops.pools import channels_first, sliding
from qlab.qtypes import is_integer
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    yield from _pooled(call, scheme, channels_last=False)


def _nhwc_steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    if call.dtype("x") not in ("int8", "uint8"):
        raise TraceError(f"x is {call.dtype('x')}; NhwcMaxPool has int8 and uint8")
    yield from _pooled(call, scheme, channels_last=True)


def _pooled(call: Call, scheme: "Scheme", *, channels_last: bool) -> Iterator[Step]:
    name = call.operator.inputs[0]
    dtype = call.dtype(name)
    if is_integer(call[name].dtype) and dtype not in ("int8", "uint8"):
        raise TraceError(f"{name} is {dtype}; of the integers int8 and uint8 have a MaxPool")
    x = call[name] if is_integer(call[name].dtype) else reals(call, name)
    if x.ndim < 3:
        raise TraceError(f"{name} has the shape {list(x.shape)}; a pool needs at least 3 axes")
    x = np.moveaxis(x, -1, 1) if channels_last else channels_first(call, x)
    dilated = max(call.attribute("dilations", None) or (1,)) > 1
    pool = sliding(call, x.shape, mlas=not dilated, channels_last=channels_last)
    yield from scheme.max_pool(x, pool, call.output, dtype)


OPERATOR = Operator("MaxPool", "", ("X",), "ai.onnx MaxPool, opsets 1 to 22", _steps)
NHWC = Operator(
    "NhwcMaxPool",
    "com.microsoft",
    ("x",),
    "com.microsoft NhwcMaxPool, onnxruntime 1.32.0",
    _nhwc_steps,
)
