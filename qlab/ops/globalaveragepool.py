"""GlobalAveragePool: the mean of each channel's image."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.ops import Call, Operator
from qlab.ops.parameters import reals
from qlab.ops.pools import channels_first, whole
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x = channels_first(call, reals(call, "X"))
    yield from scheme.average_pool(x, whole(x.shape), call.output, call.dtype("X"))


OPERATOR = Operator(
    "GlobalAveragePool", "", ("X",), "ai.onnx GlobalAveragePool, opsets 1 to 22", _steps
)
