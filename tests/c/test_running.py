"""Compilers of all kinds: none, one that hangs, one with options, one that says nothing."""

import shutil
import subprocess
import time

import pytest

from qlab.builder import build
from qlab.c import c_source, check, written
from qlab.case import Case
from qlab.graph import Graph
from qlab.schemes import scheme
from tests.c.compiled import needs_compiler

pytestmark = needs_compiler
SOURCE = "int main(void) { return 0; }\n"


def fake(folder, text):
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def runs(pid):
    """False for one that is gone, or ended and waited for by nobody."""
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.strip()[:1] not in ("", "Z")


@pytest.mark.skipif(not shutil.which("ps"), reason="needs ps")
def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path, monkeypatch):
    mark = tmp_path / "pid"
    monkeypatch.setenv("CC", fake(tmp_path, f"sleep 100 & echo $! > {mark}; wait"))
    checked = check(SOURCE, timeout=1.0)
    assert checked.not_run.endswith("did not end within 1 seconds")
    deadline = time.monotonic() + 5
    while runs(int(mark.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_options_of_cc_are_used(monkeypatch):
    monkeypatch.setenv("CC", "cc -DBROKEN=1")
    assert check("#ifdef BROKEN\n#error broken\n#endif\n" + SOURCE).not_run.endswith("refused it")


def test_one_that_says_nothing_has_still_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", fake(tmp_path, "exit 3"))
    assert check(SOURCE).output == "exit status 3"


def test_an_output_that_no_node_makes_is_one_line():
    case = build("QLinearAdd", dtype="int8")
    graph = Graph(
        case.graph.nodes, case.graph.constants, case.graph.inputs, ("A",), case.graph.opset
    )
    made = written(Case(graph, case.inputs), scheme("exact"))
    assert made.why_not == "the output 'A' is made by no node: nothing is to be computed"


def test_the_files_compile_with_gnu_extensions_too(monkeypatch):
    monkeypatch.setenv("CC", "cc -march=native")
    assert (
        check(
            c_source(build("QLinearAdd", dtype="int8"), scheme("ort_cpu")), ("-std=gnu11",)
        ).status
        == 0
    )
