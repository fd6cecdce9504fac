"""QDQ ↔ QOperator: the codes stay, and what the other form assumes is what changes."""

import dataclasses

import numpy as np
import pytest

from qlab.builder import build, buildable
from qlab.case import Case
from qlab.forms import to_qdq, to_qoperator
from qlab.gallery import gallery_case
from qlab.schemes import schemes
from qlab.trace import trace

PAIRS = [
    (b.op_type, dtype, weight)
    for b in buildable()
    if "QDQ" in b.forms
    for dtype in b.dtypes
    for weight in b.weight_dtypes or ("",)
]


def exact(case: Case) -> dict[str, list[object]]:
    outputs = trace(case.graph, case.inputs, schemes()["exact"]).outputs
    return {name: value.tolist() for name, value in outputs.items()}


def made(op_type: str, dtype: str, weight: str, form: str = "QOperator") -> Case:
    return build(op_type, form=form, dtype=dtype, **({"weight_dtype": weight} if weight else {}))


@pytest.mark.parametrize(("op_type", "dtype", "weight"), PAIRS)
def test_there_and_back(op_type, dtype, weight):
    given = made(op_type, dtype, weight)
    qdq = to_qdq(given)
    back = to_qoperator(qdq)
    assert [n.op_type for n in back.graph.nodes] == [op_type]
    assert back.graph.nodes[0].inputs == given.graph.nodes[0].inputs
    assert exact(back) == exact(given)


@pytest.mark.parametrize(("op_type", "dtype", "weight"), PAIRS)
def test_a_qdq_group_of_products_has_the_same_exact_codes(op_type, dtype, weight):
    # Not QLinearAdd and QLinearMul: their schemas round the sum with the zero point in it.
    if op_type not in ("QLinearAdd", "QLinearMul"):
        assert exact(made(op_type, dtype, weight, "QDQ")) == exact(made(op_type, dtype, weight))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("qdq-conv-bias-scale", [0, 0, 0.05]), ("qdq-gemm-bias-scale", [0, 0, 0])],
)
def test_a_fused_bias_loses_its_own_scale(name, expected):
    fused = to_qoperator(gallery_case(name))
    y = trace(fused.graph, fused.inputs, schemes()["exact"]).outputs["y"]
    channels = y.reshape(3, -1)[:, 0]
    assert channels.tolist() == np.float32(expected).tolist()


def test_a_relu_that_the_zero_point_makes_redundant_is_dropped():
    fused = to_qoperator(gallery_case("qdq-conv-bias-scale"))
    assert [n.op_type for n in fused.graph.nodes] == [
        "QuantizeLinear",
        "QLinearConv",
        "DequantizeLinear",
    ]


def test_a_relu_that_matters_keeps_the_group():
    case = gallery_case("qdq-conv-bias-scale")
    assert to_qoperator(case.with_tensor("y_zero_point", np.uint8(3))) is None


def test_another_axis_or_beta_keeps_the_group():
    case = gallery_case("qdq-conv-bias-scale")
    nodes = tuple(
        dataclasses.replace(n, attributes={"axis": 1}) if n.inputs[0] == "w" else n
        for n in case.graph.nodes
    )
    other = dataclasses.replace(case, graph=dataclasses.replace(case.graph, nodes=nodes))
    assert to_qoperator(other) is None
    gemm = gallery_case("qdq-gemm-bias-scale")
    nodes = tuple(
        dataclasses.replace(n, attributes={"beta": 2.0}) if n.op_type == "Gemm" else n
        for n in gemm.graph.nodes
    )
    other = dataclasses.replace(gemm, graph=dataclasses.replace(gemm.graph, nodes=nodes))
    assert to_qoperator(other) is None


@pytest.mark.parametrize("name", ["quantizelinear-half-even", "dynamicquantizelinear-tie"])
def test_where_there_is_no_group_there_is_no_other_form(name):
    assert to_qoperator(gallery_case(name)) is None
    assert to_qdq(gallery_case(name)) is None


def test_an_absent_zero_point_becomes_a_zero_of_the_codes_type():
    case = build("QLinearMatMul", form="QDQ", dtype="int8")
    nodes = tuple(
        dataclasses.replace(n, inputs=n.inputs[:2]) if n.op_type == "DequantizeLinear" else n
        for n in case.graph.nodes
    )
    bare = dataclasses.replace(case, graph=dataclasses.replace(case.graph, nodes=nodes))
    fused = to_qoperator(bare)
    node = fused.graph.nodes[0]
    assert [fused.tensor(node.inputs[k]).dtype for k in (2, 5)] == [np.int8, np.int8]
    assert exact(fused) == exact(bare)
