"""What a person names as a case."""

import pytest

from qlab.errors import CaseError
from qlab.formats.case_json import case_to_json
from qlab.formats.load import case_from_bytes, load_case
from qlab.formats.onnx_test_case import write_folder
from qlab.formats.share_link import pack
from qlab.gallery import gallery_case
from tests.formats.cases import same

CASE = gallery_case("qlinearadd-off-by-one")


def test_every_way_to_name_it(tmp_path):
    path = tmp_path / "with space ü.json"
    path.write_text(case_to_json(CASE), encoding="utf-8")
    write_folder(CASE, tmp_path / "folder")
    link = f"https://example.org/qlab/?case={pack(CASE)}&cpu=avx2"
    for name in ("qlinearadd-off-by-one", path, str(path), tmp_path / "folder", pack(CASE), link):
        assert same(load_case(name), CASE)


def test_a_byte_order_mark_is_no_fault():
    assert same(case_from_bytes(b"\xef\xbb\xbf" + case_to_json(CASE).encode(), "a.json"), CASE)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("qlinearad-off-by-one", "no such file or folder, and no gallery name; did you mean qlinearadd-off-by-one?"),
        ("zzz", "zzz: no such file or folder, and no gallery name; python -m qlab gallery lists the known cases"),
        ("", "no case is named; python -m qlab gallery lists the known ones"),
        ("a\0b", "no file can have this name"),
        ("x" * 10_000, "xxx: File name too long"),
        ("1.12345678.AAAA", "the link is damaged"),
        ("http://127.0.0.1/?case=x", "the link is damaged"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(name, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CaseError) as error:
        load_case(name)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "name", "line"),
    [
        (
            b"\xff\xfe\x00",
            "a.json",
            "a.json: neither JSON text nor a .zip of an ONNX test-case folder",
        ),
        (b"{}", "a.json", "a.json: not a case"),
        (b"PK\x03\x04", "a.json", "a.json: cannot be unpacked"),
        (b"junk", "a.zip", "a.zip: cannot be unpacked"),
        (b"\x08\x07", "a.onnx", "a.onnx: model.onnx has no nodes"),
    ],
)
def test_a_wrong_file_is_one_line_with_its_name(data, name, line):
    with pytest.raises(CaseError) as error:
        case_from_bytes(data, name)
    assert line in str(error.value)


def test_the_model_of_a_test_case_folder_stands_for_the_folder(tmp_path):
    case = gallery_case("qlinearadd-off-by-one")
    write_folder(case, tmp_path)
    assert same(load_case(tmp_path / "model.onnx"), load_case(tmp_path))
