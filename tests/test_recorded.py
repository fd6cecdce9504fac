"""What the gallery remembers: whole, of the cases as they are, predicted code for code, and still true here."""

import dataclasses
import json

import pytest

from qlab.engines.cpu import cpu_class
from qlab.engines.ort import run_ort
from qlab.engines.results import LEVELS, RunStatus, SessionConfig
from qlab.errors import CaseError
from qlab.formats.recording_json import recording_from_json, recording_to_json
from qlab.gallery import gallery_case, gallery_names
from qlab.graph import same_graph, same_outputs
from qlab.matrix import Cell, Column
from qlab.recorded import recorded_cells, recorded_runs
from qlab.runtimes.store import installed_version
from qlab.schemes.ort_cpu import OrtCpu
from qlab.summary import changes, summary
from qlab.trace import trace

CPUS = ("avx2", "sse", "vnni", "arm64")
RELEASES = (
    *("1.15.1", "1.16.3", "1.17.3", "1.18.1", "1.19.2", "1.20.1", "1.22.1", "1.24.4", "1.25.1"),
    *("1.26.0", "1.27.0", "1.29.0", "1.30.0", "1.31.1", "1.32.0"),
)


def _words(name: str, version: str, cpu: str, level: str = "ORT_ENABLE_ALL") -> str:
    column = Column(level, cpu)
    cells = recorded_cells(gallery_case(name))
    (cell,) = (c for c in cells if (c.version, c.column) == (version, column))
    return f"{cell.sign} {cell.words}"


@pytest.mark.parametrize("name", gallery_names())
def test_every_case_is_recorded_as_it_is_now(name):
    runs = recorded_runs(name)
    places = {(r.run.version, r.run.cpu, r.run.config.level) for r in runs}
    assert len(places) == len(runs)
    assert places >= {(v, cpu, level) for v in RELEASES for cpu in CPUS for level in LEVELS}
    assert all(r.machine and len(r.date) == 10 for r in runs)
    assert all(r.run.emulated == (r.run.cpu != "vnni") for r in runs)


@pytest.mark.parametrize("name", gallery_names())
def test_every_recorded_output_is_predicted_code_for_code(name):
    case, traces = gallery_case(name), {}
    for recorded in recorded_runs(name):
        run = recorded.run
        if run.status is not RunStatus.OK or not run.repeatable:
            continue
        assert run.graph is not None
        key = (id(run.graph), run.cpu, run.version)
        if key not in traces:
            scheme = OrtCpu(run.cpu, version=run.version)
            traces[key] = trace(run.graph, case.inputs, scheme).outputs
        assert same_outputs(traces[key], run.outputs), (run.version, run.cpu, run.config.level)


def test_what_is_recorded_is_what_runs_here_now():
    here = cpu_class()
    compared = 0
    for name in gallery_names():
        for recorded in recorded_runs(name):
            run = recorded.run
            if (run.version, run.cpu) != (installed_version(), here):
                continue
            now = run_ort(gallery_case(name), SessionConfig(run.config.level))
            assert (now.status, now.repeatable) == (run.status, run.repeatable), name
            assert not run.repeatable or same_outputs(now.outputs, run.outputs), name
            if run.graph is not None:
                assert now.graph is not None
                assert [n.op_type for n in now.graph.nodes] == [n.op_type for n in run.graph.nodes]
            compared += 1
    if not compared:
        pytest.skip(f"nothing is recorded of {installed_version()} on a CPU of the class {here}")
    assert compared == len(gallery_names()) * len(LEVELS)


def test_the_reports_that_this_project_starts_from():
    conv = "qlinearconv-per-channel-zero-points"
    assert _words(conv, "1.26.0", "avx2") == "✕ failed"
    assert _words(conv, "1.27.0", "avx2") == "= equal"
    for level in ("ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"):
        words = _words("qdq-conv-bias-scale", "1.26.0", "sse", level)
        assert words == "≠ 12 of 12 codes, by up to 119 steps"
    assert _words("qdq-conv-bias-scale", "1.26.0", "sse", "ORT_DISABLE_ALL") == "= equal"
    assert _words("qlinearsoftmax-int8-wraps", "1.28.0", "arm64").startswith("≠")
    assert _words("qlinearsoftmax-int8-wraps", "1.29.0", "arm64") == "= equal"
    assert _words("matmulinteger-u8s8-saturates", "1.32.0", "sse") == "= equal"
    assert _words("matmulinteger-u8s8-saturates", "1.32.0", "avx2").startswith("≠ 3 of 9")
    assert _words("qlinearadd-off-by-one", "1.32.0", "avx2") == "≠ 1 of 1 code, by 1 step"
    add = [
        r.run.outputs["C"].item()
        for r in recorded_runs("qlinearadd-off-by-one")
        if r.run.cpu == "arm64"
    ]
    assert set(add) == {-87}


def test_a_summary_puts_together_what_is_the_same():
    found = summary(recorded_cells(gallery_case("qdq-conv-bias-scale")))
    assert [found.row_label(k) for k in range(2)] == ["1.15.0 – 1.26.0", "1.27.0 – 1.32.0"]
    labels = [found.column_label(k) for k in range(len(found.columns))]
    assert labels == ["every CPU: DISABLE_ALL, BASIC", "every CPU: EXTENDED, ALL"]
    found = summary(recorded_cells(gallery_case("qdq-conv-int8-rewritten")))
    labels = [found.column_label(k) for k in range(len(found.columns))]
    assert "avx2: EXTENDED, ALL" in labels
    assert "avx2: DISABLE_ALL, BASIC; sse, vnni, arm64: every level" in labels
    assert summary(()).rows == ()


def test_a_summary_has_a_hole_where_nothing_was_run():
    cells = recorded_cells(gallery_case("qlinearadd-off-by-one"))
    kept = [c for c in cells if (c.version, c.column.cpu) != ("1.20.0", "sse")]
    found = summary(kept)
    assert ("1.20.0",) in found.rows
    row = found.rows.index(("1.20.0",))
    assert None in found.cells[row]


def test_a_range_is_named_only_where_every_release_in_it_was_run():
    cells = recorded_cells(gallery_case("qdq-conv-bias-scale"))
    found = summary(c for c in cells if c.version in ("1.15.0", "1.26.0", "1.27.0", "1.28.0"))
    assert [found.row_label(k) for k in range(2)] == ["1.15.0, 1.26.0", "1.27.0 – 1.28.0"]


def test_the_search_looks_first_where_a_change_was_recorded():
    cells = recorded_cells(gallery_case("qlinearsoftmax-int8-wraps"))
    assert changes(cells, "ORT_ENABLE_ALL") == ("1.28.0", "1.29.0")
    assert changes((), "ORT_ENABLE_ALL") == ()


def test_a_changed_case_has_no_recorded_runs():
    case = gallery_case("qlinearadd-off-by-one")
    inputs = {k: v + 1 for k, v in case.inputs.items()}
    changed = dataclasses.replace(case, inputs=inputs)
    assert recorded_cells(changed) == ()
    text = recording_to_json(case, recorded_runs("qlinearadd-off-by-one"))
    assert recording_from_json(text, changed) == ()
    retitled = dataclasses.replace(case, title="another")
    assert len(recording_from_json(text, retitled)) > 0


@pytest.mark.parametrize("name", ["qdq-conv-bias-scale", "qlinearmatmul-no-products"])
def test_what_is_written_is_read_again(name):
    case = gallery_case(name)
    before = recorded_runs(name)
    text = recording_to_json(case, before)
    again = recording_from_json(text, case)
    assert recording_to_json(case, again) == text
    for a, b in zip(before, again, strict=True):
        assert dataclasses.replace(a.run, graph=None, outputs={}) == dataclasses.replace(
            b.run, graph=None, outputs={}
        )
        assert same_outputs(a.run.outputs, b.run.outputs)
        assert (a.run.graph is None) == (b.run.graph is None)
        assert a.run.graph is None or b.run.graph is None or same_graph(a.run.graph, b.run.graph)
        assert (a.machine, a.date) == (b.machine, b.date)


WHOLE = recording_to_json(
    gallery_case("qlinearadd-off-by-one"), recorded_runs("qlinearadd-off-by-one")
)


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"[]", b"{}", b"\xff\xfe", b"[" * 200_000, b'{"qlab_recording": 2, "runs": {}}'),
        *(b'{"qlab_recording": 1, "case": 3}', WHOLE.replace("avx2", "zzz").encode()),
        *(WHOLE.replace("1.15.0", "1.x").encode(), WHOLE.replace("ORT_ENABLE_ALL", "NO").encode()),
        WHOLE.replace('"results": [0, 0, 0, 0]', '"results": [-1, 0, 0, 0]').encode(),
    ],
    ids=range(11),
)
def test_a_damaged_recording_is_one_line(text):
    with pytest.raises(CaseError) as error:
        recording_from_json(text, gallery_case("qlinearadd-off-by-one"))
    assert "\n" not in str(error.value)


def test_nothing_recorded_is_live():
    for name in gallery_names():
        cells: tuple[Cell, ...] = recorded_cells(gallery_case(name))
        assert all(c.recorded.startswith("2") for c in cells)
    document = json.loads(
        recording_to_json(
            gallery_case("qlinearadd-off-by-one"), recorded_runs("qlinearadd-off-by-one")
        )
    )
    names = {machine["name"] for machine in document["machines"]}
    assert names >= {"Haswell, emulated by qemu", "ARM64 max, emulated by qemu"}


def test_two_machines_of_one_class_keep_their_names():
    case = gallery_case("qlinearadd-off-by-one")
    before = [r for r in recorded_runs("qlinearadd-off-by-one") if r.run.cpu == "avx2"]
    other = [
        dataclasses.replace(
            r,
            machine="a real one",
            date="2027-01-01",
            run=dataclasses.replace(r.run, version="1.33.0", emulated=False),
        )
        for r in before[:4]
    ]
    again = recording_from_json(recording_to_json(case, [*before, *other]), case)
    where = {r.run.version: (r.machine, r.date, r.run.emulated) for r in again}
    assert where["1.33.0"] == ("a real one", "2027-01-01", False)
    assert where["1.15.0"] == ("Haswell, emulated by qemu", "2026-12-02", True)
