"""Every case that `build` makes is a case that the engines run, but for the one pair of types they refuse."""

import itertools

import pytest

from qlab.builder import build, buildable
from qlab.engines.ort import run_ort
from qlab.engines.results import RunStatus
from qlab.errors import CaseError
from qlab.rules import find_broken_rules
from qlab.schemes import schemes
from qlab.trace import trace

ALL = [
    (b.op_type, form, dtype, weight)
    for b in buildable()
    for form, dtype, weight in itertools.product(b.forms, b.dtypes, b.weight_dtypes or ("int8",))
]


@pytest.mark.parametrize(("op_type", "form", "dtype", "weight"), ALL)
def test_it_runs_or_a_rule_says_why_not(op_type, form, dtype, weight):
    case = build(op_type, form=form, dtype=dtype, weight_dtype=weight)
    result = run_ort(case)
    broken = find_broken_rules(case)
    assert (result.status is RunStatus.OK) == (not broken), (result.message, broken)
    outputs = trace(case.graph, case.inputs, schemes()["exact"]).outputs
    assert set(outputs) == set(case.graph.outputs)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("Conv",), "cannot build 'Conv'; it can be ConvInteger, "),
        (("QLinearAdd", {"form": "qdq"}), "QLinearAdd has no form 'qdq'; it can be QOperator, QDQ"),
        (
            ("QLinearAdd", {"dtype": "int4"}),
            "QLinearAdd has no dtype 'int4'; it can be uint8, int8",
        ),
        (("QGemm", {"weight_dtype": "int4"}), "QGemm has no weight_dtype 'int4'; it can be"),
        (
            ("QuantizeLinear", {"form": "QDQ"}),
            "QuantizeLinear has no form 'QDQ'; it can be QOperator",
        ),
    ],
)
def test_what_there_is_not(arguments, line):
    name, *options = arguments
    with pytest.raises(CaseError, match=line):
        build(name, **(options[0] if options else {}))
