"""The benchmark of the page runs; what it measures is not asserted."""

from qlab.bench import run_bench


def test_the_page_is_measured(browser):
    assert browser.is_connected()
    lines = run_bench(["page"], quick=True).lines["page"]
    assert [line.note for line in lines if line.value is None] == []
    assert any(line.what.startswith("an edit of qlinearadd-off-by-one") for line in lines)
    assert any(line.what == "memory of each further session" for line in lines)
