"""Formulas as MathML."""

import re
from xml.etree import ElementTree

import pytest

from qlab.gallery import gallery_case, gallery_names
from qlab.schemes import schemes
from qlab.trace import trace
from qlab.views.mathml import mathml


def words(formula: str) -> str:
    return "".join(ElementTree.fromstring(mathml(formula)).itertext())


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("f32(A_scale / C_scale)", "f32(Ascale/Cscale)"),
        ("(A - A_zero_point) · A_scale", "(A−Azero point)·Ascale"),
        ("fma(A, rA, part)", "fma(A,rA,part)"),
        ("round half to even", "round half to even"),
        ("accumulator / 2^shift + y", "accumulator2shift+y"),
        ("-a · (b + c)", "−a·(b+c)"),
    ],
)
def test_a_formula_keeps_its_words_and_order(formula, shown):
    assert words(formula) == shown


def test_a_quotient_is_a_fraction_without_needless_parentheses():
    made = mathml("(A_real + B_real) / C_scale")
    assert "<mfrac>" in made
    assert "(" not in made
    assert words("(a + b) · c / d").startswith("(a+b)·c")
    assert words("(a + b)") == "(a+b)"


def test_names_have_the_colour_of_what_they_are():
    assert 'class="c-scale"' in mathml("A_scale")
    assert 'class="c-zero_point"' in mathml("A_zero_point")


def test_what_is_no_formula_is_escaped_text():
    assert words("x <b>bold</b> & $1$") == "x <b>bold</b> & $1$"
    assert "<b>" not in mathml("<b>x</b>")


def test_every_formula_of_the_gallery_is_well_formed():
    seen = set()
    for name in gallery_names():
        case = gallery_case(name)
        for scheme in schemes().values():
            try:
                nodes = trace(case.graph, case.inputs, scheme).nodes
            except ValueError:
                continue
            seen |= {step.formula for node in nodes for step in node.steps}
    assert len(seen) > 30
    for formula in seen:
        assert re.sub(r"[^A-Za-z0-9]", "", words(formula)) == re.sub(r"[^A-Za-z0-9]", "", formula)
