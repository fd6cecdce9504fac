"""Functions of one real in float32, elementwise and as the tables of the quantized operators.

Source: onnxruntime 1.32.0, core/mlas/lib/logistic.cpp, x86_64/LogisticKernelFma3.S,
core/providers/cpu/activation/activations.h, contrib_ops/cpu/quantization/qlinear_lookup_table.cc.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import fma
from qlab.errors import TraceError
from qlab.functions import Function
from qlab.kernels.numbers import f32, wrap32
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Quantized, Target
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

# Sigmoid is x·p(x²) / q(x²) + 0.5; the coefficients of the highest powers first.
LOGISTIC_P = (4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03,
              2.48287947061529e-01)  # fmt: skip
LOGISTIC_Q = (6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03,
              1.16817656904453e-01, 9.93151921023180e-01)  # fmt: skip
LOGISTIC_RANGE = np.float32(18)

MultiplyAdd = Callable[[Array, Array, Array], Array]


def multiply_add(cpu: str) -> MultiplyAdd:
    """a·b + c, fused where the CPU's kernels are."""
    return (lambda a, b, c: f32(f32(a * b) + c)) if cpu == "sse" else fma


def polynomial(x: Array, coefficients: tuple[float, ...], cpu: str) -> Array:
    """Horner's scheme in float32, from the highest power on."""
    step, value = multiply_add(cpu), np.full(x.shape, coefficients[0], np.float32)
    for coefficient in coefficients[1:]:
        value = step(value, x, np.asarray(coefficient, np.float32))
    return value


def logistic(x: Array, cpu: str) -> Array:
    """MLAS's Sigmoid: a rational function of x clamped to ±18, then clamped. NaN stays."""
    clamped = np.clip(x, -LOGISTIC_RANGE, LOGISTIC_RANGE)
    square = f32(clamped * clamped)
    p = f32(clamped * polynomial(square, LOGISTIC_P, cpu))
    value = f32(f32(p / polynomial(square, LOGISTIC_Q, cpu)) + np.float32(0.5))
    # The kernels for AVX2 and AVX-512 do not clamp to 1: a few x near 18 give 1 + 2^-23.
    value = np.maximum(value, np.float32(0))
    return np.asarray(value if cpu in ("avx2", "vnni") else np.minimum(value, np.float32(1)))


def computed(scheme: "OrtCpu", function: Function, x: Array) -> tuple[Array, str]:
    """A function's float32 kernel, and its formula. Raises TraceError for one without a kernel here."""
    if function.name == "Sigmoid":
        if scheme.cpu == "arm64" and scheme.before((1, 24)):
            raise TraceError("Sigmoid on ARM64 up to 1.23 rounds otherwise; not modelled")
        return logistic(x, scheme.cpu), "f32(x·p(x²) / q(x²)) + 0.5 with x clamped to ±18"
    if function.name == "LeakyRelu":
        slope = np.float32(function.parameters["alpha"])
        return f32(np.where(x >= 0, x, slope * x)), "x where x ≥ 0, else f32(alpha · x)"
    raise TraceError(f"{function.name} has no proven arithmetic in ort_cpu")


def evaluate(scheme: "OrtCpu", x: Array, function: Function, tensor: str, dtype: str) -> Steps:
    """The function of each real."""
    value, formula = computed(scheme, function, scheme.real(x))
    yield Step("output", formula, value, tensor=tensor, dtype=dtype)
    return value


def lookup(scheme: "OrtCpu", q: Quantized, function: Function, target: Target) -> Steps:
    """One entry of the table for each code: DequantizeLinear, the float32 kernel, QuantizeLinear."""
    real = f32(f32(wrap32(q.codes - q.zero_point)) * scheme.real(q.scale))
    yield Step("real", f"f32({q.scale_name} · ({q.name} - {q.zero_point_name}))", real)
    value, formula = computed(scheme, function, real)
    yield Step(
        "value", re.sub(r"\bx\b", "real", formula), value, note="read from a table of all codes"
    )
    scaled = f32(value / scheme.real(target.scale))
    yield Step("scaled", f"f32(value / {target.scale_name})", scaled, decides=True)
    return (yield from scheme.to_codes(scaled, target))
