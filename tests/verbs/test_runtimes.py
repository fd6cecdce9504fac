"""python -m qlab runtimes."""

import json

import pytest

from qlab.__main__ import main
from qlab.runtimes import store


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("QLAB_INSTALL", "off")


def test_list(capsys):
    assert main(["runtimes", "list"]) == 0
    assert f"{store.installed_version()}  installed with qlab" in capsys.readouterr().out
    assert main(["runtimes", "list", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runtimes"]
    assert (row["version"], row["installed_with_qlab"]) == (store.installed_version(), True)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["add", "1.25.1"], "installing is turned off here (QLAB_INSTALL=off)"),
        (["add", "latest"], "'latest' is no release of onnxruntime"),
        (["remove", "1.25.1"], "onnxruntime 1.25.1 is not on this machine"),
        (["remove", store.installed_version()], "it stays"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(capsys, arguments, line):
    assert main(["runtimes", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert line in err


def test_prune(capsys):
    assert main(["runtimes", "prune"]) == 0
    assert capsys.readouterr().out == "freed 0 MB\n"
