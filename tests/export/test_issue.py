"""The report and the prefilled form."""

import dataclasses
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from qlab.build import build
from qlab.export.archive import export
from qlab.export.issue_form import FIELDS, LINK_LIMIT, IssueText, issue_link
from qlab.export.markdown import fence, inline, issue_text
from qlab.export.verify import Verification
from qlab.gallery import gallery_case, gallery_names
from qlab.session import run

RAN = Verification(3, (1, 1, 1), "")
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


@pytest.mark.parametrize("name", gallery_names())
def test_a_report_has_what_turns_reports_into_fixes(reports, name):
    report = reports[name]
    issue = issue_text(report, RAN)
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
    "name", ["qlinearadd-off-by-one", "qdq-gemm-bias-scale", "qlinearmatmul-int8-uint8-refused"]
)
def test_a_control_case_was_run(reports, name):
    assert "**Control**" in issue_text(reports[name]).markdown


def test_an_oracle_in_doubt_is_said_to_be():
    report = run(build("QuantizeLinear").with_tensor("y_scale", np.float32(0)))
    assert "so it is no second witness here" in issue_text(report).markdown


@pytest.mark.parametrize("name", gallery_names())
def test_a_link_holds_what_it_says(reports, name):
    made = export(reports[name], times=1)
    assert len(made.link.url) <= LINK_LIMIT
    query = parse_qs(urlsplit(made.link.url).query, strict_parsing=True)
    assert query["template"] == ["08-general.yml"]
    assert query["title"] == [made.issue.title]
    assert not {"labels", "assignees", "platform", "arch", "ep", "inf-api"} & set(query)
    script = query["reproducibility"][0]
    assert ("def make_model()" in script) == (not made.link.paste)
    assert query["issue-descript"][0].startswith(inline(reports[name].verdict.headline)[:40])


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
    text = issue_text(run(case)).markdown
    assert "\n# heading" not in text.split("```")[0]


def test_a_fence_is_longer_than_any_in_the_code():
    assert fence("a\n````\nb", "python") == "`````python\na\n````\nb\n`````"
    assert fence("x", "") == "```\nx\n```"
