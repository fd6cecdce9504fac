"""``python -m qlab``: what it prints, and its exit status."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from qlab.__main__ import main
from qlab.formats.case_json import case_from_json, case_to_json
from qlab.formats.onnx_test_case import write_folder
from qlab.formats.share_link import pack
from qlab.gallery import gallery_case, gallery_names

ROOT = Path(__file__).resolve().parent.parent


def qlab(capsys, *arguments):
    """Exit status, stdout and stderr of one command."""
    try:
        status = main(arguments)
    except SystemExit as exit_:
        status = exit_.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_as_a_module():
    result = subprocess.run(
        [sys.executable, "-m", "qlab", "run", "qlinearadd-off-by-one"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert "ONNX Runtime 1.32.0 gives −88 where exact arithmetic has −87." in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("qlinearadd-off-by-one", 1),
        ("qlinearconv-per-channel-zero-points", 0),
        ("qlinearmatmul-int8-uint8-refused", 3),
    ],
)
def test_run_json(capsys, name, status):
    code, out, err = qlab(capsys, "run", name, "--json")
    assert (code, err) == (status, "")
    assert out.count("\n") == 1
    document = json.loads(out)
    assert document["exit_status"] == status
    assert case_from_json(json.dumps(document["case"])).title == gallery_case(name).title
    levels = [r["level"] for r in document["runs"] if r["engine"] == "onnxruntime"]
    assert levels == ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]
    keys = {"engine", "version", "level", "scheme", "status", "message", "outputs", "graph"}
    assert all(keys <= set(run) for run in document["runs"])
    keys = {"expected", "actual", "output", "size", "mismatches", "max_difference"}
    keys |= {"first_mismatch", "first_differing_step", "why"}
    assert all(keys <= set(c) for c in document["comparisons"])
    assert document["ort_explained"] is (None if status == 3 else True)


def test_run_json_of_the_off_by_one(capsys):
    document = json.loads(qlab(capsys, "run", "qlinearadd-off-by-one", "--json")[1])
    (found,) = [
        c for c in document["comparisons"] if c["actual"] == "onnxruntime 1.32.0 ORT_ENABLE_ALL"
    ]
    assert found["expected"] == "exact"
    assert (found["size"], found["mismatches"], found["max_difference"]) == (1, 1, 1)
    assert found["first_mismatch"] == [0, 0, 0, 0]
    assert found["first_differing_step"] == "C:sum"
    assert found["why"] == "float32 rounds −87.49999529… to −87.5; a tie goes to the even −88"
    arm = [r for r in document["runs"] if r["scheme"] == "ort_cpu" and r["cpu"] == "arm64"]
    assert arm[0]["outputs"] == {"C": {"int8": [[[[-87]]]]}}


def test_levels(capsys):
    for names in (["BASIC"], ["ort_enable_basic"]):
        arguments = [a for name in names for a in ("--level", name)]
        document = json.loads(qlab(capsys, "run", "qlinearadd-off-by-one", "--json", *arguments)[1])
        levels = [r["level"] for r in document["runs"] if r["engine"] == "onnxruntime"]
        assert levels == ["ORT_ENABLE_BASIC"]


def test_every_way_to_name_a_case(capsys, tmp_path):
    case = gallery_case("qlinearadd-off-by-one")
    (tmp_path / "case.json").write_text(case_to_json(case), encoding="utf-8")
    write_folder(case, tmp_path / "folder")
    link = f"http://127.0.0.1:8501/?case={pack(case)}"
    for name in (tmp_path / "case.json", tmp_path / "folder", link, pack(case)):
        code, out, _ = qlab(capsys, "run", str(name))
        assert code == 1
        assert "gives −88 where exact arithmetic has −87" in out


def test_trace(capsys):
    code, out, _ = qlab(capsys, "trace", "qlinearadd-off-by-one", "--element", "0,0,0,0")
    assert code == 1
    assert "← they part here" in next(line for line in out.splitlines() if "sum" in line)
    assert "They part at C:sum: float32 rounds −87.49999529… to −87.5" in out


def test_trace_json(capsys):
    document = json.loads(qlab(capsys, "trace", "qlinearadd-off-by-one", "--json")[1])
    (node,) = document["nodes"]
    assert node["element"] == [0, 0, 0, 0]
    assert node["first_differing_step"] == "C:sum"
    exact = next(s for s in node["schemes"] if s["scheme"] == "exact")
    assert [s["value"] for s in exact["steps"]][-1] == -87


def test_trace_of_a_group_that_was_rewritten(capsys):
    code, out, _ = qlab(capsys, "trace", "qdq-gemm-bias-scale")
    assert code == 1
    assert "QGemm" in out
    assert "the bias scale 0.05 is ignored" in out


@pytest.mark.parametrize("name", gallery_names())
def test_trace_of_every_gallery_case(capsys, name):
    code, out, err = qlab(capsys, "trace", name)
    assert code in (0, 1, 2, 3)
    assert "Traceback" not in err
    assert out or err.count("\n") == 1


def test_gallery(capsys):
    code, out, _ = qlab(capsys, "gallery")
    assert code == 0
    assert len(out.splitlines()) == len(gallery_names())
    document = json.loads(qlab(capsys, "gallery", "--json")[1])
    assert [row["name"] for row in document["gallery"]] == list(gallery_names())


def test_an_exported_report_says_what_was_recorded_or_is_found_by_searching(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setenv("QLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QLAB_INSTALL", "off")
    qlab(capsys, "export", "qlinearadd-off-by-one", "--out", str(tmp_path / "a"))
    for name in ("report.md", "reproduce.py", "test_regression.py", "results.json"):
        text = (tmp_path / "a" / name).read_text()
        assert (
            "Recorded 2026-12-02 without session entries, arm64: every level: 1.15.0 – 1.32.0 = equal."
            in text
        )
    qlab(capsys, "export", "qdq-gemm-bias-scale", "--search", "--out", str(tmp_path / "b"))
    text = (tmp_path / "b" / "report.md").read_text()
    assert "At ORT\\_ENABLE\\_ALL: in every release that was run it is wrong." in text
    assert "With QDQSelectorActionTransformer switched off" in text
    assert text.index("Run here, ") < text.index("Recorded 2026-12-02 ")


def test_export(capsys, tmp_path):
    code, out, _ = qlab(capsys, "export", "qlinearadd-off-by-one", "--out", str(tmp_path / "out"))
    assert code == 1
    assert "ran 3 of 3 times, difference reproduced" in out
    script = next((tmp_path / "out").glob("*.py"))
    assert script.exists()
    for line in out.splitlines():
        if line.startswith("  "):
            assert Path(line.strip()).exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run"], "the following arguments are required: CASE"),
        (["run", "qlinearadd"], "qlab run: qlinearadd: no such file or folder, and no gallery name; did you mean"),
        (["run", "\0"], "no file can have this name"),
        (["run", "a" * 5000], "qlab run: aaa"),
        (["run", "1.00000000.AAAA"], "qlab run: the link is damaged"),
        (["run", "qlinearadd-off-by-one", "--level", "9"], "--level 9: there is no such level; there are ORT_DISABLE_ALL"),
        (["run", "qlinearadd-off-by-one", "--entry", "x"], "--entry x: write KEY=VALUE"),
        (["run", "qlinearadd-off-by-one", "--timeout", "0"], "--timeout 0 must be above 0 and at most 86,400 seconds"),
        (["run", "qlinearadd-off-by-one", "--timeout", "x"], "argument --timeout: invalid float value: 'x'"),
        (["run", "qlinearadd-off-by-one", "--cpu", "z80"], "argument --cpu: invalid choice: 'z80'"),
        (["trace", "qlinearadd-off-by-one", "--element", "1"], "'1' is not an element of a tensor of shape [1, 1, 1, 1]"),
        (["trace", "qlinearadd-off-by-one", "--element", "0,0,0,1"], "1 is outside axis 3, which has 1 entries"),
        (["trace", "qlinearadd-off-by-one", "--output", "Z"], "--output Z: there is no such tensor; there are"),
        (["trace", "qlinearadd-off-by-one", "--graph", "Z"], "--graph Z: there is no such level"),
        (["trace", "quantizelinear-axis-refused"], "no scheme computes this case: "),
        (["fly"], "invalid choice: 'fly'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_and_status_2(capsys, arguments, line):
    code, out, err = qlab(capsys, *arguments)
    assert (code, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"qlab_case": 2}, "qlab_case: version 2 is not known; this qlab reads version 1"),
        ({"typo": 1}, "typo: unknown key"),
        ({"outputs": ["D"]}, "outputs: nothing defines 'D'"),
    ],
)
def test_a_wrong_file_is_one_line_with_its_name(capsys, tmp_path, change, line):
    path = tmp_path / "wrong.json"
    document = json.loads(case_to_json(gallery_case("qlinearadd-off-by-one"))) | change
    path.write_text(json.dumps(document))
    code, _, err = qlab(capsys, "run", str(path))
    assert code == 2
    assert err.startswith("qlab run: wrong.json: ")
    assert line in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e300"])
def test_a_timeout_that_no_clock_has(capsys, seconds):
    status, _, err = qlab(capsys, "run", "qlinearadd-off-by-one", f"--timeout={seconds}")
    assert (status, err.count("\n")) == (2, 1)
    assert "must be above 0 and at most 86,400 seconds" in err


def test_what_would_steer_a_terminal_is_shown_as_it_is_written(capsys, tmp_path):
    case = dataclasses.replace(gallery_case("qlinearadd-off-by-one"), title="\x1b[2J\x9b2J")
    (tmp_path / "case.json").write_text(case_to_json(case))
    _, out, _ = qlab(capsys, "run", str(tmp_path / "case.json"))
    assert out.startswith("\\x1b[2J\\x9b2J")


def test_a_terminal_that_knows_only_ascii():
    command = [sys.executable, "-m", "qlab", "run", "qlinearadd-off-by-one"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert "\\u2260 1 of 1" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_an_answer_that_cannot_be_written_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "qlab", "gallery"],
            stdout=full,
            check=False,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "qlab gallery: the answer cannot be written: No space left on device\n"


def test_export_needs_a_folder(capsys):
    status, _, err = qlab(capsys, "export", "qlinearadd-off-by-one", "--out", "")
    assert (status, err) == (2, "qlab export: no folder is named to write to\n")
