"""Identify: what explains an output, what is left, and the input that tells explanations apart."""

import dataclasses

import numpy as np
import pytest

from qlab.arithmetic import to_float
from qlab.builder import build
from qlab.candidates import Evidence
from qlab.case import Case
from qlab.errors import CaseError
from qlab.forms import to_qoperator
from qlab.gallery import gallery_case
from qlab.graph import Graph, Node
from qlab.identify import asked_for, identify
from qlab.probes import all_codes
from qlab.schemes import variants
from qlab.schemes.ort_cpu import OrtCpu
from qlab.schemes.rounding import round_half_away
from qlab.trace import trace
from qlab.views.identify import (
    headline,
    identification_text,
    limits_sentence,
    returned_sentence,
    separation_sentence,
    swapped_sentence,
)

OFF_BY_ONE = gallery_case("qlinearadd-off-by-one")


def labels(candidates):
    return {c.label for c in candidates}


def of(case, scheme):
    traced = trace(case.graph, case.inputs, scheme)
    return traced.outputs[case.graph.outputs[0]]


def in_double(case):
    """A stranger's C: double, round() (half away from zero), then the zero point."""
    value = {n: case.tensor(n).astype(np.float64) for n in (*case.inputs, *case.graph.constants)}
    real = value["A_scale"] * (value["A"] - value["A_zero_point"])
    real = (real + value["B_scale"] * (value["B"] - value["B_zero_point"])) / value["C_scale"]
    rounded = np.trunc(real + np.copysign(0.5, real)) + value["C_zero_point"]
    return np.clip(rounded, -128, 127).astype(np.int8)


def test_a_strangers_double_with_half_away_rounding_is_identified():
    case = all_codes(OFF_BY_ONE)
    found = identify(case, in_double(case))
    assert "float64 (half away from zero)" in labels(found.explaining)
    assert not {"float32", "ort_cpu (avx2)"} & labels(found.explaining)


@pytest.mark.parametrize("label", ["exact", "float32", "ort_cpu (avx2)", "ort_cpu (arm64)"])
def test_each_arithmetic_identifies_itself(label):
    case = all_codes(OFF_BY_ONE)
    found = identify(case, of(case, variants()[label]))
    assert label in labels(found.explaining)
    assert found.best.explains


@pytest.mark.parametrize("op_type", ["QLinearMatMul", "QLinearConv", "QGemm", "QuantizeLinear"])
def test_other_operators(op_type):
    case = build(op_type)
    found = identify(case, of(case, OrtCpu("vnni")))
    assert "ort_cpu (vnni)" in labels(found.explaining)


def test_the_input_that_tells_apart_does():
    case = all_codes(OFF_BY_ONE)
    found = identify(case, in_double(case))
    separation = found.separation
    assert separation is not None
    assert separation.parameters  # no pair of codes tells them apart with the given ones
    assert len(separation.answers) >= 4
    assert all(v.size == len(separation.indexes) for v in separation.case.inputs.values())
    for values, names in separation.answers:
        for name in names:
            result = of(separation.case, variants()[name])
            assert tuple(result[i] for i in separation.indexes) == values


def test_a_reciprocal_of_the_scale_is_told_from_a_division():
    case = all_codes(OFF_BY_ONE)
    value = {n: case.tensor(n).astype(np.float32) for n in (*case.inputs, *case.graph.constants)}
    real = value["A_scale"] * (value["A"] - value["A_zero_point"])
    real = real + value["B_scale"] * (value["B"] - value["B_zero_point"])
    scaled = real * (np.float32(1) / value["C_scale"])
    rounded = round_half_away(scaled) + value["C_zero_point"]
    found = identify(case, np.clip(rounded, -128, 127).astype(np.int8))
    label = "float32 (half away from zero, zero point after rounding, times 1 / scale)"
    assert label in labels(found.explaining)
    (names,) = (names for _, names in found.separation.answers if label in names)
    assert label.replace(", times 1 / scale", "") not in names


def test_further_outputs_lead_to_one_arithmetic():
    """Each input that tells apart is run and given back, until nothing is left to tell apart."""
    case, mine = all_codes(OFF_BY_ONE), variants()["float64 (half away from zero)"]
    further = []
    for _ in range(4):
        found = identify(case, of(case, mine), further=further)
        if found.separation is None:
            break
        part = Evidence(found.separation.case, np.zeros(0), found.separation.indexes)
        given = part.part(of(found.separation.case, mine))
        further.append(dataclasses.replace(part, output=given))
    assert labels(found.explaining) == {
        "exact (half away from zero)",
        "float64 (half away from zero)",
    }
    assert 0 < found.further == sum(e.output.size for e in further)
    assert "and the " in headline(found)
    assert limits_sentence(found).endswith("one that is not known here may give the same too.")
    assert "further ones" in identification_text(found)


def test_a_further_output_of_another_size_is_one_line():
    wrong = Evidence(OFF_BY_ONE, np.zeros(2, np.int8), ((0, 0, 0, 0),))
    with pytest.raises(CaseError, match=r"C is int8 of the shape \[1\]; given is int8"):
        identify(OFF_BY_ONE, np.full((1, 1, 1, 1), -88, np.int8), further=[wrong])


def test_where_onnx_runtime_differs_is_said_with_the_inputs():
    found = identify(OFF_BY_ONE, np.full((1, 1, 1, 1), -87, np.int8))
    if found.returned.run.cpu == "vnni":
        assert returned_sentence(found).endswith(
            "differs: it returned −88, yours is −87 (A = −8, B = −64)."
        )
    value = found.returned.run.outputs["C"]
    assert returned_sentence(identify(OFF_BY_ONE, value)).endswith("returned the same here.")


def test_swapped_axes_are_named():
    case = all_codes(OFF_BY_ONE)
    found = identify(case, np.ascontiguousarray(of(case, variants()["exact"]).T))
    assert found.swapped.label == "exact"
    assert "With the last two axes swapped, exact explains all of it" in swapped_sentence(found)


def test_where_saturating_pairs_tell_apart_the_input_is_small():
    case = gallery_case("matmulinteger-u8s8-saturates")
    name = case.graph.inputs[0]
    case = dataclasses.replace(case, inputs={name: np.ones_like(case.inputs[name])})
    found = identify(case, of(case, OrtCpu("vnni")))
    assert {"ort_cpu (avx2)", "ort_cpu (vnni)"} <= labels(found.explaining)
    separation = found.separation
    assert separation is not None
    assert not separation.parameters
    assert (separation.case.inputs[name] != 42).sum() <= 2  # its zero point
    assert any("ort_cpu (avx2)" in n and "ort_cpu (vnni)" not in n for _, n in separation.answers)


def test_what_explains_nothing_is_ranked_by_what_is_left():
    case = all_codes(OFF_BY_ONE)
    mine = of(case, variants()["exact"]).copy()
    mine[3, 4] += 1
    found = identify(case, mine)
    assert not found.explaining
    assert found.separation is None
    assert (found.best.label, found.best.mismatches, found.best.first) == ("exact", 1, (3, 4))
    text = identification_text(found)
    assert "No arithmetic here explains all 65,536 codes: " in text
    assert "The first that exact does not explain:" in text
    assert "round half to even" in text


def test_an_intermediate_tensor_of_a_group():
    case = build("QLinearAdd", form="QDQ")
    asked = [asked_for(case, o) for n in case.graph.nodes for o in n.outputs]
    real = asked[0][0]
    values = to_float(trace(case.graph, case.inputs, OrtCpu("avx2")).tensors[real], np.float32)
    found = identify(case, values, tensor=real)
    assert "ort_cpu (avx2)" in labels(found.explaining)


def test_a_group_may_be_explained_by_its_fused_form():
    case = build("QLinearAdd", form="QDQ", dtype="int8")
    found = identify(case, of(case, OrtCpu("avx2")))
    assert any(label.endswith("of the fused form") for label in labels(found.candidates))


def test_what_is_asked_for():
    assert asked_for(OFF_BY_ONE) == ("C", "int8", (1, 1, 1, 1))
    with pytest.raises(CaseError, match="'Z' is made by no node; made are C"):
        asked_for(OFF_BY_ONE, "Z")
    graph = dataclasses.replace(
        OFF_BY_ONE.graph, nodes=(dataclasses.replace(OFF_BY_ONE.graph.nodes[0], op_type="Foo"),)
    )
    with pytest.raises(CaseError, match="no scheme computes this case"):
        asked_for(dataclasses.replace(OFF_BY_ONE, graph=graph))


@pytest.mark.parametrize("wrong", [np.zeros((1, 1), np.int8), np.zeros((1, 1, 1, 1), np.uint8)])
def test_another_shape_or_type_is_one_line(wrong):
    with pytest.raises(CaseError, match="C is int8 of the shape"):
        identify(OFF_BY_ONE, wrong)


def test_sentences():
    found = identify(OFF_BY_ONE, np.full((1, 1, 1, 1), -86, np.int8))
    assert headline(found) == "No arithmetic here explains it: the one code."
    assert separation_sentence(found) == ""
    found = identify(OFF_BY_ONE, np.full((1, 1, 1, 1), -88, np.int8))
    assert "exact rounded otherwise (3 variants)" in headline(found)
    assert "python -m qlab c CASE --scheme 'ort_cpu (avx2)'" in identification_text(found)
    assert headline(found).endswith("explain the one code.")
    assert separation_sentence(found) == "They part on another input."


def test_the_graph_that_runs_by_default_is_tried():
    """On AVX2 that graph's pairs saturate; neither the given graph nor the fused form does that."""
    case = gallery_case("qdq-conv-int8-rewritten")
    found = identify(case, np.array([-0.24, 0.12], np.float32).reshape(asked_for(case)[2]))
    assert [c.label for c in found.explaining] == ["ort_cpu (avx2) of the graph at ORT_ENABLE_ALL"]


def test_the_fused_form_is_tried_with_every_arithmetic():
    """Two that take the same steps in the group may differ in the operator that takes its place."""
    case = all_codes(build("QLinearAdd", form="QDQ", dtype="uint8"))
    mine = of(to_qoperator(case), variants()["tflite (single rounding)"])
    found = identify(case, mine)
    assert "tflite (single rounding) of the fused form" in labels(found.explaining)


def test_doubles_are_compared_as_doubles():
    graph = Graph((Node("Identity", ("x",), ("y",)),), {}, ("x",), ("y",), {"": 13})
    case = Case(graph, {"x": np.array([0.1, 0.2])})
    found = identify(case, np.array([0.1000000001, 0.2]))
    assert not found.explaining
    assert found.returned.mismatches == 1
    assert identify(case, np.array([0.1, 0.2])).explaining


def test_codes_beyond_int64():
    graph = Graph((Node("Identity", ("x",), ("y",)),), {}, ("x",), ("y",), {"": 13})
    value = np.array([2**64 - 1, 2**63], np.uint64)
    assert identify(Case(graph, {"x": value}), value).explaining


def test_what_onnx_runtime_rejects_is_said():
    case = gallery_case("qlinearmatmul-per-row-refused")
    found = identify(case, np.zeros(asked_for(case)[2], np.uint8))
    assert "fails on this case: [ONNXRuntimeError]" in returned_sentence(found)


def test_a_further_output_of_another_graph_is_one_line():
    group = build("QLinearAdd", form="QDQ", dtype="int8")
    other = Evidence(group, np.zeros(asked_for(group, "C")[2], np.int8))
    with pytest.raises(CaseError, match="a further output is of another graph"):
        identify(OFF_BY_ONE, np.full((1, 1, 1, 1), -88, np.int8), further=[other])


def test_an_operator_without_arithmetic_is_named():
    graph = Graph((Node("Neg", ("x",), ("y",)),), {}, ("x",), ("y",), {"": 13})
    found = identify(Case(graph, {"x": np.float32([1, 2])}), np.float32([-1, -2]))
    assert limits_sentence(found) == (
        "No arithmetic here has Neg: for each of them the ONNX reference evaluator computed it."
    )
