"""The page Versions by Streamlit's AppTest: it fills, is searched, stopped, and says what cannot be done."""

import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest  # noqa: TID251

from qlab.gallery import gallery_case
from qlab.runtimes import store
from qlab.ui.matrix_job import MatrixJob
from qlab.views.versions_page import answer_html, cell_html, difference_text, table_data

APP = str(Path(__file__).resolve().parent.parent / "app.py")


@pytest.fixture(autouse=True)
def only_what_is_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("QLAB_CACHE", str(tmp_path))
    monkeypatch.setenv("QLAB_INSTALL", "off")


def opened(**query: str) -> AppTest:
    page = AppTest.from_file(APP, default_timeout=60)
    for key, value in query.items():
        page.query_params[key] = value
    page.run()
    return settled(page.switch_page("pages/versions.py").run())


def settled(page: AppTest) -> AppTest:
    for _ in range(100):
        if not page.session_state["matrix_job"].running:
            return page.run()
        time.sleep(0.1)
    raise AssertionError("the matrix does not end")


def html(page: AppTest) -> str:
    return "\n".join(str(element.proto.body) for element in page.get("html"))


def test_what_is_here_is_run_at_once():
    page = opened(gallery="qdq-gemm-bias-scale")
    assert not page.exception
    shown = html(page)
    assert "2 of 4 runs differ from exact arithmetic or fail." in shown
    assert "QDQSelectorActionTransformer switched off" in shown
    assert "Installing releases is turned off on this server." in shown
    assert any("python -m qlab versions qdq-gemm-bias-scale" in code.value for code in page.code)


def test_a_search_among_what_is_here():
    page = opened()
    page.button[0].click().run()
    page = settled(page)
    assert not page.exception
    assert "In every release that was run it is wrong." in html(page)


def test_a_release_without_its_form_is_one_line():
    page = opened()
    page.selectbox[0].set_value("around")
    page.text_input[0].set_value("1.2; rm")
    page.button[0].click().run()
    assert not page.exception
    assert "is no release of onnxruntime" in page.error[0].value


def test_a_chosen_cell_shows_its_outputs_and_its_difference():
    page = opened(gallery="qdq-gemm-bias-scale")
    page.session_state["matrix_pick"] = ("matrix_table", store.installed_version(), 3)
    page.run()
    assert "ORT_ENABLE_ALL" in html(page)
    choice = next(box for box in page.selectbox if box.label == "Compare with")
    choice.set_value(f"{store.installed_version()} ORT_DISABLE_ALL").run()
    assert not page.exception
    assert "differ: 3 of 3 codes" in html(page)


def test_a_stopped_job_keeps_its_cells_and_blames_nobody():
    case = gallery_case("qdq-gemm-bias-scale")
    job = MatrixJob(case, ["1.99.0", store.installed_version()], ())
    job.wait(10)
    assert (job.running, job.error) == (False, "")
    job = MatrixJob(case, [store.installed_version()] * 1, (), searched=("1.99.0",))
    job.stop()
    job.wait(10)
    assert job.found is not None
    assert job.found.passes is None


def test_a_cell_that_has_not_come_is_waited_for():
    from qlab.matrix import Matrix, columns

    matrix = Matrix(gallery_case("qlinearadd-off-by-one"))
    here = store.installed_version()
    done = matrix.cell(here, columns()[0])
    data = table_data([here], columns(), matrix.known, None, (here, 0))
    (row,) = data["rows"]
    assert row["cells"][1:] == [None, None, None]
    assert row["cells"][0]["words"] == "1 of 1 code, by 1 step"
    assert data["picked"] == f"{here} 0"
    assert "C = −88" in cell_html(done)
    assert difference_text(done, done, matrix.reference).endswith("give the same, bit for bit.")
    missing = matrix.cell("1.99.0", columns()[0])
    assert "one of them has no output" in difference_text(done, missing, matrix.reference)
    assert "runtimes add 1.99.0" in cell_html(missing)


def test_a_stopped_matrix_says_how_far_it_came():
    from qlab.history import versions_of
    from qlab.matrix import Matrix, columns

    matrix = Matrix(gallery_case("qdq-conv-bias-scale"))
    here = store.installed_version()
    matrix.cell(here, columns()[0])
    matrix.stop.set()
    shown = answer_html(versions_of(matrix, [here], columns()))
    assert "Stopped after 1 of 4 runs. The one run agrees with exact arithmetic." in shown
