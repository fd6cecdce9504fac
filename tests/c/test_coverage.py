"""Every operator that qlab knows is written in C, for every scheme of a run; what is refused is listed here."""

import pytest

from qlab.builder import build, buildable
from qlab.c import written
from qlab.c.operators import OPERATORS
from qlab.ops import operators
from qlab.schemes import DEFAULT, scheme
from tests.c.compiled import needs_compiler

REFUSED = {
    ("DynamicQuantizeMatMul", "QOperator", "exact"): "its scale is a rational number that the node computes",
    ("QLinearSoftmax", "QDQ", "exact"): "Softmax of rational numbers is not written in C",
}  # fmt: skip
FORMS = [(b, form) for b in buildable() for form in b.forms]


def test_every_operator_is_written():
    assert set(operators()) - set(OPERATORS) == set()


@needs_compiler
@pytest.mark.parametrize("name", DEFAULT)
@pytest.mark.parametrize(("built", "form"), FORMS, ids=[f"{b.op_type} {f}" for b, f in FORMS])
def test_every_example_is_written(built, form, name):
    case = build(built.op_type, form=form, dtype=built.dtypes[-1])
    made = written(case, scheme(name))
    words = REFUSED.get((built.op_type, form, name))
    if words is None:
        assert made.sentence.startswith("compiled and run: 0 of "), made.sentence
    else:
        assert words in made.why_not
