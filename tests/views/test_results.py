"""Results as data and HTML: outputs, trace, taps, number line, verdict. What others wrote is escaped."""

import dataclasses

import numpy as np
import pytest

from qlab.gallery import gallery_case
from qlab.session import run
from qlab.views.address import Pick
from qlab.views.graph_diagram import graph_html
from qlab.views.number_line import axes, number_line, points
from qlab.views.outputs import default_pick, sources, table_data
from qlab.views.palette import ROLES, SCHEMES, STATES, SURFACES
from qlab.views.taps import summary, taps_html
from qlab.views.trace_table import merge_names, trace_html, trace_rows
from qlab.views.tracing import chosen, nodes_of, operand_names, taps_of
from qlab.views.verdict import title


@pytest.fixture(scope="module")
def off_by_one():
    return run(gallery_case("qlinearadd-off-by-one"))


@pytest.fixture(scope="module")
def saturating():
    return run(gallery_case("matmulinteger-u8s8-saturates"))


def test_exact_comes_first_and_differing_codes_are_marked(off_by_one):
    data = table_data(off_by_one, "C", (0, 0, 0, 0), "exact")
    assert data["mode"] == "table"
    assert data["sources"][0]["name"] == "exact"
    float32 = next(s for s in data["sources"] if s["name"] == "float32")
    assert (float32["values"], float32["words"], float32["differences"]) == (["−88"], ["−1"], [-1])
    assert float32["summary"] == "≠ 1 of 1, up to 1 step"
    assert data["sources"][0]["differences"] is None


def test_where_all_agree_here_another_cpu_is_looked_at_first(saturating):
    assert any(s.name == "ort_cpu (avx2)" for s in sources(saturating))
    pick, missing = chosen(saturating, None)
    assert not missing
    assert default_pick(saturating)[:2] == (pick.output, pick.index)
    (node,) = nodes_of(saturating, pick)
    taps = taps_of(node)
    assert taps is not None
    assert operand_names(node) == ("A", "B")
    if any(run.cpu == "avx2" for run in saturating.scheme_runs):
        assert (taps.lost != 0).any()
        assert "saturates and loses" in summary(taps)
        assert "≠ saturated, lost" in taps_html(taps)


def test_an_element_that_is_not_there_is_said(off_by_one):
    pick, missing = chosen(off_by_one, Pick("C", (9, 0, 0, 0)))
    assert pick.index == (0, 0, 0, 0)
    assert "no element" in missing
    assert chosen(off_by_one, Pick("C", (0, 0, 0, 0), "no such source"))[0].source == ""


def test_the_first_differing_step_is_marked_in_words(off_by_one):
    pick, _ = chosen(off_by_one, None)
    (node,) = nodes_of(off_by_one, pick)
    rows = trace_rows(node.runs, node.tensor, node.index, "sum")
    assert [row.name for row in rows if row.parts] == ["sum"]
    html = trace_html(node.runs, rows)
    assert "▶ part here" in html
    assert "−87.49999529…" in html
    assert "<math" in html
    assert html.count('class="parts"') == 1


def test_names_of_steps_are_merged_in_every_scheme_s_order():
    assert merge_names([["a", "b", "d"], ["a", "c", "d"]]) == ("a", "b", "c", "d")
    assert merge_names([["sum"], ["part", "sum"]]) == ("part", "sum")


def test_the_number_line_zooms_in_where_values_lie_at_a_tie(off_by_one):
    pick, _ = chosen(off_by_one, None)
    (node,) = nodes_of(off_by_one, pick)
    shown = points(node.runs, node.tensor, node.index)
    assert len(axes(shown)) == 2
    html = number_line(shown)
    assert "−87.5 tie" in html
    assert "→ −88" in html
    assert number_line(()) == ""


def test_a_rewritten_node_is_marked():
    report = run(gallery_case("qdq-gemm-bias-scale"))
    ran = next(r.graph for r in report.ort_runs if r.config.level == "ORT_ENABLE_ALL")
    assert ran is not None
    html = graph_html(ran, report.case.inputs, report.case.graph)
    assert "QGemm" in html
    assert "+ rewritten" in html


def test_words_of_others_are_escaped(off_by_one):
    case = dataclasses.replace(off_by_one.case, title="<script>x</script>", source="<b>#1</b>")
    html = title(dataclasses.replace(off_by_one, case=case))
    assert "<script>" not in html
    assert "<b>" not in html


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_of_a_word_can_be_read_on_its_page(theme):
    page = _luminance(getattr(SURFACES["page"], theme))
    for group in (ROLES, SCHEMES, STATES):
        for name, mark in group.items():
            other = _luminance(getattr(mark, theme))
            high, low = max(page, other), min(page, other)
            assert (high + 0.05) / (low + 0.05) >= 4.5, name
            assert mark.sign, name
