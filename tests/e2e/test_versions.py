"""The page Versions in a real browser: filled, searched, a cell chosen, a worker killed."""

import os

import pytest

from qlab.runtimes import store
from qlab.runtimes.installer import InstallError


@pytest.fixture
def two_releases():
    """The releases between which the gallery's Conv changed."""
    try:
        for version in ("1.26.0", "1.27.0"):
            store.add(version)
    except InstallError as error:
        if os.environ.get("QLAB_REQUIRE_NETWORK") == "1":
            raise
        pytest.skip(f"no other release can be installed here: {error}")


def test_a_matrix_is_filled_searched_and_a_cell_chosen(open_page, address, two_releases):
    page = open_page(f"{address}/versions?gallery=qdq-conv-bias-scale")
    page.locator('td[data-at="1.27.0 3"]').wait_for()
    page.get_by_label("Install what is missing").uncheck(force=True)
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".q-headline", has_text="last bad 1.26.0").wait_for()
    assert "first good 1.27.0 (equal)" in page.locator(".q-headline").inner_text()
    assert page.get_by_text("QDQSelectorActionTransformer switched off").first.is_visible()
    cell = page.locator('td[data-at="1.26.0 3"]')
    assert cell.get_attribute("aria-label").startswith("1.26.0 ORT_ENABLE_ALL: 12 of 12")
    cell.click()
    page.get_by_text("y = 0, 0, 0.05").first.wait_for()
    page.get_by_role("link", name="Explore").click()
    page.wait_for_function("!location.pathname.includes('versions')")
    page.locator("h1", has_text="A QDQ Conv").wait_for()


def test_at_480_pixels_only_the_table_scrolls_sideways(open_page, address):
    page = open_page(f"{address}/versions", width=480)
    page.locator(".q-headline").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 480
