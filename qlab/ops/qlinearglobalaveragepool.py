"""QLinearGlobalAveragePool: the mean of each channel's image of codes, requantized; ``channels_last`` too."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.ops import Call, Operator
from qlab.ops.pools import QLINEAR_INPUTS, quantized, whole
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    x, target = quantized(call)
    last = bool(call.attribute("channels_last", 0))
    yield from scheme.quantized_average_pool(x, whole(x.codes.shape, channels_last=last), target)


OPERATOR = Operator(
    "QLinearGlobalAveragePool",
    "com.microsoft",
    QLINEAR_INPUTS,
    "com.microsoft QLinearGlobalAveragePool, onnxruntime 1.32.0",
    _steps,
    one_type=True,
)
