"""The report and the prefilled form."""

import ast
import dataclasses
import re
import shlex
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from qlab.builder import build
from qlab.case import Case
from qlab.errors import ExportError
from qlab.export.archive import export
from qlab.export.issue_form import (
    FIELDS,
    LINK_LIMIT,
    IssueText,
    issue_link,
    without_comments,
)
from qlab.export.markdown import LENGTHS, fence, inline, issue_texts
from qlab.export.script import reproducer_script
from qlab.export.verify import Ending, Verification
from qlab.gallery import gallery_case, gallery_names
from qlab.graph import Graph, Node
from qlab.session import run

RAN = Verification((Ending(1, "all of it\nDIFFERENCE REPRODUCED\n"),) * 3)
UNWANTED = ("cuda", "directml", "tensorrt", "openvino", "mobile", "bert", "gpt2")


@pytest.fixture(scope="module")
def reports():
    return {name: run(gallery_case(name)) for name in gallery_names()}


def test_the_form_is_the_one_that_was_read():
    assert [f.id for f in FIELDS] == [
        "issue-descript", "reproducibility", "urgency", "platform", "os-dist", "ort-installation",
        "ort-version", "inf-api", "arch", "ep", "ep-version",
    ]  # fmt: skip
    assert [f.label for f in FIELDS if f.required and f.options] == [
        "Platform", "ONNX Runtime Installation", "ONNX Runtime API", "Architecture", "Execution Provider",
    ]  # fmt: skip
    options = {f.id: " · ".join(f.options) for f in FIELDS if f.options}
    assert options == {
        "platform": "Windows · Linux · Mac · Android · iOS · Web Browser · Other / Unknown",
        "ort-installation": "Built from Source · Released Package · Other / Unknown",
        "inf-api": "Python · C++ · C# · C · Java · JavaScript · Obj-C · WinML · Other / Unknown",
        "arch": "X64 · X86 · ARM64 · ARM32 · IBM Power · Other / Unknown",
        "ep": "Default CPU · CoreML · CUDA · DirectML · oneDNN · OpenVINO · TensorRT · NNAPI · ACL · "
        "ArmNN · MIGraphX · Rockchip NPU · SNPE · TVM · Vitis AI · Other / Unknown",
    }


@pytest.mark.parametrize("name", gallery_names())
def test_a_report_has_what_turns_reports_into_fixes(reports, name):
    report = reports[name]
    issue = issue_texts(report, RAN)["whole"]
    text = issue.markdown
    assert [line[4:] for line in text.splitlines() if line.startswith("### ")] == [
        f.label for f in FIELDS
    ]
    assert "quantization" in issue.title
    assert len(issue.title) <= 160
    assert not any(word in text.lower() for word in UNWANTED)
    assert "input " in text
    assert "The script ran 3 of 3 times" in text
    assert "A regression test" in text
    assert "Is the model valid?" in text
    assert "Which rounding is expected?" in text
    assert "Which execution provider?" in text
    if report.verdict.status == "differs":
        assert "**expected**" in text
        assert "largest difference" in text
        assert "mean " in text
        assert "Exact rational arithmetic" in text
    for label, option in issue.choices:
        assert option in next(f.options for f in FIELDS if f.label == label)


@pytest.mark.parametrize(
    "name",
    [
        "qlinearadd-off-by-one",
        "qdq-gemm-bias-scale",
        "qlinearmatmul-int8-uint8-refused",
        "dynamicquantizelinear-zeros",
    ],
)
def test_a_control_case_was_run(reports, name):
    assert "**Control**" in issue_texts(reports[name])["whole"].markdown


def test_an_oracle_in_doubt_is_said_to_be():
    report = run(build("QuantizeLinear").with_tensor("y_scale", np.float32(0)))
    assert "so it is no second witness here" in issue_texts(report)["whole"].markdown


def test_a_control_that_is_not_right_is_none():
    report = run(gallery_case("qlinearmatmul-no-products"))  # no product, so no code to make tamer
    if report.exit_status:
        assert "**Control**" not in issue_texts(report)["whole"].markdown


def test_a_result_that_the_case_gives_is_not_called_exact():
    node = Node("QuickGelu", ("x",), ("y",), "com.microsoft")  # nothing here has arithmetic for it
    graph = Graph((node,), {}, ("x",), ("y",), {"": 13, "com.microsoft": 1})
    x = np.array([9], np.float32)
    text = issue_texts(run(Case(graph, {"x": x}, expected={"y": x + 1})))["whole"].markdown
    assert "The expected values are given with the case" in text


def test_the_test_in_the_report_runs_beside_its_script(reports, tmp_path):
    report = reports["qdq-gemm-bias-scale"]
    described = issue_texts(report)["whole"].values["issue-descript"]
    code = re.search("\n```python\n(.*?)\n```", described, re.DOTALL)[1]
    (tmp_path / "test_regression.py").write_text(code, encoding="utf-8")
    (tmp_path / "reproduce.py").write_text(reproducer_script(report), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in ran.stdout


def test_what_the_script_printed_is_in_the_whole_report(reports):
    issues = issue_texts(reports["qlinearadd-off-by-one"], RAN)
    assert list(issues) == list(LENGTHS)
    printed = "```\nall of it\nDIFFERENCE REPRODUCED\n```"
    assert [printed in issue.markdown for issue in issues.values()] == [True, False, False, False]
    sizes = [len(issue.markdown) for issue in issues.values()]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", gallery_names())
def test_a_link_decodes_to_what_the_report_says(reports, name):
    made = export(reports[name], times=1)
    assert len(made.link.url) <= LINK_LIMIT
    assert made.link.paste == ""
    query = parse_qs(urlsplit(made.link.url).query, strict_parsing=True)
    assert query["template"] == ["08-general.yml"]
    assert query["title"] == [made.issue.title]
    assert not {"labels", "assignees", "platform", "arch", "ep", "inf-api"} & set(query)
    issues = issue_texts(reports[name], made.verification).values()
    assert query["issue-descript"][0] in [i.values["issue-descript"] for i in issues]
    reproduction = query["reproducibility"][0]
    written = [i.values["reproducibility"] for i in issues]
    assert reproduction in written + [without_comments(text) for text in written]
    code = re.search("```python\n(.*?)\n```", reproduction, re.DOTALL)[1]
    assert {"make_model", "run"} < {getattr(n, "name", "") for n in ast.parse(code).body}


def test_a_long_script_keeps_the_limit_and_says_what_to_paste():
    case = build("QuantizeLinear").with_tensor("x", np.linspace(-9, 9, 3000, dtype=np.float32))
    made = export(run(case), times=1)
    assert len(made.link.url) <= LINK_LIMIT
    assert made.link.paste.endswith("paste reproduce.py into “To reproduce”.")
    query = parse_qs(urlsplit(made.link.url).query, strict_parsing=True)
    assert query["reproducibility"] == ["(paste the script here)"]
    assert query["issue-descript"][0].startswith(inline(run(case).verdict.headline))


def test_a_long_report_leaves_out_the_script_first_then_the_description():
    values = {"issue-descript": "d" * 100, "reproducibility": "s" * 9000, "ort-version": "1.32.0"}
    assert "paste reproduce.py into" in issue_link(IssueText("t", values)).paste
    long = issue_link(IssueText("t", {**values, "issue-descript": "d" * 9000}))
    assert "paste its parts into" in long.paste
    assert len(long.url) < 300


def test_comments_go_before_the_script_does():
    script = "```python\n# comment\nx = 1\n```\n" + "# more\n" * 1000
    link = issue_link(IssueText("t", {"issue-descript": "d", "reproducibility": script}))
    assert link.paste == ""
    assert "comment" not in link.url


@pytest.mark.parametrize(
    "words",
    [
        "@everyone #1 fixes #2",
        "<img src=x>",
        "[a](http://b)",
        "**bold** `code`",
        "a | b",
        "x\n# heading",
    ],
)
def test_no_text_of_a_case_becomes_markup(words):
    written = inline(words)
    assert "\n" not in written
    assert "<img" not in written.replace("\\<", "")
    assert "@e" not in written
    case = dataclasses.replace(build("QuantizeLinear"), title=words, source=words)
    text = issue_texts(run(case))["whole"].markdown
    assert "\n# heading" not in text.split("```")[0]


def test_a_fence_is_longer_than_any_in_the_code():
    assert fence("a\n````\nb", "python") == "`````python\na\n````\nb\n`````"
    assert fence("x", "") == "```\nx\n```"
    assert fence("a ``` b `````").startswith("``````\n")


@pytest.mark.parametrize("words", ["```\n# heading", "~~~\n", "`````` x", "<details>"])
def test_no_name_ends_the_code_block(words):
    case = build("QuantizeLinear")
    case = dataclasses.replace(case, title=words, source=words)
    text = issue_texts(run(case), RAN)["whole"].values["reproducibility"]
    ticks = re.search("^(`+)python$", text, re.MULTILINE)[1]
    body = text.split(f"{ticks}python\n")[1]
    assert body.split(f"\n{ticks}\n")[0].endswith("sys.exit(main())")


def test_the_command_is_one_command():
    title = 'it\'s `id` $(id) "x"'
    command = IssueText(title, {}).command
    assert shlex.split(command) == [
        *("gh", "issue", "create", "--repo", "microsoft/onnxruntime", "--title", title),
        *("--body-file", "report.md"),
    ]


def test_without_a_run_there_is_no_report(reports):
    report = reports["quantizelinear-half-even"]
    with pytest.raises(ExportError, match="nothing ran in ONNX Runtime: name a level"):
        issue_texts(dataclasses.replace(report, engine_runs=report.engine_runs[-1:]))
