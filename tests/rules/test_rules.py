"""Each rule on a case that breaks it: the words, what ONNX Runtime does, and that the nearest form runs."""

import dataclasses

import numpy as np
import pytest

from qlab.builder import build
from qlab.case import Case
from qlab.engines.ort import run_ort
from qlab.engines.results import RunStatus
from qlab.gallery import gallery_case, gallery_names
from qlab.qtypes import DTYPES
from qlab.rules import find_broken_rules

f32 = np.float32


def made(op_type: str, dtype: str = "uint8", weight_dtype: str = "int8", **tensors: object) -> Case:
    case = build(op_type, dtype=dtype, weight_dtype=weight_dtype)
    for name, value in tensors.items():
        case = case.with_tensor(name, np.asarray(value))
    return case


def node(case: Case, **changes: object) -> Case:
    changed = dataclasses.replace(case.graph.nodes[0], **changes)
    return dataclasses.replace(case, graph=dataclasses.replace(case.graph, nodes=(changed,)))


def opset(case: Case, version: int) -> Case:
    versions = {**case.graph.opset, "": version}
    return dataclasses.replace(case, graph=dataclasses.replace(case.graph, opset=versions))


MATMUL = made("QLinearMatMul")
DEQUANTIZE = made("DequantizeLinear")
THREE = np.zeros(3, np.uint8)
TWO = np.repeat(f32(0.02), 2)

# case, what is found, part of the rule: ONNX Runtime refuses each of them, and the nearest forms run.
REFUSED = {
    "per row": (
        made("QLinearMatMul", a_scale=TWO, a_zero_point=np.zeros(2, np.uint8)),
        "a_scale has 2 entries, a_zero_point has 2 entries",
        "allows one a_scale and a_zero_point for each row; ONNX Runtime's CPU kernel takes one",
    ),
    "y per row": (
        made("QLinearMatMul", y_scale=TWO, y_zero_point=np.zeros(2, np.uint8)),
        "y_scale has 2 entries, y_zero_point has 2 entries",
        "allows one y_scale and y_zero_point for each row",
    ),
    "integer per row": (
        made("MatMulInteger", a_zero_point=np.zeros(2, np.uint8)),
        "a_zero_point has 2 entries",
        "allows one a_zero_point for each row",
    ),
    "integer convolution": (
        made("ConvInteger", w_zero_point=np.zeros(2, np.int8)),
        "w_zero_point has 2 entries",
        "allows one w_zero_point for each output channel",
    ),
    "per channel input": (
        made("QLinearConv", x_scale=TWO, x_zero_point=np.zeros(2, np.uint8)),
        "x_scale has the shape [2], x_zero_point has the shape [2]",
        "takes x_scale and x_zero_point as one for the whole tensor",
    ),
    "wrong length": (
        made("QLinearMatMul", b_scale=np.repeat(f32(0.01), 3), b_zero_point=np.zeros(3, np.int8)),
        "b_scale has the shape [3], b_zero_point has the shape [3]",
        "one for each column (2)",
    ),
    "not a scalar": (
        made("QLinearAdd", A_scale=np.ones(1, f32)),
        "A_scale has the shape [1]",
        "(a scalar, shape [])",
    ),
    "axis": (
        made("QuantizeLinear", y_scale=np.repeat(f32(0.1), 7), y_zero_point=np.zeros(7, np.uint8)),
        "axis is 1 (the default)",
        "The axis must be from −1 to 0 for x of the shape [7]",
    ),
    "two shapes": (
        made("QGemm", b_scale=TWO),
        "b_scale has the shape [2], b_zero_point []",
        "must have the same shape",
    ),
    "two types": (
        made("QLinearMatMul", a_zero_point=np.int8(0)),
        "a is uint8, a_zero_point is int8",
        "wants a_zero_point and a in one type",
    ),
    "operands of two types": (
        made("QLinearAdd", B=np.zeros(4, np.int8), B_zero_point=np.int8(0)),
        "A is uint8, B is int8",
        "wants B and A in one type",
    ),
    "int8 by uint8": (
        made("QLinearMatMul", "int8", "uint8"),
        "a is int8 and b is uint8",
        "take uint8 × uint8, uint8 × int8 and int8 × int8",
    ),
    "another output": (
        made("QLinearConv", y_zero_point=np.int8(0)),
        "x is uint8, y_zero_point is int8",
        "give y the type of x",
    ),
    "float64 scale": (
        made("QLinearMatMul", a_scale=np.float64(0.1)),
        "a_scale is float64",
        "takes a_scale as float32 (opset 10)",
    ),
    "float16 scale": (
        made("QLinearAdd", C_scale=np.float16(0.1)),
        "C_scale is float16",
        "takes C_scale as float32",
    ),
    "int4 operand": (
        made(
            "QLinearMatMul",
            b=np.zeros((3, 2), DTYPES["int4"]),
            b_zero_point=np.zeros((), DTYPES["int4"]),
        ),
        "b is int4",
        "takes b as int8, uint8 (opset 10)",
    ),
    "absent zero point": (
        node(MATMUL, inputs=("a", "a_scale", "", *MATMUL.graph.nodes[0].inputs[3:])),
        "a_zero_point is absent",
        "requires the input a_zero_point",
    ),
    "opset": (opset(DEQUANTIZE, 8), "The case has opset 8", "exists since opset 10"),
    "attribute": (
        node(MATMUL, attributes={"foo": 1}),
        "The node has the attribute foo",
        "has no attributes",
    ),
    "operator": (
        node(MATMUL, op_type="QLinearMatmul"),
        "The node asks for QLinearMatmul",
        "ai.onnx has no operator QLinearMatmul",
    ),
    "domain": (
        node(made("QLinearAdd"), domain=""),
        "The node has no domain, which means ai.onnx",
        "of the domain com.microsoft",
    ),
}
# The same without a nearest form.
HOPELESS = {
    "inner axes": (
        made("QLinearMatMul", b=np.zeros((4, 2), np.int8)),
        "a has the shape [2, 3], b [4, 2]",
        "must be as long as",
    ),
    "bias length": (
        made("QLinearConv", B=np.zeros(3, np.int32)),
        "B has the shape [3]",
        "one entry for each output channel (2)",
    ),
    "bias type": (made("QLinearConv", B=np.zeros(2, f32)), "B is float32", "takes B as int32"),
    "gemm bias type": (made("QGemm", C=np.zeros(2, f32)), "C is float32", "takes C as int32"),
    "broadcast": (made("QLinearAdd", B=THREE), "A has the shape [4], B [3]", "equally long"),
    "type of codes": (
        made("QuantizeLinear", y_zero_point=np.int32(0)),
        "y_zero_point is int32",
        "takes y_zero_point as",
    ),
}
# Broken rules that ONNX Runtime does not mind.
TAKEN = {
    "zero": (made("QuantizeLinear", y_scale=f32(0)), "y_scale is 0", "0 / 0 is NaN"),
    "negative": (made("QuantizeLinear", y_scale=f32(-1)), "y_scale is −1", "positive and finite"),
    "NaN": (made("QLinearMatMul", a_scale=f32("nan")), "a_scale is NaN", "positive and finite"),
    "infinite": (made("DequantizeLinear", x_scale=f32("inf")), "x_scale is ∞", "multiplies by"),
    "two shapes": (
        made("QLinearMatMul", b_scale=TWO),
        "b_scale has the shape [2], b_zero_point []",
        "must have the same shape",
    ),
}


def mended(case: Case) -> Case:
    """The case with every broken rule mended, one after the other."""
    for _ in range(4):
        fixed = next((f.fixed for f in find_broken_rules(case) if f.fixed is not None), None)
        if fixed is None:
            break
        case = fixed
    return case


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_nearest_form_that_runs(name):
    case, found, rule = REFUSED[name]
    first = find_broken_rules(case)[0]
    assert first.found == found
    assert rule in first.rule
    assert first.nearest
    assert run_ort(case).status in (RunStatus.REJECTED, RunStatus.FAILED)
    nearest = mended(case)
    assert find_broken_rules(nearest) == ()
    assert run_ort(nearest).status is RunStatus.OK


@pytest.mark.parametrize("name", HOPELESS)
def test_refused_without_a_nearest_form(name):
    case, found, rule = HOPELESS[name]
    first = find_broken_rules(case)[0]
    assert first.found == found
    assert rule in first.rule
    assert run_ort(case).status in (RunStatus.REJECTED, RunStatus.FAILED)


@pytest.mark.parametrize("name", TAKEN)
def test_broken_and_taken_all_the_same(name):
    case, found, rule = TAKEN[name]
    (first,) = find_broken_rules(case)
    assert first.found == found
    assert rule in first.rule
    assert run_ort(case).status is RunStatus.OK


def test_a_scale_of_zero_has_the_smallest_above_it_as_nearest():
    (found,) = find_broken_rules(made("QuantizeLinear", y_scale=f32(0)))
    assert found.nearest == "the smallest float32 above 0 is 1e−45"
    assert found.fixed.tensor("y_scale") == np.float32(1e-45)


@pytest.mark.parametrize("name", gallery_names())
def test_what_runs_breaks_no_rule_that_keeps_it_from_running(name):
    case = gallery_case(name)
    broken = find_broken_rules(case)
    if run_ort(case).status is not RunStatus.OK:
        assert broken
    else:
        assert all("scale is the size of one step" in f.rule for f in broken)
