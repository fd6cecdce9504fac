"""Codes of one scale and zero point as codes of another: the table that QLinearConcat and QLinearWhere look up.

Source: onnxruntime 1.32.0, contrib_ops/cpu/quantization/{qlinear_concat,qlinear_where,qlinear_lookup_table}.cc. A table
of 256 entries is built when the session is made where all parameters are constants, else in each run: by the same code.
"""

from typing import TYPE_CHECKING

import numpy as np

from qlab.errors import TraceError
from qlab.kernels.numbers import f32
from qlab.ops import Steps
from qlab.schemes import Quantized, Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu


def convert(scheme: "OrtCpu", q: Quantized, target: Target) -> Steps:
    """Dequantized, then quantized: two roundings to float32. Codes of equal parameters are copied."""
    if target.dtype not in ("int8", "uint8"):
        raise TraceError(f"tables are of int8 or uint8 codes, not of {target.dtype}")
    scale, target_scale = scheme.real(q.scale), scheme.real(target.scale)
    centered = np.asarray(q.codes - q.zero_point)
    yield Step("centered", f"{q.name} - {q.zero_point_name}", centered)
    real = f32(f32(centered) * scale)
    yield Step("real", f"f32(centered · {q.scale_name})", real)
    copied = np.asarray((scale == target_scale) & (q.zero_point == target.zero_point))
    # A copied code is its own distance from the zero point: it passes through the rest unchanged.
    scaled = f32(np.where(copied, centered, f32(real / target_scale)))
    note = "codes of equal scale and zero point are copied, not computed" if copied.any() else ""
    formula = f"f32(real / {target.scale_name})"
    yield Step("scaled", formula, scaled, decides=True, note=note)
    return (yield from scheme.to_codes(scaled, target))
