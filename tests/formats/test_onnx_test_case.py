"""ONNX's own test-case folder, also zipped."""

import io
import zipfile

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from qlab.errors import CaseError
from qlab.formats.onnx_test_case import (
    case_from_model,
    folder_files,
    read_folder,
    read_zip,
    write_folder,
)
from qlab.gallery import gallery_case, gallery_names
from qlab.qtypes import DTYPES
from tests.formats.cases import edge_values, identity, same

CASE = identity(np.array([1, 2], np.int8))
FILES = folder_files(CASE)


def zipped(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def model(**changes):
    made = CASE.model()
    for key, value in changes.items():
        getattr(made.graph if key != "functions" else made, key).extend(value)
    return made.SerializeToString()


@pytest.mark.parametrize("name", gallery_names())
def test_the_gallery_there_and_back(name, tmp_path):
    case = gallery_case(name)
    write_folder(case, tmp_path / name)
    assert same(read_folder(tmp_path / name), case)
    assert same(read_zip(zipped(folder_files(case))), case)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_the_edges_of_every_type_survive(name):
    case = identity(edge_values(name))
    assert same(read_zip(zipped(folder_files(case))), case)


def test_the_files_have_onnxs_names(tmp_path):
    written = write_folder(CASE, tmp_path)
    assert {p.relative_to(tmp_path).as_posix() for p in written} == {
        "model.onnx", "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb",
    }  # fmt: skip
    proto = onnx.TensorProto.FromString((tmp_path / "test_data_set_0/input_0.pb").read_bytes())
    assert onnx.numpy_helper.to_array(proto).tolist() == [1, 2]


def test_a_folder_within_a_zip():
    assert same(read_zip(zipped({f"a/b/{name}": data for name, data in FILES.items()})), CASE)


def test_a_model_without_inputs_is_a_case():
    node = onnx.helper.make_node("Identity", ["c"], ["y"])
    constant = onnx.numpy_helper.from_array(np.array([1], np.int8), "c")
    output = onnx.helper.make_empty_tensor_value_info("y")
    graph = onnx.helper.make_graph([node], "g", [], [output], [constant])
    case = case_from_model(onnx.helper.make_model(graph).SerializeToString())
    assert case.inputs == {}
    assert case.graph.constants["c"].tolist() == [1]


external = onnx.TensorProto(name="w", data_type=1, dims=[1], data_location=1)
external.external_data.add(key="location", value="/etc/passwd")
loop = onnx.helper.make_node("Identity", ["x"], ["q"], g=onnx.helper.make_graph([], "g", [], []))
strings = onnx.helper.make_tensor("w", onnx.TensorProto.STRING, [1], [b"a"])
WRONG = {
    "no model": ({"a.txt": b""}, "holds no model.onnx"),
    "no input": ({"model.onnx": FILES["model.onnx"]}, "has no test_data_set_0/input_0.pb, the value of the input 'x'"),
    "bytes": ({**FILES, "model.onnx": b"\xff\xff"}, "model.onnx is no ONNX model"),
    "empty": ({**FILES, "model.onnx": b""}, "model.onnx has no nodes"),
    "input": ({**FILES, "test_data_set_0/input_0.pb": b"\xff\xff"}, "input_0.pb: is no tensor"),
    "external": ({**FILES, "model.onnx": model(initializer=[external])}, "w lies in another file"),
    "subgraph": ({**FILES, "model.onnx": model(node=[loop])}, "graphs and sparse tensors as attributes"),
    "strings": ({**FILES, "model.onnx": model(initializer=[strings])}, "tensors cannot be held"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_line(name):
    files, line = WRONG[name]
    with pytest.raises(CaseError) as error:
        read_zip(zipped(files), "a.zip")
    assert line in str(error.value)
    assert str(error.value).startswith("a.zip: ")
    assert "\n" not in str(error.value)


def test_no_zip():
    with pytest.raises(CaseError, match=r"a\.zip: cannot be unpacked: "):
        read_zip(b"PK\x03\x04 and nothing", "a.zip")


def test_a_zip_that_unpacks_to_too_much():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.onnx", bytes(70_000_000))
    assert len(stream.getvalue()) < 100_000
    with pytest.raises(CaseError, match="more than 500 files or 64,000,000 bytes"):
        read_zip(stream.getvalue())


def test_a_zip_of_too_many_files():
    with pytest.raises(CaseError, match="more than 500 files"):
        read_zip(zipped({f"{i}": b"" for i in range(501)}))


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(CaseError, match="has no model.onnx; an ONNX test case is a folder"):
        read_folder(tmp_path)


@settings(max_examples=300)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_any_damaged_byte_is_a_case_or_one_line(name, data):
    original = FILES[name]
    place = data.draw(st.integers(0, len(original) - 1))
    damaged = original[:place] + bytes([data.draw(st.integers(0, 255))]) + original[place + 1 :]
    try:
        read_zip(zipped({**FILES, name: damaged}))
    except CaseError as error:
        assert "\n" not in str(error)


def moved_out(proto):
    proto.ClearField("raw_data")
    proto.data_location = onnx.TensorProto.EXTERNAL
    proto.external_data.add(key="location", value="secret")
    return proto


def with_constant(attribute):
    made = CASE.model()
    made.graph.node.insert(
        0, onnx.NodeProto(op_type="Constant", output=["c"], attribute=[attribute])
    )
    return made.SerializeToString()


@pytest.mark.parametrize("where", ["constant", "attribute", "input", "output"])
def test_a_tensor_in_another_file_is_never_read(tmp_path, monkeypatch, where):
    (tmp_path / "secret").write_bytes(b"SECRET!!")
    monkeypatch.chdir(tmp_path)
    tensor = moved_out(numpy_helper.from_array(np.zeros(8, np.int8), "c"))
    files = dict(FILES)
    if where in ("input", "output"):
        files[f"test_data_set_0/{where}_0.pb"] = tensor.SerializeToString()
    else:
        name = "value" if where == "constant" else "other"
        files["model.onnx"] = with_constant(helper.make_attribute(name, tensor))
    with pytest.raises(CaseError, match="c lies in another file"):
        read_zip(zipped(files))


def test_a_constant_that_is_no_tensor_stays_a_node():
    files = {**FILES, "model.onnx": with_constant(helper.make_attribute("value", 7))}
    assert [node.op_type for node in read_zip(zipped(files)).graph.nodes][:2] == [
        "Constant",
        "Identity",
    ]


def test_an_output_listed_twice_is_refused():
    made = CASE.model()
    made.graph.output.append(made.graph.output[0])
    with pytest.raises(CaseError, match="'y' is listed twice"):
        case_from_model(made.SerializeToString())


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_deflate_is_unpacked(method):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("model.onnx", bytes(100_000))
    with pytest.raises(CaseError, match="another method than deflate"):
        read_zip(stream.getvalue())


def test_the_size_that_an_archive_declares_is_not_believed():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.onnx", bytes(30_000_000))
    lying = stream.getvalue().replace(
        (30_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")
    )
    with pytest.raises(CaseError, match="cannot be unpacked"):
        read_zip(lying)
