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
    # From 1.29.0 on; up to 1.28.0 MLAS divides a window over the padding's end by its whole kernel.
    clipped = call.attribute("ceil_mode", 0) and call.attribute("count_include_pad", 0)
    pool = sliding(call, x.shape, mlas=call.opset < 19 and not clipped)
    yield from scheme.average_pool(x, pool, call.output, call.dtype("X"))


OPERATOR = Operator("AveragePool", "", ("X",), "ai.onnx AveragePool, opsets 7 to 22", _steps)
