"""AveragePool: the mean of each window that slides over X."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.ops import Call, Operator
from qlab.ops.parameters import reals
from qlab.ops.pools import channels_first, sliding
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x = channels_first(call, reals(call, "X"))
    pool = sliding(call, x.shape, mlas=call.opset < 19)
    yield from scheme.average_pool(x, pool, call.output, call.dtype("X"))


OPERATOR = Operator("AveragePool", "", ("X",), "ai.onnx AveragePool, opsets 7 to 22", _steps)
