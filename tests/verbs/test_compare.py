"""run --save on one machine, compare on another."""

import json

import pytest

from qlab.__main__ import main


@pytest.fixture
def saved(tmp_path, capsys):
    path = tmp_path / "here.json"
    assert main(["run", "qlinearadd-off-by-one", "--save", str(path)]) == 1
    capsys.readouterr()
    return path


def changed(path, change):
    document = json.loads(path.read_text())
    change(document)
    other = path.with_name("other.json")
    other.write_text(json.dumps(document))
    return other


def elsewhere(document):
    document["machine"]["cpu"] = "Cortex-A57"
    for run in document["report"]["runs"]:
        if run["engine"] == "onnxruntime":
            run["outputs"]["C"]["int8"][0][0][0][0] = -87
            run["cpu"] = "arm64"


def test_a_file_says_where_it_was_made(saved):
    document = json.loads(saved.read_text())
    assert document["machine"]["cpu"]
    assert document["date"].count("-") == 2


def test_the_same_machine_gives_the_same(saved, capsys):
    assert main(["compare", str(saved)]) == 0
    out = capsys.readouterr().out
    assert "= ORT_DISABLE_ALL" in out
    assert "= ORT_ENABLE_ALL" in out


def test_another_machine_may_not(saved, capsys):
    other = changed(saved, elsewhere)
    assert main(["compare", str(saved), str(other)]) == 1
    out = capsys.readouterr().out
    assert "Cortex-A57" in out
    assert "(arm64): 1 of 1 code, by 1 step" in out
    assert main(["compare", str(saved), str(other), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [c["equal"] for c in found["comparisons"]] == [False, False]


def refused(document):
    for run in document["report"]["runs"]:
        if run["engine"] == "onnxruntime":
            run["status"], run["outputs"] = "rejected", {}


def test_a_refusal_there_is_a_difference(saved, capsys):
    assert main(["compare", str(changed(saved, refused)), str(saved)]) == 1
    assert "rejected in 1, ok in 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda d: d.pop("qlab_run"), "is no file that run --save wrote"),
        (lambda d: d.update(qlab_run=2), "has the version 2; this qlab reads 1"),
        (lambda d: d.pop("machine"), "is damaged: KeyError 'machine'"),
        (lambda d: d["report"].update(runs=3), "is damaged: TypeError"),
        (lambda d: d["report"].update(runs=[]), "holds no run of ONNX Runtime"),
        (lambda d: d["report"]["case"].update(qlab_case=9), "qlab_case: version 9 is not known"),
        (lambda d: d["report"]["runs"][0]["outputs"]["C"].update(int8=[900]), "outputs.C"),
    ],
)
def test_a_wrong_file_is_one_line_with_its_name(saved, capsys, change, line):
    other = changed(saved, change)
    assert main(["compare", str(other)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "other.json" in err
    assert line in err


@pytest.mark.parametrize("name", ["nowhere/none.json", "/dev/null", "."])
def test_no_file_at_all(capsys, name):
    assert main(["compare", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_another_case_is_not_compared(saved, tmp_path, capsys):
    other = tmp_path / "gemm.json"
    main(["run", "qdq-gemm-bias-scale", "--save", str(other)])
    assert main(["compare", str(saved), str(other)]) == 2
    assert "hold different cases" in capsys.readouterr().err


def test_a_file_that_cannot_be_written(capsys, tmp_path):
    assert main(["run", "qlinearadd-off-by-one", "--save", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err
