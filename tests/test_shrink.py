"""Shrinking: the smallest case with the same signature, the same each time, with each step a case of its own."""

import dataclasses
import itertools

import numpy as np
import pytest

import qlab
from qlab.axes import axes_of, shapes_of
from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import bounds
from qlab.shrink import NothingToShrink, Shrunk, shrink, size_of
from qlab.sides import side
from qlab.signature import Signature, difference

CONV = ("x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point")


def shrunk(case: Case, expected: str, actual: str, **bounds_: object) -> Shrunk:
    return shrink(case, side(expected), side(actual), **bounds_)


def convolution(channels: int, size: int, **attributes: object) -> Case:
    """A 3 × 3 QLinearConv of uint8 × int8 with random codes."""
    rng = np.random.default_rng(0)
    group = int(attributes.get("group", 1))
    x = rng.integers(0, 256, (1, channels, size, size)).astype(np.uint8)
    constants = {
        "x_scale": np.asarray(0.02, np.float32),
        "x_zero_point": np.asarray(117, np.uint8),
        "w": rng.integers(-128, 128, (channels, channels // group, 3, 3)).astype(np.int8),
        "w_scale": np.asarray(0.013, np.float32),
        "w_zero_point": np.asarray(0, np.int8),
        "y_scale": np.asarray(8.7, np.float32),
        "y_zero_point": np.asarray(120, np.uint8),
    }
    node = Node("QLinearConv", CONV, ("y",), "", attributes)
    return Case(Graph((node,), constants, ("x",), ("y",), {"": 13}), {"x": x})


def held(found: Shrunk) -> None:
    """Every step, and the result, differ in the same way when they are computed again."""
    sides = found.given.expected.side, found.given.actual.side
    for case in (*(step.case for step in found.steps), found.case):
        again = difference(case, *(one.run(case) for one in sides))
        assert again.signature == found.given.signature
    sizes = [size_of(found.given.case), *(step.size for step in found.steps)]
    for before, after in itertools.pairwise(sizes):
        assert after.nodes <= before.nodes
        assert after.values <= before.values


def test_a_large_convolution_that_saturates_is_one_pair_of_products():
    case = convolution(64, 56, pads=(1, 1, 1, 1))
    found = shrunk(case, "exact", "ort_cpu (avx2)")
    assert found.given.signature == Signature("QLinearConv", "accumulator", "above")
    assert found.given.size == 200_704
    assert found.case.inputs["x"].shape == (1, 2, 1, 1)
    assert found.case.graph.constants["w"].shape == (1, 2, 1, 1)
    assert found.case.graph.nodes[0].attributes == {}
    assert found.case.title == "QLinearConv: smallest case found by shrinking"
    assert "saturates to −32,768" in found.difference.why
    assert found.ended == ""
    assert [step.words for step in found.steps[:3]] == [
        "1 of 64 output channels kept",
        "1 of 3,136 positions of the kernel kept, the padding written out",
        "the 9 taps of the kernel as input channels",
    ]
    held(found)


@pytest.mark.parametrize(
    "attributes",
    [
        {"strides": (2, 2)},
        {"dilations": (2, 2), "pads": (2, 1, 0, 3)},
        {"auto_pad": "SAME_UPPER"},
        {"group": 2},
    ],
    ids=str,
)
def test_other_geometries_leave_nothing_but_the_pair(attributes):
    found = shrunk(convolution(8, 7, **attributes), "exact", "ort_cpu (avx2)")
    assert found.case.inputs["x"].size == 2
    assert found.case.graph.nodes[0].attributes == {}
    held(found)


def test_the_codes_are_as_near_to_the_zero_point_as_they_go():
    found = shrunk(qlab.load_case("matmulinteger-u8s8-saturates"), "exact", "ort_cpu (avx2)")
    assert found.case.inputs["A"].tolist() == [[237, 42]]
    assert found.case.tensor("B").tolist() == [[125], [75]]
    assert found.difference.why == "237·125 + 42·75 = 32,775 saturates to 32,767"
    assert [v.sentence for v in found.variations] == [
        "any a_zero_point does it: 1, 128, 254 and 255 were tried",
        "any b_zero_point does it: −128, −127, 126 and 127 were tried",
    ]
    assert found.agreement.words == "with A[0,0] = 236 instead of 237"
    agreeing = found.agreement.case
    again = difference(agreeing, *(side(n).run(agreeing) for n in ("exact", "ort_cpu (avx2)")))
    assert (again.signature, again.mismatches) == (None, 0)
    held(found)


@pytest.mark.parametrize(
    ("name", "actual"),
    [
        ("dynamicquantizelinear-zeros", "ort_cpu (avx2)"),
        ("qgemm-u8s8-saturates", "ort_cpu (avx2)"),
        ("qlinearadd-minus-112", "ort"),
        ("qlinearadd-off-by-one", "ort"),
        ("qlinearmatmul-per-row-refused", "ort"),
        ("qlinearmatmul-int8-uint8-refused", "ort"),
        ("qdq-gemm-bias-scale", "ort"),
    ],
)
def test_every_case_of_the_gallery_that_differs_shrinks(name, actual):
    found = shrunk(qlab.load_case(name), "exact", actual)
    assert found.steps
    held(found)


def test_what_no_run_gives_again_stays_so():
    case = qlab.load_case("qlinearmatmul-no-products")
    found = shrunk(case, "exact", "ort")
    if not found.given.actual.run.repeatable:
        assert found.case.inputs["a"].shape == (1, 0)


def test_a_qdq_convolution_that_an_optimizer_changes():
    case = qlab.load_case("qdq-conv-int8-rewritten")
    found = shrunk(case, "ort:DISABLE_ALL:avx2", "ort:ENABLE_ALL:avx2")
    assert found.given.signature == Signature("com.microsoft.QLinearConv", "accumulator", "below")
    assert "saturates to 32,767" in found.difference.why
    assert found.case.inputs["x"].size == 2
    # All six stay: the pass makes uint8 of int8 only between a QuantizeLinear and a DequantizeLinear.
    assert len(found.case.graph.nodes) == 6
    held(found)


def test_the_same_each_time():
    case = qlab.load_case("qlinearadd-off-by-one")
    one, other = (shrunk(case, "exact", "ort_cpu (avx2)") for _ in range(2))
    assert [s.words for s in one.steps] == [s.words for s in other.steps]
    assert one.trials == other.trials
    for name, value in one.case.inputs.items():
        assert value.tobytes() == other.case.inputs[name].tobytes()


def test_elements_among_many():
    case = qlab.build("QLinearAdd", dtype="int8")
    one = qlab.load_case("qlinearadd-off-by-one")
    inputs = {n: np.full((3, 4, 5), int(v.reshape(-1)[0]), np.int8) for n, v in one.inputs.items()}
    inputs["A"][0], inputs["A"][1, 0] = 3, 5
    case = dataclasses.replace(one, inputs=inputs)
    found = shrunk(case, "exact", "ort_cpu (avx2)")
    assert found.case.inputs["A"].shape == (1,)
    held(found)


def test_nodes_before_and_after_go():
    one = qlab.load_case("qlinearadd-off-by-one")
    before = Node("Identity", ("A0",), ("A",))
    after = Node("Identity", ("C",), ("D",))
    graph = dataclasses.replace(
        one.graph, nodes=(before, *one.graph.nodes, after), inputs=("A0", "B"), outputs=("D",)
    )
    case = Case(graph, {"A0": one.inputs["A"], "B": one.inputs["B"]})
    found = shrunk(case, "exact", "ort_cpu (avx2)")
    assert [n.op_type for n in found.case.graph.nodes] == ["QLinearAdd"]
    assert found.case.graph.outputs == ("C",)
    held(found)


def test_two_sides_that_agree_are_one_line():
    with pytest.raises(NothingToShrink, match="float64 and exact agree on the one code"):
        shrunk(qlab.load_case("qlinearadd-off-by-one"), "exact", "float64")
    refused = qlab.load_case("quantizelinear-axis-refused")
    with pytest.raises(NothingToShrink, match="exact has no result: QuantizeLinear"):
        shrunk(refused, "exact", "ort_cpu (avx2)")


def test_bounds_end_it_and_it_says_so():
    case = convolution(8, 5)
    found = shrunk(case, "exact", "ort_cpu (avx2)", most_trials=5)
    assert found.ended == "5 cases were tried"
    held(found)
    stopped = shrunk(case, "exact", "ort_cpu (avx2)", stop=lambda: True)
    assert (stopped.steps, stopped.variations, stopped.agreement) == ((), (), None)
    assert stopped.ended == "it was stopped"
    said: list[str] = []
    shrunk(qlab.load_case("qgemm-u8s8-saturates"), "exact", "ort_cpu (avx2)", progress=said.append)
    assert any("cases tried; " in words for words in said)


def test_odd_cases_are_no_errors():
    empty = Case(Graph((), {}, (), (), {"": 13}), {})
    with pytest.raises(NothingToShrink):
        shrunk(empty, "exact", "ort_cpu (avx2)")
    none = convolution(2, 5)
    none = none.with_tensor("x", none.inputs["x"][:, :, :0])
    with pytest.raises(NothingToShrink):
        shrunk(none, "exact", "ort_cpu (avx2)")
    low, high = bounds(np.uint8)
    assert (low, high) == (0, 255)


def test_axes_that_belong_together():
    case = convolution(4, 5)
    per_channel = case.with_tensor("w_scale", np.full(4, 0.01, np.float32))
    found = {a.label: a for a in axes_of(per_channel, shapes_of(per_channel))}
    assert set(found["output channels"].places) == {("w", 0), ("w_scale", 0)}
    assert set(found["input channels"].places) == {("x", 1), ("w", 1)}
    assert found["output channels"].shown == (("y", 1),)
