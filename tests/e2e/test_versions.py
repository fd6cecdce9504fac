"""The page Versions in a real browser: filled, searched, a cell chosen, a worker killed."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from qlab.case import Case
from qlab.formats.share_link import pack
from qlab.graph import Graph, Node
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
    page.get_by_text("QDQSelectorActionTransformer switched off").first.wait_for()
    cell = page.locator('td[data-at="1.26.0 3"]')
    assert cell.get_attribute("aria-label").startswith("1.26.0 ORT_ENABLE_ALL: 12 of 12")
    cell.click()
    page.get_by_text("y = 0, 0, 0.05").first.wait_for()
    page.get_by_role("button", name="Trace and reproduce it in Explore").click()
    page.wait_for_function("location.search.includes('release=1.26.0')")
    page.locator("h1", has_text="A QDQ Conv").wait_for()
    page.locator(".q-headline", has_text="0 from ONNX Runtime 1.26.0").wait_for()
    ran = page.get_by_text("ran 3 of 3 times on onnxruntime 1.26.0, difference reproduced").first
    ran.wait_for(timeout=90_000)
    command = page.locator("pre.q-code", has_text="--with onnxruntime==1.26.0").first
    assert command.inner_text().startswith("uv run ")
    page.get_by_role("radio", name="Report", exact=True).click()
    page.get_by_text("mended in 1.27.0: last bad 1.26.0").first.wait_for()


def test_recorded_runs_are_marked_and_can_be_chosen(open_page, address):
    page = open_page(f"{address}/versions?gallery=qlinearadd-off-by-one")
    page.get_by_role("heading", name="Recorded earlier not run now").wait_for()
    cell = page.locator('td[aria-label="1.15.0 – 1.32.0 arm64: every level: equal"]')
    cell.click()
    page.get_by_text("ARM64 max, emulated by qemu; not run now").first.wait_for()
    page.get_by_text("C = −87", exact=True).first.wait_for()


def slow_case() -> Case:
    """Seconds a run: a product of 4,500 × 4,500, from one number."""
    nodes = (
        Node("Expand", ("x", "shape"), ("large",)),
        Node("MatMul", ("large", "large"), ("square",)),
        Node("ReduceMax", ("square",), ("y",), attributes={"keepdims": 0}),
    )
    shape = {"shape": np.array([4500, 4500], np.int64)}
    return Case(Graph(nodes, shape, ("x",), ("y",), {"": 13}), {"x": np.array(1, np.float32)})


def busy_worker(address: str) -> int:
    """The worker process of a server that computes now: the one with the most processor time."""
    port = address.rpartition(":")[2]
    processes = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_text().split("\0")
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        processes[int(path.name)] = (command, int(fields[1]), int(fields[11]))
    (server,) = (pid for pid, (command, *_) in processes.items() if port in command)
    workers = {
        pid: time
        for pid, (command, parent, time) in processes.items()
        if parent == server and any(word.endswith("worker.py") for word in command)
    }
    return max(workers, key=workers.__getitem__)


def test_a_worker_killed_in_the_middle_costs_one_cell(open_page, server):
    page = open_page(f"{server}/versions?case={pack(slow_case())}")
    page.get_by_role("button", name="Stop").wait_for()
    os.kill(busy_worker(server), signal.SIGKILL)
    cells = page.locator("td[data-at]")
    page.get_by_role("button", name="Stop").wait_for(state="detached", timeout=120_000)
    words = [cell.inner_text() for cell in cells.all()]
    assert len(words) >= 4
    assert sum("crashed" in w for w in words) == 1
    assert sum("ran" in w for w in words) == len(words) - 1


def test_a_matrix_can_be_stopped(open_page, server):
    page = open_page(f"{server}/versions?case={pack(slow_case())}")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop").wait_for(state="detached", timeout=60_000)
    assert page.locator("td.waiting").count() >= 1
    page.get_by_text("Choose a cell").wait_for()


def test_at_480_pixels_only_the_table_scrolls_sideways(open_page, address):
    page = open_page(f"{address}/versions", width=480)
    page.locator(".q-headline").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 480
