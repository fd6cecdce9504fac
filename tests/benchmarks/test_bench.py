"""The bench runs: every benchmark quickly, the verb, its files. No timing is asserted."""

import json
import subprocess
import sys

import numpy as np
import pytest

from qlab.__main__ import main
from qlab.bench import Bench, figure, markdown, run_bench, spread, table, to_json
from qlab.benchmarks import Line, benchmarks, timed, timed_in_turn
from qlab.benchmarks.layer import layer
from qlab.engines.ort import run_ort
from qlab.errors import CaseError
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace


@pytest.mark.parametrize("name", [n for n in benchmarks() if n != "page"])
def test_each_runs_in_a_process_of_its_own(name: str):
    lines = run_bench([name], quick=True).lines[name]
    assert lines
    for line in lines:
        assert line.value is not None, line.note
        assert line.value > 0
        assert line.met is None, "a quick run judges nothing"


def test_what_is_timed_is_right():
    """The layer that is timed is predicted code for code here."""
    case = layer(8, 14)
    run = run_ort(case)
    predicted = trace(case.graph, case.inputs, OrtCpu(run.cpu, avx512=run.avx512))
    np.testing.assert_array_equal(predicted.outputs["y"], run.outputs["y"])


def test_the_verb_prints_and_writes(tmp_path, capsys):
    assert main(["bench", "imports", "--quick"]) == 0
    assert "import qlab" in capsys.readouterr().out
    assert main(["bench", "imports", "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lines"]["imports"]
    assert main(["bench", "speed"]) == 2
    assert "there is no benchmark 'speed'; there are growth" in capsys.readouterr().err
    assert main(["bench", "--quick", "--write", str(tmp_path)]) == 2
    assert main(["bench", "--write", str(tmp_path / "none")]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_a_benchmark_that_fails_is_a_line(monkeypatch: pytest.MonkeyPatch):
    def ended(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", "Traceback\nValueError: no room\n")

    monkeypatch.setattr(subprocess, "run", ended)
    (line,) = run_bench(["pairs"]).lines["pairs"]
    assert line.value is None
    assert line.note == "it failed: ValueError: no room"
    assert figure(line) == "not measured"


def test_the_table_says_what_was_promised_and_missed():
    lines = (
        Line("a", 12.345, "ms", 12.0, 13.0, goal="less than 20 ms", met=True),
        Line("b", 1234.5, "MB", goal="less than 1", met=False, note="large"),
    )
    found = Bench("2026-01-01", "a machine", {"pairs": lines})
    assert found.missed == lines[1:]
    text = markdown(found)
    assert "| a | 12.3 ms | 12 – 13 | less than 20 ms | ✓ |" in text
    assert "| b | 1,234 MB |  | less than 1 | ✕ not met; large |" in table(lines)
    assert json.loads(to_json(found))["machine"] == "a machine"
    assert spread(lines[1]) == ""


def test_timing_leaves_the_first_call_out():
    calls = []
    assert len(timed(lambda: calls.append(0), repeats=3).seconds) == 3
    assert len(calls) == 4
    turns: list[str] = []
    found = timed_in_turn(
        {"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, repeats=2
    )
    assert turns == (["a"] * 3 + ["b"] * 3) * 3
    assert len(found["a"].seconds) == 6


def test_a_name_that_is_none():
    with pytest.raises(CaseError, match="there is no benchmark"):
        run_bench(["x"])


def test_it_is_a_program():
    command = [sys.executable, "-m", "qlab.bench", "imports", "quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[0]["unit"] == "ms"
