"""The page in a real browser: its start, an edit, the memory of a session, twenty sessions at once."""

import statistics
import time
from typing import Any

from qlab.benchmarks import Benchmark, Line, Timing, line_of
from qlab.benchmarks.browser import (
    ARGUMENTS,
    HOW,
    browser_path,
    free_port,
    idle,
    memory,
    start_server,
    stop,
)
from qlab.gallery import gallery_names

EDITED = ("qlinearadd-off-by-one", "qlinearsoftmax-int8-wraps", "qdq-conv-int8-rewritten")
EDIT_LIMIT = 200.0  # milliseconds
SESSIONS = 20
# From the key to the moment at which the script has run to its end and the browser has drawn: a frame later.
WATCH = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  window.took = null;
  document.addEventListener('keydown', () => { window.began = performance.now(); window.took = null; }, true);
  new MutationObserver(() => {
    if (app.getAttribute('data-test-script-state') === 'notRunning' && window.took === null)
      requestAnimationFrame(() => { window.took = performance.now() - window.began; });
  }).observe(app, { attributes: true, attributeFilter: ['data-test-script-state'] });
}"""


def _run(quick: bool) -> list[Line]:
    path = browser_path()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        return [Line("the page in a browser", None, "ms", note=HOW)]
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    began = time.perf_counter()
    server = start_server(port)
    started = time.perf_counter() - began
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
            lines = [Timing((started,)).line("the server starts, until it answers")]
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            lines.append(
                Timing((_opened(page, address),)).line(
                    "the first page of a server, until its verdict"
                )
            )
            again = [_opened(page, address) for _ in range(2 if quick else 5)]
            lines.append(Timing(tuple(again)).line("the page again, until its verdict"))
            lines += _edits(page, address, 3 if quick else 15)
            page.close()
            lines += _sessions(browser, address, server.pid, 3 if quick else SESSIONS)
            browser.close()
    finally:
        stop(server)
    return lines


def _opened(page: Any, address: str) -> float:
    began = time.perf_counter()
    page.goto(address)
    page.locator(".q-headline").wait_for()
    return time.perf_counter() - began


def _edits(page: Any, address: str, edits: int) -> list[Line]:
    """A code or a float moved to its neighbour by an arrow key: every edit is a new case, none comes from a cache."""
    lines = []
    for name in (n for n in gallery_names() if n in EDITED):
        page.goto(f"{address}/?gallery={name}")
        page.locator(".q-headline").wait_for()
        idle(page)
        # The reproducer is run first, so that it does not compete with the edits.
        ready = page.get_by_text("Script ran").or_(page.get_by_text("No reproducer")).first
        ready.wait_for(timeout=90_000)
        page.evaluate(WATCH)
        field = page.locator(".fields input").first
        text = field.input_value()
        key = "ArrowDown" if text.lstrip("-").isdigit() and int(text) > 0 else "ArrowUp"
        took = []
        for _ in range(edits + 1):
            field.press(key)
            page.wait_for_function("window.took !== null")
            took.append(float(page.evaluate("window.took")))
            page.wait_for_timeout(150)
        median = statistics.median(took[1:])
        goal, met = f"at most {EDIT_LIMIT:g} ms", median <= EDIT_LIMIT
        lines.append(
            line_of(f"an edit of {name}, until all is drawn", took[1:], "ms", goal=goal, met=met)
        )
    return lines


def _sessions(browser: Any, address: str, server: int, count: int) -> list[Line]:
    """Further sessions, all opened at once, each with another case where there are as many."""
    names = gallery_names()
    before = memory(server)
    pages = [browser.new_context().new_page() for _ in range(count)]
    began = time.perf_counter()
    for number, page in enumerate(pages):
        page.goto(f"{address}/?gallery={names[number % len(names)]}", wait_until="commit")
    for page in pages:
        page.locator(".q-headline").wait_for(timeout=120_000)
    seconds = time.perf_counter() - began
    for page in pages:
        idle(page)
    after = memory(server)
    lines = [Timing((seconds,)).line(f"{count} sessions opened at once, until the last verdict")]
    if before is not None and after is not None:
        lines.append(Line("memory of the server and its workers, one session", before, "MB"))
        note = f"{after:.0f} MB with {count} more"
        lines.append(
            Line("memory of each further session", (after - before) / count, "MB", note=note)
        )
    for page in pages:
        page.context.close()
    return lines


BENCHMARK = Benchmark("page", "the page in a browser", _run)
