"""Which schemes are written in C, and by what: scheme's name → its primitives' emitters."""

from collections.abc import Callable
from typing import Any

from qlab.c import (
    blocked_weights,
    casting,
    choosing,
    conversions,
    converting,
    dynamic,
    exact,
    exact_reals,
    functions,
    ort_cpu,
    ort_pools,
    pooling,
    qlinearsoftmax,
    rational,
    rational_products,
    scaled_products,
    sgemm,
    softmax,
    specification,
)
from qlab.c.accumulation import centred, in_order, raw
from qlab.c.emission import Family
from qlab.c.fixed_families import FAMILIES as BY_INTEGERS
from qlab.errors import ExportError
from qlab.schemes import Scheme, variants

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
    "average_pool": pooling.average_pool,
    "max_pool": pooling.max_pool,
    "mean": specification.mean,
    "evaluate": functions.specification_evaluate,
    "lookup": functions.specification_lookup,
    "softmax": softmax.specification_softmax,
    "quantized_softmax": softmax.specification_quantized,
    "convert": converting.specification,
    "select": choosing.select,
    "cast": casting.specification,
    "multiply_blocks": blocked_weights.specification,
}
FAMILIES = {
    "exact": Family(
        "float",
        {
            "quantize": rational.quantize,
            "dequantize": rational.dequantize,
            "contract": rational.contract,
            "add": exact.add,
            "multiply": exact.multiply,
            "accumulate": centred,
            "requantize": exact.requantize,
            "rescale_with_bias": rational_products.rescale_with_bias,
            "multiply_blocks": rational_products.multiply_blocks,
            "average_pool": pooling.exact_average_pool,
            "max_pool": pooling.max_pool,
            "mean": exact.mean,
            "evaluate": functions.exact_evaluate,
            "lookup": functions.exact_lookup,
            "softmax": softmax.exact_softmax,
            "quantized_softmax": qlinearsoftmax.exact,
            "convert": converting.exact,
            "select": choosing.select,
            "cast": casting.exact,
            "rescale": exact_reals.rescale,
            "dynamic_quantize": exact_reals.dynamic_quantize,
        },
        between="whole",
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
            "average_pool": ort_pools.average_pool,
            "max_pool": ort_pools.max_pool,
            "mean": ort_pools.mean,
            "real_of_code": ort_pools.real_of_code,
            "evaluate": functions.ort_cpu_evaluate,
            "lookup": functions.ort_cpu_lookup,
            "softmax": softmax.ort_cpu_softmax,
            "quantized_softmax": qlinearsoftmax.ort_cpu,
            "convert": converting.ort_cpu,
            "select": choosing.ort_cpu_select,
            "cast": casting.specification,
            "multiply_blocks": blocked_weights.ort_cpu,
        },
    ),
    **BY_INTEGERS,
}
_ANY_PARAMETERS = {"ort_cpu", *BY_INTEGERS}  # their emitters read them from the scheme


def family(scheme: Scheme) -> Family:
    """The emitters of a scheme. Raises ExportError where it has none: the name alone does not say how it rounds."""
    found = FAMILIES.get(scheme.name)
    any_parameters = scheme.name in _ANY_PARAMETERS or scheme in variants().values()
    if found is None or not any_parameters:
        raise ExportError(
            f"the scheme {scheme.name} is not written in C; {', '.join(FAMILIES)} are"
        )
    return found
