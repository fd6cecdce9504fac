"""A case as fields, and edits of fields applied to the case."""

import numpy as np
import pytest

from qlab.builder import build
from qlab.errors import CaseError
from qlab.gallery import gallery_case
from qlab.views.editing import (
    Rejected,
    form,
    grid_shape,
    table_texts,
    with_attribute,
    with_step,
    with_text,
)

CASE = gallery_case("qlinearadd-off-by-one")


def tensors(data):
    return {t["name"]: t for g in data["groups"] for t in g["tensors"]}


def test_every_tensor_and_attribute_is_a_field():
    data = form(gallery_case("qdq-conv-bias-scale"), {})
    assert {"x", "w", "w_scale", "b", "y_scale"} <= tensors(data).keys()
    names = {a["name"] for g in data["groups"] for a in g["attributes"]}
    assert {"axis", "auto_pad", "strides"} <= names


def test_a_scale_shows_what_is_stored():
    cell = tensors(form(CASE, {}))["A_scale"]["cells"][0]
    assert cell["text"] == "0.008010663"
    assert "0x3c033f28" in cell["stored"]


def test_what_was_typed_in_vain_is_shown_again_with_its_reason():
    shown = tensors(form(CASE, {"A[0]": Rejected("500", "500 is outside int8")}))["A"]
    assert shown["cells"][0]["text"] == "500"
    assert shown["errors"] == ["A[0,0,0,0]: 500 is outside int8"]


def test_an_edit_changes_one_entry_and_what_was_expected_no_longer_holds():
    edited = with_text(CASE, "A", 0, "-9")
    assert edited.inputs["A"].reshape(-1)[0] == -9
    assert CASE.inputs["A"].reshape(-1)[0] == -8
    assert not edited.expected
    assert with_text(CASE, "A", 0, "-8") is CASE
    with pytest.raises(CaseError):
        with_text(CASE, "A", 0, "500")
    with pytest.raises(CaseError, match="no entry 9"):
        with_text(CASE, "A", 9, "1")


def test_a_step_is_one_unit_in_the_last_place():
    before = CASE.graph.constants["C_scale"]
    after = with_step(CASE, "C_scale", 0, 1).graph.constants["C_scale"]
    assert after == np.nextafter(before, np.float32(1))


def test_an_attribute_is_set_and_left_out():
    case = build("QLinearConv")
    strided = with_attribute(case, 0, "strides", "[2, 2]")
    assert strided.graph.nodes[0].attributes["strides"] == (2, 2)
    assert with_attribute(strided, 0, "strides", "").graph.nodes[0].attributes == {}
    with pytest.raises(CaseError, match="is not a list like"):
        with_attribute(case, 0, "strides", "two")
    with pytest.raises(CaseError, match="is not an integer, which group is"):
        with_attribute(case, 0, "group", "1.5")


@pytest.mark.parametrize(
    ("shape", "grid"),
    [((), (1, 1)), ((3,), (1, 3)), ((1, 2, 3), (2, 3)), ((4, 1), (1, 4)), ((0, 3), (0, 3))],
)
def test_a_tensor_as_a_grid(shape, grid):
    assert grid_shape(shape) == grid


def test_a_long_vector_is_wrapped():
    labels, rows = table_texts(np.arange(20, dtype=np.uint8))
    assert labels == ["[0]", "[16]"]
    assert rows[1] == ["16", "17", "18", "19"] + [""] * 12
