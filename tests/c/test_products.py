"""Matrix products and convolutions as C, over the batteries: saturating pairs, bias, zero points per channel."""

import itertools

import pytest

from qlab.batteries import batteries
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from tests.c.compiled import needs_compiler, none_differs

pytestmark = needs_compiler
CODES = ("QLinearMatMul uint8 × int8", "QLinearConv uint8 × int8", "QGemm int8 × int8", "ConvInteger uint8 × uint8",
         "MatMulInteger uint8 × int8")  # fmt: skip
SCHEMES = {
    "exact": scheme("exact"),
    "float32": scheme("float32"),
    "float64": scheme("float64"),
    "avx2": OrtCpu("avx2"),
    "vnni": OrtCpu("vnni"),
}


@pytest.mark.parametrize("battery", CODES)
@pytest.mark.parametrize("name", SCHEMES)
def test_products_of_codes(name, battery):
    for case in itertools.islice(batteries()[battery].cases(0), 0, None, 12):
        none_differs(case, SCHEMES[name])


@pytest.mark.parametrize(
    "battery", ["QDQ MatMul int8 × int8", "QDQ Gemm uint8 × int8", "QDQ Conv int8 × int8"]
)
@pytest.mark.parametrize("name", ["float32", "float64", "vnni"])
def test_groups(name, battery):
    """Dequantized, multiplied in float, quantized: one function a node, and one that calls them."""
    for case in itertools.islice(batteries()[battery].cases(0), 0, None, 40):
        none_differs(case, SCHEMES[name])
