"""All that one takes away, as files."""

import dataclasses
import io
import json
import shlex
import zipfile
from urllib.parse import unquote

import numpy as np
import onnx
import pytest

from qlab.case import Case
from qlab.errors import ExportError
from qlab.export.archive import export, write_export
from qlab.formats.load import load_case
from qlab.formats.onnx_test_case import read_zip
from qlab.gallery import gallery_case
from qlab.graph import Graph, Node
from qlab.session import run

NAMES = {
    *("reproduce.py", "test_regression.py", "report.md", "case.json", "results.json", "README.txt"),
    "qlinearadd.c",
    *("model.onnx", "test_data_set_0/input_0.pb", "test_data_set_0/input_1.pb"),
    "test_data_set_0/output_0.pb",
}


@pytest.fixture(scope="module")
def report():
    return run(gallery_case("qlinearadd-off-by-one"))


def test_the_zip_holds_all_of_it(report):
    made = export(report, times=1)
    with zipfile.ZipFile(io.BytesIO(made.zip())) as archive:
        assert set(archive.namelist()) == NAMES
        assert json.loads(archive.read("results.json"))["exit_status"] == 1
        model = onnx.ModelProto.FromString(archive.read("model.onnx"))
        assert [node.op_type for node in model.graph.node] == ["QLinearAdd"]
    assert made.sentence == "ran 1 of 1 times, difference reproduced"
    assert made.agrees
    again = export(report, times=1)
    assert made.zip() == again.zip()


def test_the_readme_names_the_command_and_never_breaks_out_of_it(report):
    hostile = dataclasses.replace(
        report, verdict=dataclasses.replace(report.verdict, headline='it\'s `id` $(id) "x"\nrm')
    )
    readme = export(hostile, times=1).files["README.txt"].decode()
    assert len(readme.splitlines()) == 8
    line = next(n for n in readme.splitlines() if "gh issue create" in n)
    words = shlex.split(line[line.index("gh issue") :])
    assert words[:6] == ["gh", "issue", "create", "--repo", "microsoft/onnxruntime", "--title"]
    assert words[7:] == ["--body-file", "report.md"]


def test_a_script_that_disagrees_with_the_report_is_said_to(report):
    comparisons = tuple(c for c in report.comparisons if "onnxruntime" not in c.actual)
    made = export(dataclasses.replace(report, comparisons=comparisons), times=1)
    assert made.sentence.endswith("difference reproduced, which is not what the report says")


def test_the_zip_is_a_case_again(report):
    case = read_zip(export(report, times=1).zip())
    assert case.inputs["A"].tolist() == [[[[-8]]]]
    assert case.expected["C"].tolist() == [[[[-87]]]]


def test_a_folder(report, tmp_path):
    written, _ = write_export(report, tmp_path / "a" / "b")
    assert {p.relative_to(tmp_path / "a" / "b").as_posix() for p in written} == NAMES
    for name in ("case.json", "", "model.onnx"):
        if name != "model.onnx":
            assert run(load_case(tmp_path / "a" / "b" / name)).verdict == report.verdict


def test_a_folder_that_cannot_be_written(report, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="file: cannot be written: "):
        write_export(report, tmp_path / "file")


def test_without_a_script_the_rest_is_there():
    node = Node("Identity", ("x",), ("y",))
    x = np.zeros(20_001, np.int8)
    made = export(run(Case(Graph((node,), {}, ("x",), ("y",), {"": 21}), {"x": x})), times=1)
    assert "reproduce.py" not in made.files
    assert made.sentence.startswith("is not there: a tensor of 20,001 elements is too long")
    assert "reproduce.py" not in made.files["README.txt"].decode()
    assert "there is no script" in made.issue.markdown
    assert "there is no script" in unquote(made.link.url)
