"""gemmlowp, tflite, cmsis_nn, qnnpack, xnnpack and fbgemm as C, with all their variants.

A case is left out only where the scheme itself refuses it.
"""

import dataclasses
import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.builder import build
from qlab.c import c_source, check
from qlab.c.fixed_families import FAMILIES
from qlab.errors import ExportError, TraceError
from qlab.graph import Node
from qlab.schemes import scheme, variants
from qlab.schemes.cmsis_nn import CmsisNn
from qlab.schemes.gemmlowp import Gemmlowp
from qlab.schemes.tflite import Tflite
from qlab.trace import trace
from tests.c.compiled import needs_compiler, none_differs, over_all_codes

pytestmark = needs_compiler
VARIANTS = {label: s for label, s in variants().items() if s.name in FAMILIES}
UNDEFINED = ("-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover")


def computed(case, scheme):
    """Does the scheme compute the case?"""
    try:
        trace(case.graph, case.inputs, scheme)
    except TraceError:
        return False
    return True


def with_scales(case, **scales):
    """The case with other scales, float32."""
    given = {n: np.full_like(case.graph.constants[n], v) for n, v in scales.items()}
    graph = dataclasses.replace(case.graph, constants={**case.graph.constants, **given})
    return dataclasses.replace(case, graph=graph)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("label", VARIANTS)
def test_all_pairs(label, operator, dtype):
    case = over_all_codes(build(operator, dtype=dtype))
    if computed(case, VARIANTS[label]):
        assert none_differs(case, VARIANTS[label]) >= 65_536
    else:
        name = VARIANTS[label].name
        lacks = name == "gemmlowp" or (name in ("qnnpack", "xnnpack") and operator == "QLinearMul")
        assert lacks or (name, dtype) in (("cmsis_nn", "uint8"), ("qnnpack", "int8"))


BATTERIES = {
    "QuantizeLinear int8": 8,
    "QuantizeLinear opsets 19 to 25 uint8": 25,
    "QLinearMatMul uint8 × int8": 11,
    "QLinearConv int8 × int8": 9,
    "QGemm uint8 × uint8": 22,
}


@pytest.mark.parametrize("battery", BATTERIES)
@pytest.mark.parametrize("label", VARIANTS)
def test_battery(label, battery):
    """Directed ties, saturation, scales per channel and infinities."""
    for case in itertools.islice(batteries()[battery].cases(0), 0, None, BATTERIES[battery]):
        if computed(case, VARIANTS[label]):
            none_differs(case, VARIANTS[label])


@pytest.mark.parametrize("battery", ["DequantizeLinear uint8", "DequantizeLinear int32"])
@pytest.mark.parametrize("name", ["gemmlowp", "tflite", "xnnpack", "fbgemm"])
def test_dequantize(name, battery):
    for case in itertools.islice(batteries()[battery].cases(0), 0, None, 5):
        none_differs(case, scheme(name))


SHIFTS = (
    0.5,
    30.0,
    0.0004,
    1e-11,
    2.0,
    0.9,
    4000.0,
)  # multipliers of channels: to the left, to the right, none, lost


@pytest.mark.parametrize("form", ["double", "single", "optimized", "cmsis_nn"])
def test_shifts_in_both_directions(form):
    """TFLite and CMSIS-NN shift to the left, too; where an int32 overflows it wraps, without undefined behaviour."""
    arithmetic = {
        "double": Tflite(),
        "single": Tflite("single"),
        "optimized": Tflite(kernels="optimized"),
        "cmsis_nn": CmsisNn("single"),
    }[form]
    case = per_channel(SHIFTS)
    source = c_source(case, arithmetic)
    assert "quantized_multipliers[" in source
    assert "shifts[" in source
    checked = check(source, UNDEFINED)
    if checked.status is None:
        pytest.skip("needs the sanitizer of undefined behaviour (libubsan)")
    assert checked.output.startswith("0 of "), checked.output


@pytest.mark.parametrize("kernels", ["reference", "optimized"])
def test_products_that_leave_an_int16(kernels):
    """The optimized kernels' ADD wraps and their MUL saturates there."""
    for operator in ("QLinearAdd", "QLinearMul"):
        case = over_all_codes(build(operator, dtype="int8"))
        case = with_scales(case, A_scale=3.0, B_scale=3.0, C_scale=0.002)
        none_differs(case, Tflite(kernels=kernels))


def test_constants_say_where_they_come_from():
    source = c_source(build("QLinearMul", dtype="int8"), Tflite())
    assert "multiplier = f32(f32(A_scale * B_scale) / C_scale) = 0.0119999" in source
    assert "static const int32_t quantized_multiplier = " in source
    assert "static const int32_t shift = -6;" in source


def test_a_shift_that_the_library_does_not_take_is_refused():
    """Of the smallest scales gemmlowp's right shift would be 139."""
    case = with_scales(matrix_case(), sa=1e-38, sb=1e-4, sy=1.0)
    with pytest.raises(TraceError, match=r"gemmlowp needs 2\^-32 ≤ multiplier < 1"):
        c_source(case, Gemmlowp())


def test_a_scale_that_a_node_computes_is_refused():
    """The multiplier must be known when the file is written."""
    case = build("QLinearMul", dtype="int8")
    nodes = (Node("Identity", ("given",), ("A_scale",)), *case.graph.nodes)
    constants = dict(case.graph.constants)
    constants["given"] = constants.pop("A_scale")
    graph = dataclasses.replace(case.graph, nodes=nodes, constants=constants)
    with pytest.raises(ExportError, match="A_scale is not constant"):
        c_source(dataclasses.replace(case, graph=graph), Tflite())


def matrix_case():
    """The first case of a battery of products."""
    return next(iter(batteries()["QLinearMatMul uint8 × uint8"].cases(0)))


def per_channel(multipliers):
    """A matrix product of int8 codes whose columns are rescaled by the multipliers."""
    n = len(multipliers)
    rng = np.random.default_rng(0)
    case = next(iter(batteries()["QLinearMatMul int8 × int8"].cases(0)))
    constants = dict(case.graph.constants)
    inputs = {
        "a": rng.integers(-128, 128, (5, 8)).astype(np.int8),
        "b": rng.integers(-128, 128, (8, n)).astype(np.int8),
    }
    one = np.float32(1)
    constants |= {
        "sa": np.asarray(one),
        "sb": np.asarray(multipliers, np.float32),
        "sy": np.asarray(one),
        "zb": np.zeros(n, np.int8),
    }
    graph = dataclasses.replace(case.graph, constants=constants)
    return dataclasses.replace(case, graph=graph, inputs=inputs, expected={})


POOLS = {"QLinearAveragePool uint8": 52, "QLinearGlobalAveragePool int8": 40}


@pytest.mark.parametrize("battery", POOLS)
@pytest.mark.parametrize("label", VARIANTS)
def test_means(label, battery):
    for case in itertools.islice(batteries()[battery].cases(0), 1, None, POOLS[battery]):
        if computed(case, VARIANTS[label]):
            none_differs(case, VARIANTS[label])
