"""``python -m qlab identify``: the answer, the input that tells apart, and one line for what is wrong."""

import io
import json
import sys

import pytest

from qlab.__main__ import main
from qlab.formats.load import load_case
from qlab.schemes import variants
from qlab.trace import trace


def identified(capsys, *arguments) -> tuple[int, str, str]:
    status = main(["identify", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def given(tmp_path):
    def write(text: str, name: str = "mine.c") -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_what_explains_it(capsys, given):
    file = given("static const int8_t y[1] = { -88 }; /* ours */")
    status, out, _ = identified(capsys, "qlinearadd-off-by-one", "--output", file)
    assert status == 0
    assert "explain the one code." in out.splitlines()[0]
    assert "ort_cpu (" in out.splitlines()[0]
    assert "They part on another input. Run this one:" in out


def test_what_explains_nothing(capsys, given):
    status, out, _ = identified(capsys, "qlinearadd-off-by-one", "--output", given("5"))
    assert status == 1
    assert out.startswith("No arithmetic here explains it: the one code.")
    assert "The first that" in out


def test_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"-87")))
    status, out, _ = identified(capsys, "qlinearadd-off-by-one", "--output", "-")
    assert status == 0
    assert "exact" in out.splitlines()[0]


def test_json_and_the_case_that_tells_apart(capsys, given, tmp_path):
    saved = tmp_path / "next.json"
    arguments = ("--output", given("-88"), "--json", "--save", str(saved))
    status, out, _ = identified(capsys, "qlinearadd-off-by-one", *arguments)
    document = json.loads(out)
    assert status == 0
    assert (document["tensor"], document["size"]) == ("C", 1)
    assert "float32" in document["explaining"]
    answers = document["separation"]["answers"]
    assert len(answers) > 1
    case = load_case(str(saved))
    assert case.inputs["A"].size == len(document["separation"]["indexes"])


def test_what_was_told_apart_is_given_back(capsys, given, tmp_path):
    saved = str(tmp_path / "next.json")
    arguments = ("qlinearadd-off-by-one", "--output", given("-87"))
    _, out, _ = identified(capsys, *arguments, "--save", saved)
    assert f"Written: {saved}. Run it with yours, then: python -m qlab identify" in out
    case = load_case(saved)
    assert case.title.startswith("QLinearAdd: tells ")
    assert not case.source
    mine = trace(case.graph, case.inputs, variants()["exact"]).outputs["C"]
    values = given(str(mine.tolist()), "there.txt")
    status, out, _ = identified(capsys, *arguments, "--also", saved, values)
    assert status == 0
    assert "explain the one code and the " in out.splitlines()[0]
    status, _, error = identified(
        capsys, *arguments, "--also", saved, given("1 2 3 4 5 6 7 8 9", "many.txt")
    )
    assert status == 2
    assert f"--also {saved}: 9 values are given; the tensor has {mine.size}" in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--output", "/no/such/file"], "cannot be read"),
        (["--output", "-", "--also", "qlinearadd-off-by-one", "-"], "standard input can be read once"),
        (["--output", "FILE"], "2 values are given; the tensor has 1"),
        (["--output", "FILE", "--tensor", "Z"], "'Z' is made by no node; made are C"),
        (["--output", "FILE", "--all-codes"], "2 values are given; the tensor has 65,536 (256 × 256)"),
    ],
)  # fmt: skip
def test_one_line_for_what_is_wrong(arguments, words, capsys, given):
    file = given("1 2")
    arguments = [file if a == "FILE" else a for a in arguments]
    status, _, error = identified(capsys, "qlinearadd-off-by-one", *arguments)
    assert status == 2
    assert words in error
    assert error.count("\n") == 1


def test_all_codes_of_an_operator_whose_elements_do_not_stand_alone(capsys, given):
    case = "qgemm-u8s8-saturates"
    status, _, error = identified(capsys, case, "--output", given("1"), "--all-codes")
    assert status == 2
    assert "give the case with the inputs that you ran" in error
