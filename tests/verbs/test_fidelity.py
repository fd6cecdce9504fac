"""``python -m qlab fidelity``: counts, says what is first wrong, keeps, and writes the documentation's table."""

import json
from pathlib import Path

import numpy as np
import pytest

import qlab.fidelity
from qlab.__main__ import main
from qlab.batteries import Battery, batteries
from qlab.batteries.inputs import one_node, scalar
from qlab.compare import differing
from qlab.fidelity import Row, keep, measure, measured
from qlab.schemes.ort_cpu import OrtCpu
from qlab.views.fidelity import line, summary, table

ROOT = Path(qlab.__file__).resolve().parents[1]


class Truncates(OrtCpu):
    def to_codes(self, scaled, target):
        return (yield from super().to_codes(np.trunc(scaled), target))


def test_counts_until_there_are_enough(capsys):
    assert main(["fidelity", "dynamicquantizelinear", "--least", "300000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:6] == ["DynamicQuantizeLinear", "uint8", "440,880", "0", "0", "–"]
    assert lines[-1].startswith("0 of ")


def test_says_what_is_first_wrong(monkeypatch, capsys):
    monkeypatch.setattr(qlab.fidelity, "OrtCpu", Truncates)
    assert main(["fidelity", "QuantizeLinear", "--least", "1", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    row = next(row for row in rows if row["dtypes"] == "int16")
    assert row["mispredicted"] > 1000
    assert row["first"].startswith("seed 0, case 0, ORT_DISABLE_ALL, y[")


def test_what_is_not_predicted_is_counted():
    tensors = {"X": np.ones((1, 2), np.float32)}
    opaque = one_node("Selu", ("X",), tensors, ("X",))
    refused = one_node("QuantizeLinear", ("x",), {"x": scalar("float32", 1)}, ("x",))
    row = measure(Battery("Selu", "float32", "QOperator", lambda _: iter([opaque, refused])))
    assert (row.compared, row.unmodelled, row.perfect) == (0, 3, False)
    assert row.first.endswith("no arithmetic for Selu")
    assert "3 without a prediction" in line(row)
    assert summary([row]) == "0 of 0 outputs mispredicted, in 1 rows; 3 had no prediction."


def test_nan_equals_nan_and_zeros_have_a_sign():
    one, other = (np.array(v, np.float32) for v in ([np.nan, 0.0, 1.0], [-np.nan, -0.0, 1.0]))
    assert differing(one, other).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Foo"], "there is no battery for 'Foo'; there are Add, "),
        (["--least", "0"], "--least must be from 1 to"),
        (["--seed", "-1"], "--seed 0 or more"),
        (["--runtime", "1.2.3"], "1.2.3"),
    ],
)
def test_wrong_arguments_get_one_line(arguments, words, capsys):
    assert main(["fidelity", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_newer_count_replaces_the_older(monkeypatch, tmp_path):
    monkeypatch.setattr(qlab.fidelity, "MEASURED", tmp_path / "measured.json")
    measured.cache_clear()
    first = Row("QLinearAdd", "int8", "QOperator", ("ORT_DISABLE_ALL",), 0, cpu="sse", version="1.32.0", compared=10)  # fmt: skip
    keep([first])
    keep([Row(**{**vars(first), "compared": 20}), Row(**{**vars(first), "cpu": "avx2"})])
    assert [(row.cpu, row.compared) for row in measured()] == [("avx2", 10), ("sse", 20)]
    assert measured()[1].levels == ("ORT_DISABLE_ALL",)
    measured.cache_clear()


def test_the_documentation_shows_the_kept_counts(capsys):
    assert (ROOT / "docs/fidelity.md").read_text(encoding="utf-8") == table(measured())
    assert main(["fidelity", "--table"]) == 0
    assert capsys.readouterr().out == table(measured())


def test_every_battery_was_counted():
    """And no output was mispredicted."""
    assert {row.name for row in measured() if row.cpu == "vnni"} == set(batteries())
    assert all(row.perfect for row in measured())
    assert all(row.compared >= 10_000_000 for row in measured() if row.cpu == "vnni")
