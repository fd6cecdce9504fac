"""Sweeps: every pair, every code; which differ, which are ties; a place as a case."""

from fractions import Fraction

import numpy as np
import pytest

import qlab
from qlab.errors import CaseError
from qlab.probes import all_codes
from qlab.sides import side
from qlab.signature import difference
from qlab.sweep import sweep


@pytest.mark.parametrize("expected", ["exact", "float64"])
@pytest.mark.parametrize("actual", ["ort", "ort_cpu (avx2)"])
def test_the_one_pair_of_65536(expected: str, actual: str):
    found = sweep(qlab.load_case("qlinearadd-off-by-one"), side(expected), side(actual))
    (point,) = found.points()
    assert (found.size, found.comparison.mismatches) == (65_536, 1)
    assert (point.codes, int(point.expected), int(point.actual)) == ((-8, -64), -87, -88)
    assert (point.index, point.difference, point.tie) == ((120, 64), -1, False)
    case = found.at(point.index)
    assert case.title == "QLinearAdd at A = −8, B = −64"
    again = difference(case, side(expected).run(case), side(actual).run(case))
    assert again.mismatches == 1


def test_the_map_has_the_axes_of_the_inputs():
    """Each place of the map is what that pair gives alone, in the schema's order."""
    case = qlab.load_case("qlinearadd-off-by-one")
    found = sweep(case, side("float64"), side("tflite"))
    assert [axis.name for axis in found.axes] == ["A", "B"]
    assert found.axes[0].codes.tolist() == list(range(-128, 128))
    rng = np.random.default_rng(0)
    for index in rng.integers(0, 256, (20, 2)).tolist():
        alone = found.at(tuple(index))
        one = difference(alone, side("float64").run(alone), side("tflite").run(alone))
        assert (
            one.comparisons[0].differences.reshape(-1)[0]
            == found.comparison.differences[tuple(index)]
        )


def test_ties_are_exactly_the_ties():
    """Scales of 1, 1 and 2: every odd sum is one."""
    case = qlab.build("QLinearAdd")
    for name in ("A_scale", "B_scale", "C_scale"):
        case = case.with_tensor(name, np.asarray(2 if name == "C_scale" else 1, np.float32))
    found = sweep(case, side("exact"), side("float64"))
    zero = [int(case.tensor(f"{n}_zero_point")) for n in "AB"]
    a, b = (axis.codes - z for axis, z in zip(found.axes, zero, strict=True))
    np.testing.assert_array_equal(found.ties, (a[:, None] + b[None, :]) % 2 == 1)
    away = sweep(case, side("exact"), side("exact (half away from zero)"))
    assert away.comparison.mismatches > 0
    assert all(point.tie for point in away.points())


def test_one_input_is_a_curve():
    found = sweep(qlab.build("QLinearLeakyRelu"), side("exact"), side("ort_cpu (avx2)"))
    assert (found.noun, found.size, len(found.axes)) == ("codes", 256, 1)
    whole = all_codes(qlab.build("QLinearLeakyRelu"))
    exact = side("exact").run(whole).outputs
    wrong = np.flatnonzero(
        next(iter(exact.values())) != next(iter(side("ort_cpu (avx2)").run(whole).outputs.values()))
    )
    assert [point.index for point in found.points()] == [(int(i),) for i in wrong]


def test_operands_of_one_shape_are_not_broadcast():
    """The kernel's first operand is another where one is broadcast; the map follows the given shapes."""
    case = qlab.build("QLinearAdd")
    assert min(value.size for value in case.inputs.values()) > 1
    found = sweep(case, side("exact"), side("float64"))
    assert {value.shape for value in found.whole.inputs.values()} == {(256, 256)}
    assert {value.shape for value in found.at((3, 200)).inputs.values()} == {(2,)}
    single = sweep(qlab.load_case("qlinearadd-off-by-one"), side("exact"), side("float64"))
    assert [v.shape for v in single.whole.inputs.values()] == [(256, 1), (1, 256)]


def test_reals_are_compared_too():
    found = sweep(qlab.build("DequantizeLinear"), side("float32"), side("ort"))
    assert found.comparison.equal
    assert found.ties is None


def test_a_side_without_a_result_says_why():
    found = sweep(qlab.build("QLinearAdd"), side("exact"), side("gemmlowp"))
    assert found.comparison is None
    assert list(found.points()) == []
    assert found.failure.startswith("gemmlowp has no result: ")


@pytest.mark.parametrize("operator", ["QLinearConv", "QLinearSoftmax", "QuantizeLinear"])
def test_what_cannot_be_swept_is_answered_in_one_line(operator: str):
    with pytest.raises(CaseError, match="operators on single elements"):
        sweep(qlab.build(operator), side("exact"), side("float64"))


def test_a_place_outside_the_map():
    found = sweep(qlab.build("QLinearLeakyRelu"), side("exact"), side("float64"))
    for index in ((256,), (-1,), (0, 0), ()):
        with pytest.raises(CaseError, match="no place of a map"):
            found.at(index)


def test_65536_codes_of_16_bits():
    case = qlab.build("DequantizeLinear", dtype="int16")
    found = sweep(case, side("exact"), side("float64"))
    assert found.size == 65_536
    assert Fraction(int(found.axes[0].codes[0])) == -32_768
