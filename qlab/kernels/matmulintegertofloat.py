"""MatMulIntegerToFloat: sums times a float32 multiplier, then the bias; a scale that the kernel refuses comes last.

Source: onnxruntime 1.32.0, contrib_ops/cpu/quantization/dynamic_quantize_matmul.cc (ScaleOutput),
core/mlas/lib/qpostprocessor.cpp.
"""

from typing import TYPE_CHECKING

from qlab.kernels.numbers import f32
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes.ort_cpu import OrtCpu

NOTE = "ONNX Runtime's matrix product does not take a scale of this shape: it multiplies by it last"


def rescale(
    scheme: "OrtCpu",
    accumulator: Array,
    scales: tuple[tuple[str, Array], ...],
    bias: Array | None,
    tensor: str,
    *,
    separate: bool,
) -> Steps:
    """f32(f32(accumulator) · multiplier) + bias; with ``separate`` all of it times the last scale."""
    *first, last = scales if separate else (*scales, None)
    value = yield from scheme.rescale(
        accumulator, tuple(s for s in first if s), "" if bias is not None or last else tensor
    )
    name = "scaled"
    if bias is not None:
        value, name = f32(value + bias), "biased"
        formula = "f32(scaled + bias)"
        yield Step("biased" if last else "output", formula, value, tensor="" if last else tensor)
    if last:
        value = f32(value * scheme.real(last[1]))
        note = NOTE + (", the bias too" if bias is not None else "")
        yield Step("output", f"f32({name} · {last[0]})", value, tensor=tensor, note=note)
    return value
