"""The matrix on the installed release; other releases are in tests/runtimes/test_live.py."""

import os
import signal

import numpy as np
import pytest

from qlab.case import Case
from qlab.cpus import predictions
from qlab.engines import pool
from qlab.engines.ort import emulated_cpus, ort_version, run_ort
from qlab.engines.results import LEVELS, RunStatus, SessionConfig
from qlab.gallery import gallery_case, gallery_names
from qlab.graph import Graph, Node
from qlab.history import versions_of
from qlab.matrix import Column, Matrix, columns
from qlab.passes import which_pass
from qlab.reference import exact_trace, reference_of

HERE = ort_version()
ABSENT = "1.99.0"


def test_columns_are_every_level_with_every_setting_on_every_cpu():
    entry = {"session.x64quantprecision": "1"}
    found = columns(LEVELS[:2], cpus=("this", "sse"), entries=({}, entry))
    assert [c.label for c in found[:4]] == [
        "ORT_DISABLE_ALL",
        "ORT_ENABLE_BASIC",
        "ORT_DISABLE_ALL session.x64quantprecision=1",
        "ORT_ENABLE_BASIC session.x64quantprecision=1",
    ]
    assert found[-1].label == "ORT_ENABLE_BASIC session.x64quantprecision=1 sse"


def test_a_cell_is_run_once():
    matrix = Matrix(gallery_case("qlinearadd-off-by-one"))
    assert matrix.cell(HERE, Column()) is matrix.cell(HERE, Column())
    assert matrix.cell(HERE, Column()).words == "1 of 1 code, by 1 step"


def test_a_release_that_is_not_here_is_a_cell_and_the_others_go_on():
    matrix = Matrix(gallery_case("qlinearadd-off-by-one"))
    cells = list(matrix.fill([ABSENT, HERE], columns()))
    assert len(cells) == 8
    assert {c.sign for c in cells if c.version == HERE} == {"≠"}
    assert {c.words for c in cells if c.version == ABSENT} == {"not here"}
    assert "runtimes add 1.99.0" in next(c.message for c in cells if c.version == ABSENT)


def test_a_stopped_matrix_ends():
    matrix = Matrix(gallery_case("qlinearadd-off-by-one"))
    filling = matrix.fill([HERE], columns())
    next(filling)
    filling.close()
    assert matrix.stop.is_set()
    assert list(matrix.fill([HERE], columns())) == []


def test_a_worker_that_is_killed_costs_nothing_but_its_own_cell():
    assert pool.worker().version() == HERE
    os.kill(pool.worker().pid, signal.SIGKILL)
    matrix = Matrix(gallery_case("qlinearadd-off-by-one"))
    cells = list(matrix.fill([HERE], columns()))
    assert {c.run.status for c in cells} == {RunStatus.OK}


@pytest.mark.parametrize("name", gallery_names())
def test_every_gallery_case_fills_its_row(name):
    matrix = Matrix(gallery_case(name))
    cells = list(matrix.fill([HERE], columns()))
    assert len(cells) == 4
    assert all(c.run is not None for c in cells)
    for cell in cells:
        assert cell.words


def test_the_pass_behind_the_gemm_bias():
    found = which_pass(gallery_case("qdq-gemm-bias-scale"))
    assert found.differs
    assert "QDQSelectorActionTransformer" in found.changed
    assert found.disabled == ("QDQSelectorActionTransformer",)
    assert (
        found.restored.outputs["y"].reshape(-1).tolist()
        != found.optimized.outputs["y"].reshape(-1).tolist()
    )
    assert found.sentence.startswith("With QDQSelectorActionTransformer switched off")


def test_where_no_level_differs_no_pass_is_blamed():
    found = which_pass(gallery_case("qlinearadd-off-by-one"))
    assert (found.differs, found.disabled, found.runs) == (False, (), 2)
    matrix = Matrix(gallery_case("qlinearadd-off-by-one"))
    assert versions_of(matrix, [HERE], columns()).passes is None


def test_other_cpus_are_predicted_only_where_this_one_is():
    case = gallery_case("qlinearadd-off-by-one")
    reference = reference_of(case, exact_trace(case))
    run = run_ort(case, SessionConfig())
    codes = {p.cpu: p.trace.outputs["C"].item() for p in predictions(case, run, reference)}
    assert codes == {"avx2": -88, "sse": -88, "vnni": -88, "arm64": -87}
    node = Node("QuickGelu", ("x",), ("y",), "com.microsoft")  # nothing here has arithmetic for it
    graph = Graph((node,), {}, ("x",), ("y",), {"": 13, "com.microsoft": 1})
    opaque = Case(graph, {"x": np.array([9], np.float32)})
    assert predictions(opaque, run_ort(opaque), reference_of(opaque, None)) == ()


def test_cpus_without_a_prediction_are_left_out():
    """The float32 Softmax of ARM64 is not modelled; that of the others is."""
    graph = Graph((Node("Softmax", ("x",), ("y",)),), {}, ("x",), ("y",), {"": 13})
    case = Case(graph, {"x": np.arange(9, dtype=np.float32)})
    found = predictions(case, run_ort(case), reference_of(case, exact_trace(case)))
    assert [p.cpu for p in found] == ["avx2", "sse", "vnni"]


@pytest.mark.skipif("sse" not in emulated_cpus(), reason="qemu-user is not here")
def test_the_cpu_columns_of_a_saturating_pair():
    matrix = Matrix(gallery_case("matmulinteger-u8s8-saturates"))
    cells = list(matrix.fill([HERE], columns(LEVELS[-1:], cpus=("avx2", "sse"))))
    assert {c.column.cpu: c.sign for c in cells} == {"avx2": "≠", "sse": "="}


@pytest.mark.skipif(
    "arm64" not in emulated_cpus(), reason="ARM64 is not set up: runtimes add --cpu arm64"
)
def test_the_off_by_one_is_right_on_arm64():
    cell = Matrix(gallery_case("qlinearadd-off-by-one")).cell(HERE, Column(cpu="arm64"))
    assert cell.run.outputs["C"].item() == -87
    assert (cell.sign, cell.run.cpu) == ("=", "arm64")
