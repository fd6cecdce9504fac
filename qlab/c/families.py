"""Which schemes are written in C, and by what: scheme's name → its primitives' emitters."""

from collections.abc import Callable
from typing import Any

from qlab.c import (
    blocked_weights,
    conversions,
    dynamic,
    exact,
    exact_reals,
    ort_cpu,
    scaled_products,
    sgemm,
    specification,
)
from qlab.c.accumulation import centred, in_order, raw
from qlab.c.emission import Family
from qlab.errors import ExportError
from qlab.schemes import Scheme, schemes

_SPECIFICATION: dict[str, Callable[..., Any]] = {
    "quantize": specification.quantize,
    "dequantize": specification.dequantize,
    "dynamic_quantize": dynamic.specification,
    "add": specification.add,
    "multiply": specification.multiply,
    "accumulate": centred,
    "requantize": specification.requantize,
    "rescale": specification.rescale,
    "rescale_with_bias": scaled_products.rescale_with_bias,
    "contract": in_order,
    "multiply_blocks": blocked_weights.specification,
}
FAMILIES = {
    "exact": Family(
        "float",
        {
            "quantize": exact_reals.quantize,
            "dequantize": exact_reals.dequantize,
            "add": exact.add,
            "multiply": exact.multiply,
            "accumulate": centred,
            "requantize": exact.requantize,
            "rescale": exact_reals.rescale,
            "rescale_with_bias": exact_reals.rescale_with_bias,
            "dynamic_quantize": exact_reals.dynamic_quantize,
        },
        keeps_reals=False,
    ),
    "float32": Family("float", _SPECIFICATION),
    "float64": Family("double", _SPECIFICATION),
    "ort_cpu": Family(
        "float",
        {
            "quantize": conversions.quantize,
            "dequantize": conversions.dequantize,
            "dynamic_quantize": dynamic.ort_cpu,
            "add": ort_cpu.add,
            "multiply": ort_cpu.multiply,
            "accumulate": raw,
            "requantize": ort_cpu.requantize,
            "rescale": ort_cpu.rescale,
            "rescale_with_bias": scaled_products.rescale_with_bias_of_ort_cpu,
            "contract": sgemm.contract,
            "multiply_blocks": blocked_weights.ort_cpu,
        },
    ),
}


def family(scheme: Scheme) -> Family:
    """The emitters of a scheme. Raises ExportError where it has none: the name alone does not say how it rounds."""
    found = FAMILIES.get(scheme.name)
    usual = schemes().get(scheme.name)
    if found is None or (scheme.name != "ort_cpu" and scheme != usual):
        raise ExportError(
            f"the scheme {scheme.name} is not written in C; {', '.join(FAMILIES)} are"
        )
    return found
