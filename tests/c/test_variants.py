"""The specification's variants as C: five roundings, the zero point added before or after, over all pairs of codes."""

import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.builder import build
from qlab.c import c_source
from qlab.schemes import variants
from tests.c.compiled import needs_compiler, none_differs, over_all_codes

pytestmark = needs_compiler
VARIANTS = {
    label: scheme
    for label, scheme in variants().items()
    if scheme.name in ("exact", "float32", "float64")
}


def test_five_roundings_and_three_places_in_three_number_systems_and_the_reciprocal_in_float32():
    assert len(VARIANTS) == 5 * 3 * 4


@pytest.mark.parametrize("number, label", list(enumerate(VARIANTS)))
def test_all_pairs(number, label):
    """Each with one operator and type: all with all would take minutes."""
    operator = ("QLinearAdd", "QLinearMul")[number % 2]
    case = over_all_codes(build(operator, dtype=("int8", "uint8")[number % 4 == 3]))
    assert none_differs(case, VARIANTS[label]) >= 65_536


BATTERIES = ("QuantizeLinear int8", "QLinearMatMul uint8 × int8", "QLinearConv uint8 × int8")


@pytest.mark.parametrize("number, label", list(enumerate(VARIANTS)))
def test_battery(number, label):
    """Directed ties and saturation first."""
    battery = batteries()[BATTERIES[(number + number // 3) % 3]]
    for case in itertools.islice(battery.cases(0), number % 5, None, 50):
        if VARIANTS[label].name == "exact" and not _finite(case):
            continue
        none_differs(case, VARIANTS[label])


@pytest.mark.parametrize(
    "label", [label for label in VARIANTS if VARIANTS[label].name != "exact"][::3]
)
def test_dynamic_quantization(label):
    for case in itertools.islice(batteries()["DynamicQuantizeLinear uint8"].cases(0), 3):
        none_differs(case, VARIANTS[label])


def test_the_first_comment_says_which():
    source = c_source(build("QLinearAdd"), VARIANTS["float32 (half up, zero point after rounding)"])
    assert "as float32 (half up, zero point after rounding) computes it" in source


def _finite(case):
    return all(np.isfinite(v).all() for v in case.graph.constants.values())
