"""Every page by Streamlit's AppTest: it runs, shows what it should, and survives what a person may ask of it."""

import dataclasses
import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest  # noqa: TID251

from qlab.builder import build
from qlab.engines.pool import Answer, Worker
from qlab.engines.results import RunStatus
from qlab.formats.case_json import case_to_json
from qlab.formats.share_link import pack
from qlab.gallery import gallery_case, gallery_names
from qlab.recorded import elsewhere
from qlab.ui.running import export_key, export_of, key_of, report_of
from qlab.views.address import TOO_LONG
from qlab.views.editing import with_text

APP = str(Path(__file__).resolve().parent.parent / "app.py")


def opened(**query: str) -> AppTest:
    page = AppTest.from_file(APP, default_timeout=60)
    for key, value in query.items():
        page.query_params[key] = value
    return page.run()


def html(page: AppTest) -> str:
    return "\n".join(str(element.proto.body) for element in page.get("html"))


def query(page: AppTest, key: str) -> str:
    value = page.query_params[key]
    return value[0] if isinstance(value, list) else value


def state(page: AppTest):
    return page.session_state["explored"]


@pytest.mark.parametrize("name", gallery_names())
def test_every_gallery_case_is_shown_with_verdict_outputs_and_graph(name):
    page = opened(gallery=name)
    assert not page.exception
    shown = html(page)
    assert 'aria-label="Verdict"' in shown
    assert "Inputs and parameters" in shown
    assert "Output" in shown
    assert 'class="q-graph"' in shown
    assert page.selectbox(key="gallery").value == name


def test_without_a_query_the_default_case_is_shown():
    page = opened()
    assert not page.exception
    assert "exact arithmetic has −87" in html(page)
    assert not page.query_params


def test_a_packed_case_is_opened_and_kept_in_the_address():
    case = with_text(gallery_case("qlinearadd-off-by-one"), "A", 0, "-9")
    page = opened(case=pack(case), element="C:0,0,0,0", levels="ORT_ENABLE_ALL")
    assert not page.exception
    assert int(state(page).address.case.inputs["A"].reshape(-1)[0]) == -9
    assert query(page, "case") == pack(case)
    assert page.selectbox(key="gallery").value is None
    assert any("--level ORT_ENABLE_ALL" in code.value for code in page.code)


@pytest.mark.parametrize(
    "query", [{"case": "x"}, {"gallery": "x"}, {"case": "x", "cpu": "z80"}, {"case": TOO_LONG}]
)
def test_a_damaged_link_is_a_banner_above_the_default_case(query):
    page = opened(**query)
    assert not page.exception
    assert "**not** the case that was linked" in page.warning[0].value
    assert "exact arithmetic has −87" in html(page)


@pytest.mark.parametrize("query", [{"cpu": "z80"}, {"release": "1.26.0;rm"}, {"levels": "9"}])
def test_a_damaged_setting_keeps_the_case_and_is_said(query):
    page = opened(gallery="qlinearadd-minus-112", **query)
    assert not page.exception
    assert state(page).address.case is gallery_case("qlinearadd-minus-112")
    assert "The case is the one that was linked, with the usual settings" in page.warning[0].value
    page = opened(gallery="qlinearadd-minus-112", **query)
    page.switch_page("pages/versions.py").run()
    assert not page.exception
    assert len(page.warning) == 1


def test_an_element_that_is_not_there_is_said():
    page = opened(gallery="qlinearadd-off-by-one", element="C:5,5,5,5")
    assert not page.exception
    assert "no element" in page.warning[0].value


def test_choosing_a_gallery_case_changes_the_address():
    page = opened()
    page.selectbox(key="gallery").set_value("qgemm-u8s8-saturates").run()
    assert not page.exception
    assert query(page, "gallery") == "qgemm-u8s8-saturates"
    assert "QGemm of three elements" in html(page)


def test_a_new_case_is_made():
    page = opened()
    page.selectbox(key="new_operator").set_value("QLinearConv").run()
    page.selectbox(key="new_form_QLinearConv").set_value("QDQ").run()
    next(b for b in page.button if b.label == "Make this case").click().run()
    assert not page.exception
    assert "QLinearConv of uint8 × int8 as a QDQ group" in html(page)
    assert "case" in page.query_params


@pytest.mark.parametrize(
    "label",
    ["Unfold to a QDQ group", "A, B, A_zero_point, B_zero_point, C_zero_point: int8 → uint8"],
)
def test_form_and_type_are_switched(label):
    page = opened()
    next(b for b in page.button if b.label == label).click().run()
    assert not page.exception
    assert "case" in page.query_params


def test_the_nearest_form_that_runs_is_taken():
    page = opened(gallery="qlinearmatmul-per-row-refused")
    button = next(b for b in page.button if b.label.startswith("Take the nearest form"))
    button.click().run()
    assert not page.exception
    assert "is right" in html(page).split("</section>")[0]


def test_settings_reach_the_engine_and_the_command():
    page = opened()
    page.checkbox(key="quantprecision").check().run()
    assert not page.exception
    assert any("--entry session.x64quantprecision=1" in code.value for code in page.code)
    assert query(page, "session.x64quantprecision") == "1"


def test_an_upload_is_opened_and_a_wrong_one_is_one_line():
    page = opened()
    upload = page.get("file_uploader")[0]
    text = case_to_json(gallery_case("quantizelinear-half-even"))
    upload.set_value([("mine.json", text.encode(), "application/json")])
    page.run()
    assert not page.exception
    assert "rounds ties to even" in html(page)
    document = json.loads(text) | {"qlab_case": 99}
    page.get("file_uploader")[0].set_value(
        [("new.json", json.dumps(document).encode(), "application/json")]
    )
    page.run()
    assert "new.json: qlab_case: version 99 is not known" in page.error[0].value
    assert "rounds ties to even" in html(page)


def test_a_large_tensor_is_opened_as_a_table():
    page = opened()
    case = build("QLinearAdd")
    big = case.inputs["A"].repeat(64)
    for name in ("A", "B"):
        case = case.with_tensor(name, big)
    state(page).take(case)
    state(page).opened = "A"
    page.run()
    assert not page.exception
    table = page.data_editor[0].value
    assert table.shape == (16, 17)
    assert table.iloc[0, 1] == str(big[0])
    page.run()
    assert not page.exception
    page.session_state["table-A"] = {
        "edited_rows": {0: {"3": "999"}},
        "added_rows": [],
        "deleted_rows": [],
    }
    page.run()
    assert not page.exception


def test_a_crash_of_the_engine_is_a_verdict_and_not_the_end_of_the_page(monkeypatch):
    def crash(*_args: object, **_named: object) -> Answer:
        return Answer("1.32.0", RunStatus.CRASHED, "ended by signal 11")

    page = opened()
    monkeypatch.setattr(Worker, "ask", crash)
    state(page).edit(with_text(state(page).address.case, "A", 0, "-77"))
    page.run()
    assert not page.exception
    assert "crashed" in html(page)
    assert any(b.label == "Run again" for b in page.button)
    monkeypatch.undo()
    next(b for b in page.button if b.label == "Run again").click().run()
    assert not page.exception
    assert "crashed" not in html(page).split("</section>")[0]


def test_the_gallery_lists_every_case_with_what_differs():
    page = opened()
    page.switch_page("pages/gallery.py").run()
    assert not page.exception
    assert len(page.get("page_link")) == 2 * len(gallery_names())  # to Explore and to Versions
    shown = html(page)
    assert "exact arithmetic has −87" in shown
    assert "refuses this" in shown


def test_coming_back_from_the_gallery_keeps_the_case():
    case = with_text(gallery_case("qlinearadd-off-by-one"), "A", 0, "-9")
    page = opened(case=pack(case))
    page.switch_page("pages/gallery.py").run()
    page.query_params.clear()
    page.switch_page("pages/explore.py").run()
    assert not page.exception
    assert state(page).address.case.inputs["A"].reshape(-1)[0] == -9
    assert query(page, "case") == pack(case)


def test_every_file_is_shown_once_its_script_has_run():
    page = opened()
    case, settings = state(page).address.case, state(page).address.settings
    key = key_of(case, settings)
    report = report_of(key, case, settings)
    report = dataclasses.replace(report, elsewhere=elsewhere(case))
    made, _ = export_of(export_key(key, report), report).result(90)
    assert made.verification is not None
    assert made.verification.ok
    state(page).changed -= 10
    page.run()
    for shown, words in [
        ("Script", "import onnxruntime as ort"),
        ("Regression test", "def test_"),
        ("C", "void qlab_qlinearadd(const int8_t *A"),
        ("Report", "### Describe the issue"),
        ("Case JSON", "qlab_case"),
        ("ONNX", "test_data_set_0/"),
    ]:
        page.get_by_key("file").set_value(shown).run()
        assert not page.exception
        assert words in html(page)
    assert "✓ Script ran 3 of 3 times" in html(page)


def test_two_sessions_do_not_share_a_case():
    first, second = opened(), opened()
    state(first).edit(with_text(state(first).address.case, "A", 0, "-9"))
    assert second.run().session_state["explored"].address.case is gallery_case(
        "qlinearadd-off-by-one"
    )
