"""A real browser and a real server for the tests of this folder."""

import os

import pytest

from qlab.benchmarks.browser import (
    ARGUMENTS,
    HOW,
    browser_path,
    free_port,
    idle,
    start_server,
    stop,
)


@pytest.fixture
def server(tmp_path):
    """Address of a fresh server without other releases: what a first visitor gets is tested too."""
    port = free_port()
    process = start_server(port, tmp_path)
    yield f"http://127.0.0.1:{port}"
    stop(process)


@pytest.fixture(scope="session")
def address():
    """Address of a server that all tests share."""
    port = free_port()
    process = start_server(port)
    yield f"http://127.0.0.1:{port}"
    stop(process)


@pytest.fixture(scope="session")
def browser():
    """Chromium, or a skip that says how to get it; a failure where QLAB_REQUIRE_BROWSER=1."""
    path = browser_path()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        (pytest.fail if os.environ.get("QLAB_REQUIRE_BROWSER") == "1" else pytest.skip)(HOW)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser):
    """Open an address in a new context, as another person's browser would."""
    contexts = []

    def opened(url: str, *, width: int = 1280, scheme: str = "light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.goto(url)
        idle(page)
        return page

    yield opened
    for context in contexts:
        context.close()
