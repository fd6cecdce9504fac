"""python -m qlab versions, on the installed release."""

import json

import pytest

from qlab.__main__ import main
from qlab.runtimes import store

HERE = store.installed_version()
CASE = "qdq-gemm-bias-scale"


def qlab(capsys, *arguments):
    try:
        status = main(["versions", *arguments])
    except SystemExit as end:
        status = end.code
    out, err = capsys.readouterr()
    return status, out, err


def test_text(capsys):
    status, out, _ = qlab(capsys, CASE, "--runtime", HERE, "--no-search")
    assert status == 1
    assert "DISABLE_ALL" in out
    assert f"On {HERE}: With QDQSelectorActionTransformer switched off" in out
    assert "as it ran:" in out


def test_json(capsys):
    status, out, _ = qlab(capsys, CASE, "--runtime", HERE, "--no-search", "--json")
    found = json.loads(out)
    assert status == 1
    assert found["rows"] == [HERE]
    assert found["columns"][0]["level"] == "ORT_DISABLE_ALL"
    assert found["cells"][0]["words"] == "equal"
    assert found["cells"][-1]["mismatches"] > 0
    assert found["passes"]["disabled_optimizers"] == ["QDQSelectorActionTransformer"]
    assert found["history"] is None


@pytest.mark.parametrize(
    ("name", "status"), [("qlinearadd-off-by-one", 1), ("qdq-conv-bias-scale", 0), ("quantizelinear-axis-refused", 3)]
)  # fmt: skip
def test_exit_status(capsys, name, status):
    assert qlab(capsys, name, "--runtime", HERE, "--no-search")[0] == status


def test_a_search_among_what_is_here(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("QLAB_CACHE", str(tmp_path))
    status, out, _ = qlab(capsys, "qlinearadd-off-by-one", "--no-install")
    assert status == 1
    assert "In every release that was run it is wrong." in out
    assert f"Run: 1 of the 1 releases from {HERE} to {HERE}." in out


def test_a_search_compares_with_a_chosen_run(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("QLAB_CACHE", str(tmp_path))
    arguments = (CASE, "--no-install", "--level", "ALL")
    _, out, _ = qlab(capsys, *arguments, "--than", f"{HERE}:DISABLE_ALL")
    assert f"In every release that was run it gives other codes than {HERE} ORT_DISABLE_ALL." in out
    _, out, _ = qlab(capsys, *arguments, "--than", HERE)
    assert f"In no release that was run it gives other codes than {HERE} ORT_ENABLE_ALL." in out


def test_what_was_recorded_is_said_to_be(capsys):
    arguments = ("qlinearadd-off-by-one", "--runtime", HERE, "--no-search")
    _, out, _ = qlab(capsys, *arguments)
    live, recorded = out.split("Recorded earlier, not run now:")
    assert "1.15.0" not in live
    assert "1.15.0 – 1.32.0" in recorded
    assert "arm64 on ARM64 max, emulated by qemu" in recorded
    found = json.loads(qlab(capsys, *arguments, "--json")[1])
    assert {cell["recorded"] for cell in found["cells"]} == {""}
    assert "" not in {cell["recorded"] for cell in found["recorded"]}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--preset", "all"], "--preset all: there is no such preset; there are installed, latest"),
        (["--preset", "around:x"], "'x' is no release"),
        (["--runtime", "1.2"], "'1.2' is no release"),
        (["--from", "1.30.0", "--to", "1.20.0"], "--from 1.30.0 is newer than --to 1.20.0"),
        (["--level", "9"], "--level 9: there is no such level"),
        (["--entry", "x"], "--entry x: write KEY=VALUE"),
        (["--runtime", "1.99.0", "--no-install", "--no-search"], "nothing could be run: onnxruntime 1.99.0 is not"),
        (["--than", "1.2"], "'1.2' is no release"),
        (["--than", "1.26.0:9"], "--than 9: there is no such level"),
        (["--than", "1.26.0:ALL:z80"], "--than 1.26.0:ALL:z80: write VERSION[:LEVEL[:CPU]]"),
        (["--than", "1.26.0", "--no-search"], "--than is what the search compares with: leave out --no-search"),
        (["--than", "1.26.0", "--predicate", "fails"], "--than goes with --predicate changed, not fails"),
        (["--than", "1.99.0", "--no-install"], "there is nothing to compare with: onnxruntime 1.99.0 is not"),
        (["--than", ":"], "--than: '' is no release"),
        (["--predicate", "odd"], "invalid choice: 'odd'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_and_status_2(capsys, arguments, line):
    status, out, err = qlab(capsys, CASE, *arguments)
    assert (status, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1
