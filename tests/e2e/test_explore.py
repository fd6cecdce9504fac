"""The page in a real browser, as a person uses it."""

import io
import subprocess
import sys
import zipfile
from urllib.parse import parse_qs, urlsplit

import pytest

DEFAULT_TITLE = "QLinearAdd gives −88 where real arithmetic gives −87"


def headline(page) -> str:
    return page.locator(".q-headline").inner_text()


def wait_for_headline(page, words: str) -> None:
    page.locator(".q-headline", has_text=words).wait_for()


def enter(page, label: str, text: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Enter")


def expect_value(page, label: str, value: str) -> None:
    """Wait until a field shows a value."""
    from playwright.sync_api import expect

    expect(page.get_by_label(label, exact=True)).to_have_value(value, timeout=10_000)


def test_the_first_page_shows_a_case_with_its_verdict_numbers_and_trace(open_page, address):
    page = open_page(address)
    assert page.locator("h1").inner_text() == DEFAULT_TITLE
    assert "exact arithmetic has −87" in headline(page)
    page.locator("tr.parts").first.wait_for()
    assert page.locator("tr.parts th").inner_text().split()[1] == "sum"
    assert page.locator("td.differs").count() >= 2
    page.get_by_text("python -m qlab run qlinearadd-off-by-one").wait_for()


def test_an_edit_shows_its_result_and_a_link_opens_it_elsewhere(open_page, address):
    page = open_page(address)
    enter(page, "A[0,0,0,0] int8", "-9")
    wait_for_headline(page, "is right")
    expect_value(page, "A[0,0,0,0] int8", "-9")
    page.wait_for_function("location.search.includes('case=')")
    other = open_page(page.evaluate("location.href"))
    expect_value(other, "A[0,0,0,0] int8", "-9")
    assert headline(other) == headline(page)


def test_an_impossible_value_is_said_beside_the_field_and_changes_nothing(open_page, address):
    page = open_page(address)
    before = headline(page)
    enter(page, "A[0,0,0,0] int8", "500")
    page.get_by_text("A[0,0,0,0]: 500 is outside int8: −128 to 127").wait_for()
    field = page.get_by_label("A[0,0,0,0] int8", exact=True)
    assert field.input_value() == "500"
    assert field.get_attribute("aria-invalid") == "true"
    assert headline(page) == before
    assert "case=" not in page.url
    enter(page, "A_scale float32", "0x3c033f28")
    expect_value(page, "A_scale float32", "0.008010663")


def test_steppers_move_a_scale_by_one_unit_in_the_last_place_and_back_undoes(open_page, address):
    page = open_page(address)
    page.get_by_role("button", name="C_scale: next float32").click()
    page.wait_for_function("location.search.includes('case=')")
    expect_value(page, "C_scale float32", "0.006873491")
    page.go_back()
    page.wait_for_function("!location.search.includes('case=')")
    expect_value(page, "C_scale float32", "0.0068734908")


def test_a_cell_is_chosen_by_click_and_by_keys_and_stands_in_the_link(open_page, address):
    page = open_page(f"{address}/?gallery=matmulinteger-u8s8-saturates")
    page.locator("td[data-position='0']").first.click()
    page.get_by_text("Trace of Y[0,0]").wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_text("Trace of Y[1,1]").wait_for()
    assert parse_qs(urlsplit(page.url).query)["element"] == ["Y:1,1"]
    other = open_page(page.evaluate("location.href"))
    other.get_by_text("Trace of Y[1,1]").wait_for()
    other.get_by_label("Element to trace").fill("2,2")
    other.get_by_label("Element to trace").press("Enter")
    other.get_by_text("Trace of Y[2,2]").wait_for()
    other.get_by_label("Element to trace").fill("7,2")
    other.get_by_label("Element to trace").press("Enter")
    other.get_by_text("7 is outside axis 0").wait_for()


def test_the_script_is_run_before_it_is_offered_and_runs_elsewhere(open_page, address, tmp_path):
    page = open_page(address)
    page.get_by_text("ran 3 of 3 times, difference reproduced").first.wait_for(timeout=90_000)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download reproducer").click()
    with zipfile.ZipFile(io.BytesIO(waiting.value.path().read_bytes())) as archive:
        script = archive.read("reproduce.py")
        assert {"report.md", "case.json", "model.onnx"} <= set(archive.namelist())
    path = tmp_path / "reproduce.py"
    path.write_bytes(script)
    ran = subprocess.run(
        [sys.executable, "-I", path.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    "query",
    [
        "case=1.5c2ed97e.eNp1kE1vwjAMhv",
        "case=nonsense",
        "case=9.5c2ed97e.eNp1kE1vwjAMhv",
        "gallery=no-such-case",
        "case=-",
    ],
)
def test_a_damaged_link_says_so_and_that_this_is_another_case(open_page, address, query):
    page = open_page(f"{address}/?{query}")
    page.get_by_text("The link could not be opened").wait_for()
    page.get_by_text("case that was linked").wait_for()
    assert page.locator("h1").inner_text() == DEFAULT_TITLE


@pytest.mark.parametrize("query", ["levels=ORT_EVERYTHING", "element=..", "release=1.26"])
def test_a_damaged_setting_says_so_and_keeps_the_case(open_page, address, query):
    page = open_page(f"{address}/?gallery=quantizelinear-half-even&{query}")
    page.get_by_text("The link could not be read whole").wait_for()
    assert page.locator("h1").inner_text() != DEFAULT_TITLE


def test_the_gallery_opens_a_case_and_explore_keeps_its_own(open_page, address):
    page = open_page(address)
    enter(page, "A[0,0,0,0] int8", "-9")
    wait_for_headline(page, "is right")
    page.get_by_test_id("stSidebarNavLink").get_by_text("Gallery").click()
    page.get_by_text("QGemm of three elements is wrong for some weights").wait_for()
    page.get_by_test_id("stSidebarNavLink").get_by_text("Explore").click()
    expect_value(page, "A[0,0,0,0] int8", "-9")
    page.wait_for_function("location.search.includes('case=')")
    page.get_by_test_id("stSidebarNavLink").get_by_text("Gallery").click()
    page.get_by_role("link", name="QGemm of three elements is wrong for some weights").click()
    page.locator("h1", has_text="QGemm of three").wait_for()
    assert "gallery=qgemm-u8s8-saturates" in page.url


def test_a_deep_link_on_a_fresh_server_has_the_navigation(open_page, server):
    page = open_page(f"{server}/gallery")
    page.locator("h1", has_text="Gallery").wait_for()
    assert page.get_by_test_id("stSidebarNavLink").all_inner_texts() == [
        "Explore",
        "Versions",
        "Identify",
        "Gallery",
    ]


def test_nothing_is_asked_of_other_servers_and_nothing_fails(browser, address):
    context = browser.new_context()
    page = context.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.goto(address)
    page.locator(".q-headline").wait_for()
    page.wait_for_timeout(1500)
    context.close()
    assert not errors
    assert not [u for u in asked if not u.startswith((address, "data:", "blob:"))]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?gallery=qdq-conv-bias-scale",
        "/?gallery=qlinearmatmul-per-row-refused",
        "/gallery",
        "/versions",
    ],
)
def test_no_serious_violation_of_accessibility(open_page, address, path, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(f"{address}{path}", scheme=scheme)
    page.locator("h1").wait_for()
    page.wait_for_timeout(2500)
    found = [
        (v["id"], [n["html"][:200] for n in v["nodes"]][:3])
        for v in Axe().run(page).response["violations"]
        if v["impact"] in ("serious", "critical")
    ]
    assert not found


@pytest.mark.parametrize("path", ["/", "/?gallery=qdq-conv-bias-scale", "/gallery"])
def test_at_480_pixels_the_page_does_not_scroll_sideways(open_page, address, path):
    page = open_page(f"{address}{path}", width=480)
    page.locator("h1").wait_for()
    page.wait_for_timeout(1500)
    widths = page.evaluate(
        "[...document.querySelectorAll('html, [data-testid=stMain]')].map(e => [e.scrollWidth, e.clientWidth])"
    )
    assert all(scroll <= client for scroll, client in widths)
    if path != "/gallery":
        tops = [
            page.locator(s).first.bounding_box()["y"]
            for s in (".q-verdict", ".st-key-numbers", ".st-key-trace", ".st-key-fields")
        ]
        assert tops == sorted(tops)
