"""Float8 from float32 as ONNX Runtime's constructors have it: right but for two ranges beyond the largest number.

Without saturation Float8E4M3FN takes 480 to below 496 for 448, and Float8E5M2 takes 61440 to below 65536 for NaN, where
the specification has NaN and infinity. Up to 1.19 the types without a negative zero made NaN of negative numbers that
round to 0.

Source: onnxruntime 1.32.0, core/common/float8.h (the constructors from float), core/util/qmath.h (ParQuantizeLinearSat).
"""

from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import to_float8
from qlab.ops import Steps
from qlab.qtypes import DTYPES, Array
from qlab.schemes import Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

# Type → a range of magnitudes, the end left out, and what it becomes without saturation (with the number's sign).
ODD = {
    # The mantissa 111 of the largest exponent is NaN's, so it is cut to 110 before the rest is looked at.
    "float8_e4m3fn": (480.0, 496.0, 448.0, "480 to 496 becomes 448, where the specification has NaN"),
    # Infinity's bits are or-ed into those of the largest number, which makes NaN's.
    "float8_e5m2": (61440.0, 65536.0, np.nan, "61440 to 65536 becomes NaN, where the specification has infinity"),
}  # fmt: skip


def round_to_target(scheme: "OrtCpu", scaled: Array, target: Target) -> Steps:
    """Float32 → float8, once, half to even; finishes the target's tensor."""
    value = to_float8(scaled, target.dtype, saturate=target.saturate)
    note = ""
    if not target.saturate and target.dtype in ODD:
        low, high, becomes, words = ODD[target.dtype]
        odd = (np.abs(scaled) >= low) & (np.abs(scaled) < high)
        if odd.any():
            signed = np.copysign(np.float32(becomes), scaled).astype(DTYPES[target.dtype])
            value, note = np.asarray(np.where(odd, signed, value)), words
    if scheme.before((1, 20)) and target.dtype.endswith("uz"):
        odd = (value.astype(np.float32) == 0) & (scaled < 0)
        if odd.any():
            value = np.asarray(np.where(odd, np.asarray(np.nan).astype(value.dtype), value))
            note = "a negative number that rounds to 0 becomes NaN"
    formula = f"{target.dtype}(scaled{', saturated' if target.saturate else ''})"
    yield Step("output", formula, value, tensor=target.tensor, note=note)
    return value
