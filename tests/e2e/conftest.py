"""A real browser and a real server for the tests of this folder."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOW = (
    "no browser found: on Debian and Ubuntu `sudo apt-get install chromium`, elsewhere put chromium or google-chrome "
    "into PATH, or name it in QLAB_CHROMIUM; and python -m pip install -r requirements-dev.txt for playwright"
)


def browser_path() -> str | None:
    """The browser named in QLAB_CHROMIUM, or the first one in PATH."""
    found = (shutil.which(name) for name in (os.environ.get("QLAB_CHROMIUM", ""), *NAMES) if name)
    return next((path for path in found if path), None)


def start_server(port: int, cache: Path | None = None) -> "subprocess.Popen[bytes]":
    """The page on a port of its own, once it answers. ``cache``: where it finds other releases."""
    arguments = ["-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | ({"QLAB_CACHE": str(cache)} if cache else {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as r:
                if r.read() == b"ok":
                    return process
        except OSError:
            time.sleep(0.2)
    process.kill()
    raise RuntimeError("the server did not answer within 60 seconds")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a server."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


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


def idle(page) -> None:
    """Wait until the script has run to its end."""
    page.wait_for_selector(
        '[data-testid="stApp"][data-test-script-state="notRunning"]', state="attached"
    )
