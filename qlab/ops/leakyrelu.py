"""LeakyRelu: y = x where x is not negative, else alpha · x."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qlab.functions import leaky_relu
from qlab.ops import Call, Operator
from qlab.ops.parameters import reals
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme


def _steps(call: Call, scheme: "Scheme") -> Iterator[Step]:
    function = leaky_relu(call.attribute("alpha", 0.01))
    yield from scheme.evaluate(reals(call, "X"), function, call.output, call.dtype("X"))


OPERATOR = Operator(
    "LeakyRelu", "", ("X",), "ai.onnx LeakyRelu, opsets 6 to 16", _steps, elementwise=True
)
