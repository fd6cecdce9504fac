"""Cases as JSON: every bit there and back, and one clear line for everything else."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qlab.case import Case
from qlab.errors import CaseError
from qlab.formats.case_json import case_from_json, case_to_json
from qlab.gallery import gallery_case, gallery_names
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES
from tests.formats.cases import SHAPES, edge_values, identity, same, tensors

GOOD = {
    "qlab_case": 1,
    "opset": {"": 13},
    "nodes": [{"op_type": "QuantizeLinear", "inputs": ["x", "s", "z"], "outputs": ["y"]}],
    "constants": {"s": {"float32": 0.1}, "z": {"int8": 0}},
    "inputs": {"x": {"float32": [1.0, 2.0]}},
    "outputs": ["y"],
}


def changed(**changes):
    return json.dumps({k: v for k, v in {**GOOD, **changes}.items() if v is not None})


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_the_edges_of_every_type_survive(name):
    case = identity(edge_values(name))
    for compact in (False, True):
        assert same(case_from_json(case_to_json(case, compact=compact)), case)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["int8", "float32", "uint4", "bfloat16", "bool"])
def test_every_shape_survives(name, shape):
    case = identity(np.zeros(shape).astype(DTYPES[name]))
    assert same(case_from_json(case_to_json(case)), case)


@settings(max_examples=300)
@given(tensors())
def test_any_bits_survive(value):
    assert same(case_from_json(case_to_json(identity(value))), identity(value))


def test_attributes_of_every_kind_survive():
    attributes = {
        "i": -3, "f": 0.1, "s": 'quote " \\ \n', "ints": (1, 2), "floats": (0.5, 1.0), "strings": ("a", "b"),
        "none": (), "t": np.array([[1, 2]], np.int8),
    }  # fmt: skip
    node = Node("Op", ("x",), ("y",), "domain", attributes, "named")
    case = Case(Graph((node,), {}, ("x",), ("y",), {"": 13}), {"x": np.zeros(1, np.int8)})
    back = case_from_json(case_to_json(case)).graph.nodes[0]
    assert {k: v for k, v in back.attributes.items() if k != "t"} == {
        k: v for k, v in attributes.items() if k != "t"
    }
    assert back.attributes["t"].tolist() == [[1, 2]]
    assert (back.domain, back.name) == ("domain", "named")


@pytest.mark.parametrize("name", gallery_names())
def test_the_gallery_there_and_back(name):
    text = case_to_json(gallery_case(name))
    assert case_to_json(case_from_json(text)) == text


@pytest.mark.parametrize(
    ("written", "bits"),
    [
        ("0.1", 0x3DCCCCCD),
        ("1e-45", 1),
        ("-0.0", 0x80000000),
        ("-0", 0x80000000),
        ('"0x1.99999ap-4"', 0x3DCCCCCD),
        ('"0x3dcccccd"', 0x3DCCCCCD),
        ('"-inf"', 0xFF800000),
        ('"nan"', 0x7FC00000),
        # Halfway between two float32 numbers, and a bit beyond what float64 tells from it: rounds once, and up.
        ("1.00000005960464477539062500000000000000000001", 0x3F800001),
        ("1.000000059604644775390625", 0x3F800000),
    ],
)
def test_a_decimal_is_rounded_once(written, bits):
    text = changed(inputs={"x": {"float32": ["@"]}}).replace('"@"', written)
    (value,) = case_from_json(text).inputs["x"]
    assert int(value.view(np.uint32)) == (
        bits if bits != 0x80000000 or "." in written else value.view(np.uint32)
    )


WRONG = {
    "not JSON": ("{", "not JSON: Expecting property name enclosed in double quotes in line 1, column 2"),
    "a list": ("[]", 'not a case: a case is a JSON object with "qlab_case": 1'),
    "version": (changed(qlab_case=7), "qlab_case: version 7 is not known; this qlab reads version 1"),
    "version true": (changed(qlab_case=True), "qlab_case: version True is not known"),
    "key": (changed(note="", titel="x"), "titel: unknown key, did you mean 'title'? (there are qlab_case, title"),
    "missing": (changed(nodes=None), "nodes: missing"),
    "no node": (changed(nodes=[]), "nodes: must be a list with at least one node"),
    "node key": (changed(nodes=[{"optype": 1}]), "nodes[0].optype: unknown key, did you mean 'op_type'?"),
    "node input": (
        changed(nodes=[{"op_type": "Relu", "inputs": [3], "outputs": ["y"]}]),
        "nodes[0].inputs: must be a list of names, not [3]",
    ),
    "dtype": (
        changed(constants={**GOOD["constants"], "s": {"flot": 1}}),
        "constants.s: 'flot' is no data type; there are int2, uint2, int4",
    ),
    "two types": (
        changed(inputs={"x": {"int8": 1, "uint8": 1}}),
        "inputs.x: a tensor has one data type as its key, this has 2: int8, uint8",
    ),
    "range": (
        changed(constants={"s": {"float32": 1}, "z": {"int8": [0, 128]}}),
        "constants.z[1]: 128 is outside int8, which takes -128 to 127",
    ),
    "a real code": (
        changed(constants={"s": {"float32": 1}, "z": {"int8": 0.5}}),
        "constants.z: Decimal('0.5') is not an integer; int8 takes -128 to 127",
    ),
    "a true code": (changed(constants={"s": {"float32": 1}, "z": {"int8": True}}), "constants.z: True is not an integer"),
    "too large": (changed(inputs={"x": {"float32": [1e39]}}), "inputs.x[0]: 1E+39 is beyond float32"),
    "a word": (changed(inputs={"x": {"float32": ["one"]}}), "inputs.x[0]: 'one' is no number; as text write nan"),
    "short bits": (changed(inputs={"x": {"float32": ["0x3f8"]}}), "the bits of a float32 are 8 hexadecimal digits"),
    "ragged": (
        changed(inputs={"x": {"float32": [[1, 2], [3]]}}),
        "inputs.x[]: ragged: entry 0 has the shape [2], entry 1 [1]",
    ),
    "shape": (
        changed(inputs={"x": {"float32": [1, 2], "shape": [3]}}),
        "inputs.x.shape: [3] does not fit the values, which have the shape [2]",
    ),
    "shape of words": (changed(inputs={"x": {"float32": [], "shape": ["a"]}}), "inputs.x.shape: ['a'] is not a list"),
    "undefined": (
        changed(nodes=[{"op_type": "Relu", "inputs": ["X"], "outputs": ["y"]}]),
        "nodes[0].inputs: nothing defines 'X'; did you mean 'x'?",
    ),
    "order": (
        changed(
            nodes=[
                {"op_type": "Relu", "inputs": ["b"], "outputs": ["y"]},
                {"op_type": "Relu", "inputs": ["x"], "outputs": ["b"]},
            ]
        ),
        "nodes[0].inputs: 'b' is made by this or a later node; nodes stand in order",
    ),
    "twice": (
        changed(nodes=[{"op_type": "Relu", "inputs": ["x"], "outputs": ["s"]}]),
        "nodes[0].outputs: 's' is defined already; a name has one meaning",
    ),
    "both": (changed(inputs={"x": {"int8": 1}, "s": {"int8": 1}}), "inputs.s: 's' is a constant too"),
    "output": (changed(outputs=["Y"]), "outputs: nothing defines 'Y'; did you mean 'y'?"),
    "expected": (changed(expected={"q": {"int8": 1}}), "expected.q: 'q' is no output; there are y"),
    "opset": (changed(opset={"": "13"}), "opset.ai.onnx: '13' is not a version like 13"),
    "attribute": (
        changed(nodes=[{**GOOD["nodes"][0], "attributes": {"axis": None}}]),
        "nodes[0].attributes.axis: None is no integer, number, text, list or tensor",
    ),
    "mixed": (
        changed(nodes=[{**GOOD["nodes"][0], "attributes": {"axis": [1, "a"]}}]),
        "nodes[0].attributes.axis: a list holds integers, numbers or texts, all of one kind",
    ),
    "twice a key": ('{"qlab_case": 1, "qlab_case": 1}', "the key 'qlab_case' stands twice in one object"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "deep tensor": (
        changed(inputs={"x": {"float32": "@"}}).replace('"@"', "[" * 40 + "]" * 40),
        "inputs.x: lists nested deeper than 32",
    ),
    "long number": (changed(inputs={"x": {"int8": "@"}}).replace('"@"', "9" * 5000), "not JSON: Exceeds the limit"),
    "huge exponent": (
        changed(inputs={"x": {"float32": "@"}}).replace('"@"', "1e999999999"),
        "inputs.x: 1E+999999999 is beyond float32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(name):
    text, line = WRONG[name]
    with pytest.raises(CaseError) as error:
        case_from_json(text)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_huge_text_is_not_read():
    with pytest.raises(
        CaseError, match="the case has 32,000,001 characters; at most 32,000,000 are read"
    ):
        case_from_json(" " * 32_000_001)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=400)
@given(st.sampled_from(sorted(GOOD)), json_values)
def test_any_value_of_any_key_is_a_case_or_one_line(key, value):
    try:
        case_from_json(json.dumps({**GOOD, key: value}))
    except CaseError as error:
        assert "\n" not in str(error)


@settings(max_examples=300)
@given(st.integers(0, len(changed()) - 1), st.characters())
def test_any_character_changed_is_a_case_or_one_line(place, character):
    text = changed()
    try:
        case_from_json(text[:place] + character + text[place + 1 :])
    except CaseError as error:
        assert "\n" not in str(error)


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(CaseError, match="half a surrogate pair"):
        case_from_json(changed(title="\ud800"))
