"""Matrix products of codes that end as float32: with a bias, a scale that comes last, A quantized over its range."""

import itertools

import pytest

from qlab.batteries import batteries
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from tests.c.compiled import needs_compiler, none_differs

pytestmark = needs_compiler
BATTERIES = ("MatMulIntegerToFloat uint8 × int8", "MatMulIntegerToFloat int8 × int8", "DynamicQuantizeMatMul float32 × int8",
             "DynamicQuantizeMatMul float32 × uint8")  # fmt: skip
SCHEMES = {
    "float32": scheme("float32"),
    "float64": scheme("float64"),
    "avx2": OrtCpu("avx2"),
    "sse": OrtCpu("sse"),
}


@pytest.mark.parametrize("battery", BATTERIES)
@pytest.mark.parametrize("name", SCHEMES)
def test_products_as_floats(name, battery):
    for case in itertools.islice(batteries()[battery].cases(0), 0, None, 9):
        none_differs(case, SCHEMES[name])
