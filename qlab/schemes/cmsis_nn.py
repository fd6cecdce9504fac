"""cmsis_nn: Arm's kernels for microcontrollers: TFLite's integers and multipliers, int8 only.

``arm_nn_requantize`` rounds twice by default and once with CMSIS_NN_USE_SINGLE_ROUNDING. Multipliers and shifts are
arguments of its functions: TensorFlow Lite Micro, which calls them, computes them as TFLite does.
"""

import dataclasses
import functools

from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Quantized, Target, tflite
from qlab.schemes.fixed_point import double_rounding, single_rounding


@dataclasses.dataclass(frozen=True)
class CmsisNn(tflite.Tflite):
    """arm_convolve_s8, arm_fully_connected_s8, arm_elementwise_add_s8 and _mul_s8.

    Attributes:
        rounding, product: as in `tflite.Tflite`.
    """

    name: str = "cmsis_nn"
    source: str = (
        "ARM-software/CMSIS-NN: Include/arm_nnsupportfunctions.h at bfc54edb, "
        "Source/BasicMathFunctions/arm_elementwise_{add,mul}_s8.c at 46fee474 and 006cac92, "
        "Source/PoolingFunctions/arm_avgpool_s8.c at 6ebba504"
    )
    dtypes: tuple[str, ...] = ("int8",)

    def quantize(self, x: Array, target: Target) -> Steps:
        """Refused: the caller does that."""
        raise self._lacks("quantizing a real tensor")

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """Refused: the caller does that."""
        raise self._lacks("dequantizing a tensor")

    def _rounded(self, value: Array, quantized: Array, shift: Array, what: str, name: str) -> Steps:
        if self.rounding == "double":
            return (yield from double_rounding(value, quantized, shift, what, name))
        form = single_rounding(value, quantized, shift, what, name, high_word=True)
        return (yield from form)


average_pool = functools.partial(tflite.average_pool, name="cmsis_nn")  # arm_avgpool_s8: TFLite's

SCHEME = CmsisNn()
VARIANTS = {
    "cmsis_nn (double rounding)": SCHEME,
    "cmsis_nn (single rounding)": CmsisNn("single"),
}
