"""QLinearAveragePool: the mean of each window of codes, requantized; ``channels_last`` has (N, spatial…, C)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.errors import TraceError
from qlab.ops import Call, Operator
from qlab.ops.pools import QLINEAR_INPUTS, quantized, sliding
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    if "dilations" in call.node.attributes:
        raise TraceError("the attribute dilations is not one of QLinearAveragePool's")
    x, target = quantized(call)
    last = bool(call.attribute("channels_last", 0))
    pool = sliding(call, x.codes.shape, channels_last=last)
    yield from scheme.quantized_average_pool(x, pool, target)


OPERATOR = Operator(
    "QLinearAveragePool",
    "com.microsoft",
    QLINEAR_INPUTS,
    "com.microsoft QLinearAveragePool, onnxruntime 1.32.0",
    _steps,
    one_type=True,
)
