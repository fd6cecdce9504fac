"""How long an edit takes in the browser: from the key to the whole new result, for every case of the gallery.

python tests/e2e/bench_edit.py [CASE …]: prints a table; exit status 1 where a median is above 200 ms. Not a test:
it needs a quiet machine. Every edit is a new case, so nothing comes from the cache.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from conftest import ARGUMENTS, HOW, browser_path, free_port, idle, start_server, stop
from playwright.sync_api import Page, sync_playwright

from qlab.gallery import gallery_names

EDITS = 15
LIMIT = 200  # milliseconds
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


def measure(page: Page, address: str, name: str) -> list[float]:
    """Milliseconds of each edit: a code or a float moved to its neighbour by an arrow key."""
    page.goto(f"{address}/?gallery={name}")
    page.locator(".q-headline").wait_for()
    idle(page)
    # The reproducer is run first, so that it does not compete with the edits.
    page.get_by_text("Script ran").or_(page.get_by_text("No reproducer")).first.wait_for(
        timeout=90_000
    )
    page.evaluate(WATCH)
    field = page.locator(".fields input").first
    text = field.input_value()
    key = "ArrowDown" if text.lstrip("-").isdigit() and int(text) > 0 else "ArrowUp"
    took = []
    for _ in range(EDITS):
        field.press(key)
        page.wait_for_function("window.took !== null")
        took.append(float(page.evaluate("window.took")))
        page.wait_for_timeout(150)
    return took[1:]


def main(names: list[str]) -> int:
    """Measure and print."""
    path = browser_path()
    if path is None:
        print(HOW)
        return 2
    port = free_port()
    server = start_server(port)
    slow = 0
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            print(
                f"{'case':40s} {'median':>8s} {'least':>8s} {'most':>8s}  (ms, {EDITS - 1} edits)"
            )
            medians = []
            for name in names or gallery_names():
                took = measure(page, f"http://127.0.0.1:{port}", name)
                medians.append(statistics.median(took))
                slow += medians[-1] > LIMIT
                print(
                    f"{name:40s} {medians[-1]:8.0f} {min(took):8.0f} {max(took):8.0f}", flush=True
                )
            print(f"{'median of all cases':40s} {statistics.median(medians):8.0f}")
            browser.close()
    finally:
        stop(server)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
