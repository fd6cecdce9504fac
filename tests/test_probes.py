"""Further inputs of the same graph: every code where elements stand alone, else random ones of the given shapes."""

import dataclasses

import numpy as np

from qlab.builder import build
from qlab.case import Case
from qlab.gallery import gallery_case
from qlab.graph import Graph, Node
from qlab.probes import all_codes, elementwise, other_parameters, probes, resting


def test_elements_stand_alone_in_elementwise_operators_only():
    for op_type in ("QLinearAdd", "QLinearMul", "QuantizeLinear", "DequantizeLinear"):
        assert elementwise(build(op_type).graph), op_type
    assert elementwise(build("QLinearAdd", form="QDQ").graph)
    for op_type in ("QLinearMatMul", "QLinearConv", "DynamicQuantizeLinear"):
        assert not elementwise(build(op_type).graph), op_type


def test_parameters_per_axis_bind_an_element_to_its_place():
    case = build("DequantizeLinear")
    constants = {**case.graph.constants, "x_scale": np.ones(6, np.float32)}
    assert not elementwise(dataclasses.replace(case.graph, constants=constants))


def test_all_codes_of_two_inputs_are_all_pairs():
    case = all_codes(build("QLinearAdd", dtype="int8"))
    assert case is not None
    assert case.inputs["A"].shape == (256, 1)
    assert case.inputs["B"].shape == (1, 256)
    assert case.inputs["A"][[0, -1], 0].tolist() == [-128, 127]
    assert not case.expected


def test_all_codes_are_there_for_codes_only():
    one = all_codes(build("DequantizeLinear", dtype="int16"))
    assert one is not None
    assert one.inputs["x"].size == 65_536
    assert all_codes(build("QuantizeLinear")) is None
    assert all_codes(build("QLinearMatMul")) is None


def test_all_codes_of_32_bits_are_too_many():
    for dtype in (np.int32, np.int64):
        node = Node("Identity", ("x",), ("y",))
        case = Case(Graph((node,), {}, ("x",), ("y",), {"": 21}), {"x": np.arange(3, dtype=dtype)})
        assert all_codes(case) is None
        assert next(probes(case)).inputs["x"].size > 3


def test_conditions_are_of_both_kinds():
    inputs = {"c": np.ones(64, bool), "x": np.zeros(64, np.int8)}
    node = Node("Where", ("c", "x", "x"), ("y",))
    probe = next(probes(Case(Graph((node,), {}, ("c", "x"), ("y",), {"": 21}), inputs)))
    assert probe.inputs["c"].dtype == np.bool_
    assert 8 < probe.inputs["c"].sum() < 56


def test_probes_keep_shapes_and_types_and_are_seeded():
    for op_type in ("QLinearMatMul", "QLinearConv", "QuantizeLinear"):
        case = build(op_type)
        first, second = next(probes(case)), next(probes(case))
        for name, value in case.inputs.items():
            assert first.inputs[name].dtype == value.dtype
            np.testing.assert_array_equal(first.inputs[name], second.inputs[name])
            if op_type != "QuantizeLinear":
                assert first.inputs[name].shape == value.shape


def test_real_probes_lie_on_ties():
    case = build("QuantizeLinear")
    scale = float(case.graph.constants["y_scale"])
    quotients = next(probes(case)).inputs["x"].astype(np.float64) / scale
    assert (np.abs(quotients % 1 - 0.5) < 1e-5).sum() > 1000


def test_the_resting_value_is_the_zero_point():
    case = gallery_case("qlinearadd-off-by-one")
    assert (resting(case, "A"), resting(case, "B")) == (7, -128)
    case = build("QuantizeLinear")
    assert resting(case, "x") == 0


def test_other_parameters_are_of_the_same_types_and_shapes():
    case = gallery_case("qlinearadd-off-by-one")
    seen = set()
    for other in other_parameters(case):
        for name, value in case.graph.constants.items():
            changed = other.graph.constants[name]
            assert (changed.dtype, changed.shape) == (value.dtype, value.shape), name
        seen.add(float(other.graph.constants["A_scale"]))
    assert len(seen) > 10
