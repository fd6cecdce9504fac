"""Matrix products of codes that end as float32: with a bias, a scale that comes last, A quantized over its range."""

import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.c import c_source
from qlab.case import Case
from qlab.errors import ExportError
from qlab.graph import Graph, Node
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


@pytest.mark.parametrize("battery", [*BATTERIES[:2], "DynamicQuantizeLinear uint8"])
def test_exact(battery):
    """A rational number, rounded once to float32; a scale that is one, and codes over it."""
    for case in itertools.islice(batteries()[battery].cases(0), 0, None, 18):
        none_differs(case, scheme("exact"))


def test_exact_has_no_scale_that_a_node_computes():
    case = next(iter(batteries()[BATTERIES[2]].cases(0)))
    with pytest.raises(ExportError, match="rational number that the node computes"):
        c_source(case, scheme("exact"))


@pytest.mark.parametrize("name", ["exact", *SCHEMES])
def test_ends_of_the_range(name):
    """Overflow to infinity, subnormal results, a bias that is NaN or infinite."""
    for exponent in (-140, -100, 0, 120):
        scale = np.asarray(2.0**exponent * 1.7, np.float32)
        tensors = {
            "B": np.asarray([[1, 2, -128, 127], [3, 0, -128, 127]], np.int8),
            "a_scale": scale,
            "b_scale": np.asarray([1, 0.3, 1e-3, 2], np.float32),
            "bias": np.asarray([np.nan, -np.inf, 1e-45, 2.0**exponent], np.float32),
        }
        inputs = ("A", "B", "a_scale", "b_scale", "", "", "bias")
        node = Node("MatMulIntegerToFloat", inputs, ("Y",), "com.microsoft")
        graph = Graph((node,), tensors, ("A",), ("Y",), {"": 21, "com.microsoft": 1})
        a = np.asarray([[0, 1], [255, 255], [7, 9]], np.uint8)
        none_differs(Case(graph, {"A": a}), {**SCHEMES, "exact": scheme("exact")}[name])
