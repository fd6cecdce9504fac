"""The verb: the sentence, the table, CSV, JSON, exit status."""

import json

import pytest

from qlab.__main__ import main


def test_it_says_the_count_and_where(capsys):
    assert main(["sweep", "qlinearadd-off-by-one", "--actual", "ort_cpu (avx2)"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "1 of 65,536 pairs differs, by 1 step, at A = −8, B = −64: ort_cpu (avx2) is below exact"
    )
    assert "Every one of the 65,536 was computed by both: nothing is sampled." in lines[1]
    assert lines[-1].split() == ["−8", "−64", "−87", "−88", "▼", "−1"]


def test_all_agree(capsys):
    arguments = ["sweep", "qlinearadd-off-by-one", "--actual", "float64"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("All 65,536 pairs agree: float64 and exact")


def test_csv_and_json(tmp_path, capsys):
    path = tmp_path / "points.csv"
    arguments = ["sweep", "qlinearadd-off-by-one", "--actual", "ort_cpu (avx2)", "--json"]
    assert main([*arguments, "--csv", str(path)]) == 1
    assert path.read_text().splitlines() == [
        "A,B,expected,actual,difference,tie",
        "-8,-64,-87,-88,-1,0",
    ]
    document = json.loads(capsys.readouterr().out)
    assert document["exhaustive"] is True
    assert (document["size"], document["mismatches"]) == (65_536, 1)
    assert document["points"][0]["codes"] == [-8, -64]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["qgemm-u8s8-saturates"], 2, "operators on single elements"),
        (["qlinearadd-off-by-one", "--actual", "ort:FAST"], 2, "no level"),
        (["qlinearadd-off-by-one", "--expected", "x"], 2, "unknown scheme"),
        (["nothing"], 2, "nothing"),
        (["qlinearadd-off-by-one", "--csv", "/nonexistent/x.csv"], 2, "cannot be written"),
    ],
)
def test_wrong_arguments_are_one_line(arguments, status, words, capsys):
    assert main(["sweep", *arguments]) == status
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_side_without_a_result(capsys):
    assert main(["sweep", "qlinearadd-off-by-one", "--actual", "gemmlowp"]) == 3
    assert "gemmlowp has no result" in capsys.readouterr().out
