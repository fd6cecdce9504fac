"""Laws of every variant: what each computes in fractions, what it keeps exactly, and how far it may be from exact.

The law of a form is stated in rational numbers on the multiplier that the form uses, so it shares no line of code
with the integers of the scheme.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qlab.builder import build
from qlab.errors import TraceError
from qlab.qtypes import DTYPES
from qlab.schemes import (
    DEFAULT,
    Quantized,
    Target,
    cmsis_nn,
    fbgemm,
    qnnpack,
    schemes,
    tflite,
    variants,
    xnnpack,
)
from qlab.schemes.rounding import ROUNDINGS, round_real
from qlab.trace import trace
from tests.ops.calls import call, f32, tensor
from tests.schemes.recorded import finish

FAMILIES = {label: s for label, s in variants().items() if s.name not in DEFAULT}
REQUANTIZING = FAMILIES
ADDING = {n: s for n, s in FAMILIES.items() if s.name != "gemmlowp"}
MULTIPLYING = {
    n: s
    for n, s in FAMILIES.items()
    if s.name not in ("gemmlowp", "qnnpack") and n not in ("xnnpack (rndna)", "xnnpack (gemmlowp)")
}
# These promise round(-x) = -round(x) for every multiplier: half to even or half away from zero, once.
SYMMETRIC = (
    "fbgemm", "qnnpack (sse2)", "qnnpack (fmagic)", "qnnpack (lrintf)", "qnnpack (precise)",
    "xnnpack (fmagic)", "xnnpack (lrintf)", "xnnpack (rndna)", "tflite (float64)",
)  # fmt: skip
BELOW_ONE = ("gemmlowp", "qnnpack (q31)", "qnnpack (precise)", "xnnpack (rndna)", "xnnpack (gemmlowp)")  # fmt: skip
SUMS = np.concatenate([np.arange(-700, 701), [-40_000, 40_000, -(2**31), 2**31 - 1]]).astype(
    np.int64
)
few = settings(max_examples=12, deadline=None, derandomize=True, database=None)
multipliers = st.floats(2.0**-9, 1 - 2.0**-10, width=32)


def dtype_of(scheme):
    return "uint8" if "uint8" in scheme.dtypes else "int8"


def target(scheme, scale=1.0, zero_point=None):
    low, high = (0, 255) if dtype_of(scheme) == "uint8" else (-128, 127)
    zero_point = (low + high + 1) // 2 if zero_point is None else zero_point
    return Target("y", f32(scale), np.asarray(zero_point, np.int64), dtype_of(scheme), "y")


def middle(scheme):
    return 128 if dtype_of(scheme) == "uint8" else 0


def requantized(label, sums, a_scale, y_scale=1.0):
    """Codes less the zero point, which is in the middle of the range."""
    scheme = FAMILIES[label]
    scales = (("a_scale", f32(a_scale)), ("b_scale", f32(1.0)))
    with np.errstate(all="ignore"):
        codes, _ = finish(scheme.requantize(sums, scales, target(scheme, y_scale)))
    return codes.astype(np.int64) - middle(scheme)


def half_up(value):
    return math.floor(value + Fraction(1, 2))


def half_away(value):
    return half_up(value) if value >= 0 else -half_up(-value)


def law(label, total, multiplier):
    """The form in fractions: roundings in their order, without the clamp."""
    value = total * multiplier
    form = label.partition(" (")[2].rstrip(")")
    significand, exponent = math.frexp(multiplier)
    first = Fraction(total << max(exponent, 0)) * Fraction(significand)
    if label == "gemmlowp" or form in ("double rounding", "double rounding, float32 product", "q31", "gemmlowp"):  # fmt: skip
        return half_away(Fraction(half_up(first), 2 ** max(-exponent, 0)))
    if form.startswith("optimized"):
        return half_up(Fraction(half_up(first), 2 ** max(-exponent, 0)))
    if form in ("rndnu", "single rounding", "single rounding, float32 product"):
        return half_up(value)
    if form in ("rndna", "precise", "float64"):
        return half_away(value)
    return round(Fraction(float(np.float32(np.float32(total) * np.float32(multiplier)))))


@pytest.mark.parametrize("label", REQUANTIZING)
class TestRequantize:
    @few
    @given(multiplier=multipliers)
    def test_is_the_law_of_its_form_in_fractions(self, label, multiplier):
        # A float32 multiplier has 24 bits, so the 31 bits of the fixed point hold it without rounding.
        sums = SUMS[:-2]  # 32 bits are left to the test of saturation
        found = requantized(label, sums, multiplier)
        exactly = Fraction(multiplier)
        expected = [min(max(law(label, int(s), exactly), -128), 127) for s in sums]
        assert found.tolist() == expected

    @few
    @given(power=st.integers(1, 9))
    def test_division_by_a_power_of_two_is_exact_where_there_is_no_remainder(self, label, power):
        codes = np.arange(-128, 128)
        assert requantized(label, codes << power, 2.0**-power).tolist() == codes.tolist()

    @few
    @given(multiplier=multipliers)
    def test_is_monotone_and_zero_stays(self, label, multiplier):
        found = requantized(label, np.sort(SUMS[:-2]), multiplier)
        assert (np.diff(found) >= 0).all()
        assert requantized(label, np.zeros(1, np.int64), multiplier).tolist() == [0]

    def test_saturates_at_both_ends(self, label):
        ends = np.asarray([-(2**31), -(2**20), 2**20, 2**31 - 1])
        if label == "cmsis_nn (single rounding)":
            # It keeps one more bit in an int32 before it rounds: from 2^30 on the result wraps.
            assert requantized(label, ends, 0.7).tolist() == [127, -128, 127, -128]
            ends = np.asarray([-(2**30), -(2**20), 2**20, 2**30])
        assert requantized(label, ends, 0.7).tolist() == [-128, -128, 127, 127]

    @few
    @given(multiplier=multipliers)
    def test_is_at_most_one_step_from_exact(self, label, multiplier):
        # One rounding is off by half a step; a second one, or a multiplier of 24 or 31 bits, by less than another.
        found = requantized(label, SUMS[:-2], multiplier)
        exact = [min(max(round(int(s) * Fraction(multiplier)), -128), 127) for s in SUMS[:-2]]
        assert np.abs(found - exact).max() <= 1

    def test_the_multiplier_one_changes_no_code_or_is_refused(self, label):
        if label in BELOW_ONE:
            with pytest.raises(TraceError, match=r"needs .* multiplier < 1, got 1 \(.+\)"):
                requantized(label, SUMS, 1.0)
        else:
            codes = np.arange(-128, 128)
            assert requantized(label, codes, 1.0).tolist() == codes.tolist()

    @few
    @given(multiplier=multipliers)
    def test_is_symmetric_where_the_form_is(self, label, multiplier):
        if label in SYMMETRIC:
            sums = np.arange(100)
            up = requantized(label, sums, multiplier)
            assert requantized(label, -sums, multiplier).tolist() == (-up).tolist()
        else:
            # A tie of both signs goes the same way: up, in the first rounding at least.
            found = [requantized(label, np.asarray([s]), 0.5)[0] for s in (1, -1)]
            assert found == [1, 0] or label in (*DOUBLES, "gemmlowp")

    def test_a_multiplier_for_each_channel(self, label):
        scheme = FAMILIES[label]
        each = f32([0.25, 0.7, 0.01])
        sums = np.stack([SUMS] * 3, axis=1)
        scales = (("a_scale", f32(1.0)), ("b_scale", each))
        codes, _ = finish(scheme.requantize(sums, scales, target(scheme)))
        for column in range(3):
            alone = requantized(label, SUMS, each[column])
            assert (codes[:, column].astype(int) - middle(scheme)).tolist() == alone.tolist()


DOUBLES = tuple(n for n in FAMILIES if "double" in n or n.endswith(("(q31)", "(gemmlowp)")))


@pytest.mark.parametrize("label", ADDING)
@few
@given(a_scale=st.floats(0.125, 1, width=32), b_scale=st.floats(0.125, 1, width=32), seed=st.integers(0, 99))  # fmt: skip
def test_a_sum_is_at_most_one_step_from_exact_and_saturates(label, a_scale, b_scale, seed):
    scheme = ADDING[label]
    zero = middle(scheme)
    codes = np.random.default_rng(seed).integers(-128, 128, (2, 200)) + zero
    codes[:, 0], codes[:, 1], codes[:, 2] = zero, zero - 128, zero + 127
    operands = [
        Quantized(name, c, f32(scale), np.asarray(zero))
        for name, c, scale in zip("AB", codes, (a_scale, b_scale), strict=True)
    ]
    found, _ = finish(scheme.add(*operands, target(scheme, 0.1)))
    found = found.astype(int) - zero
    real = (codes[0] - zero) * Fraction(a_scale) + (codes[1] - zero) * Fraction(b_scale)
    exact = [min(max(round(r / Fraction(float(np.float32(0.1)))), -128), 127) for r in real]
    assert np.abs(found - exact).max() <= 1
    assert found[:3].tolist() == [0, -128, 127]


@pytest.mark.parametrize("label", MULTIPLYING)
@few
@given(y_scale=st.floats(2, 200, width=32), seed=st.integers(0, 99))
def test_a_product_is_at_most_one_step_from_exact_and_saturates(label, y_scale, seed):
    scheme = MULTIPLYING[label]
    zero = middle(scheme)
    codes = np.random.default_rng(seed).integers(-128, 128, (2, 200)) + zero
    codes[:, 0], codes[:, 1] = zero, zero - 128
    codes[:, 2] = zero - 128, zero + 127
    operands = [
        Quantized(name, c, f32(1.0), np.asarray(zero)) for name, c in zip("AB", codes, strict=True)
    ]
    found, _ = finish(scheme.multiply(*operands, target(scheme, y_scale)))
    found = found.astype(int) - zero
    product = (codes[0] - zero) * (codes[1] - zero)
    exact = [min(max(round(int(p) / Fraction(y_scale)), -128), 127) for p in product]
    assert np.abs(found - exact).max() <= 1
    assert found[0] == 0


@pytest.mark.parametrize("module", [cmsis_nn, fbgemm, qnnpack, tflite, xnnpack])
class TestAveragePool:
    def pooled(self, module, sums, count, zero=0):
        scheme = module.SCHEME
        y = target(scheme, 0.1, zero)
        arrays = np.asarray(sums, np.int64), np.asarray(count, np.int64)
        codes, _ = finish(module.average_pool(*arrays, f32(0.1), y.zero_point, y))
        return codes.astype(int).tolist()

    def test_the_mean_of_equal_codes_is_the_code(self, module):
        zero = middle(module.SCHEME)
        codes = np.arange(-128, 128)
        for count in (1, 2, 9, 49):
            assert self.pooled(module, codes * count, count, zero) == (codes + zero).tolist()

    def test_a_tie(self, module):
        zero = middle(module.SCHEME)
        away = module in (cmsis_nn, tflite)  # of the codes themselves, so of unsigned ones up
        found = [c - zero for c in self.pooled(module, [5, -5, 3], 2, zero)]
        if away:
            assert found == ([3, -2, 2] if zero else [3, -3, 2])
        else:
            assert found == [2, -2, 2]

    def test_saturates(self, module):
        low, high = (0, 255) if dtype_of(module.SCHEME) == "uint8" else (-128, 127)
        assert self.pooled(module, [-9000, 9000], 1, middle(module.SCHEME)) == [low, high]


def test_pools_that_average_codes_need_one_scale():
    y = target(tflite.SCHEME, 0.2)
    for module in (tflite, cmsis_nn):
        steps = module.average_pool(np.zeros(1, np.int64), np.asarray(4), f32(0.1), y.zero_point, y)
        with pytest.raises(TraceError, match="needs the same scale and zero point of x and y"):
            finish(steps)


@pytest.mark.parametrize("label", variants())
def test_a_refusal_is_one_line_that_names_scheme_and_way_out(label):
    scheme = variants()[label]
    if scheme.name in DEFAULT:
        return
    for dtype in ("int16", "int32"):
        with pytest.raises(TraceError) as caught:
            wide = Target("y", f32(1.0), np.asarray(0), dtype, "y")
            finish(scheme.requantize(np.zeros(1, np.int64), (("a_scale", f32(0.5)),), wide))
        line = str(caught.value)
        assert "\n" not in line and scheme.name in line and dtype in line and ":" in line
    case = call("MatMul", {"A": f32([[1]]), "B": f32([[1]])})
    with pytest.raises(TraceError, match=f"has no arithmetic in {scheme.name}; take"):
        trace(case.graph, case.inputs, scheme)


@pytest.mark.parametrize("label", [n for n in FAMILIES if n.startswith(("tflite (d", "fbgemm", "xnnpack (f"))])  # fmt: skip
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantizing_what_was_dequantized_gives_the_code(label, dtype):
    scheme = FAMILIES[label]
    codes = np.arange(-128, 128) + (128 if dtype == "uint8" else 0)
    parameters = [f32(0.0625), tensor(dtype, codes[100])]
    case = call("DequantizeLinear", {"x": tensor(dtype, codes), "x_scale": parameters[0], "x_zero_point": parameters[1]})  # fmt: skip
    reals = trace(case.graph, case.inputs, scheme).outputs["out"]
    case = call("QuantizeLinear", {"x": reals, "y_scale": parameters[0], "y_zero_point": parameters[1]})  # fmt: skip
    found = trace(case.graph, case.inputs, scheme).outputs["out"]
    assert found.dtype == DTYPES[dtype]
    assert found.tolist() == codes.tolist()


# Ties of both signs, their neighbours in float32, what is no number, and what has no fraction.
VALUES = np.asarray(
    [0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.49999997, -0.49999997, 0.50000006, -0.50000006, 8388609.0, -0.0, 1e-30, -1e-30],
    np.float32,
)  # fmt: skip
EXPECTED = {
    "half_to_even": [0, 0, 2, -2, 2, -2, 0, 0, 1, -1, 8388609, 0, 0, 0],
    "half_away": [1, -1, 2, -2, 3, -3, 0, 0, 1, -1, 8388609, 0, 0, 0],
    "half_up": [1, 0, 2, -1, 3, -2, 0, 0, 1, -1, 8388609, 0, 0, 0],
    "toward_zero": [0, 0, 1, -1, 2, -2, 0, 0, 0, 0, 8388609, 0, 0, 0],
    "floor": [0, -1, 1, -2, 2, -3, 0, -1, 0, -1, 8388609, 0, 0, -1],
}


class TestRoundings:
    @pytest.mark.parametrize("rounding", ROUNDINGS)
    def test_floats_and_fractions(self, rounding):
        fractions = np.asarray([Fraction(float(v)) for v in VALUES], object)
        assert round_real(fractions, rounding).tolist() == EXPECTED[rounding]
        if rounding != "half_to_even":  # floats are rounded by the number system there
            assert round_real(VALUES, rounding).tolist() == EXPECTED[rounding]
            assert np.isnan(round_real(f32([np.nan]), rounding)).all()
            assert np.isinf(round_real(f32([np.inf]), rounding)).all()

    @pytest.mark.parametrize("name", ["exact", "float64", "float32"])
    def test_the_place_of_the_zero_point_decides_a_tie(self, name):
        tensors = {"x": f32([0.5]), "y_scale": f32(1.0), "y_zero_point": tensor("int8", 1)}
        case = call("QuantizeLinear", tensors)
        for place, code in (("before", 2), ("after", 1)):
            label = f"{name} (zero point {place} rounding)"
            assert trace(case.graph, case.inputs, variants()[label]).outputs["out"].tolist() == [
                code
            ]

    @pytest.mark.parametrize("name", ["exact", "float64", "float32"])
    @pytest.mark.parametrize("rounding", ROUNDINGS)
    def test_quantizelinear_with_each_rounding(self, name, rounding):
        words = ROUNDINGS[rounding]
        label = name if rounding == "half_to_even" else f"{name} ({words})"
        values = VALUES[:6]
        case = call("QuantizeLinear", {"x": values, "y_scale": f32(1.0), "y_zero_point": tensor("int8", 0)})  # fmt: skip
        found = trace(case.graph, case.inputs, variants()[label])
        assert found.outputs["out"].tolist() == EXPECTED[rounding][:6]
        assert f"round {words}" in [s.formula for s in found.nodes[0].steps]


def test_labels_are_those_of_the_documentation():
    labels = list(variants())
    assert labels[0] == "exact" and len(labels) == len(set(labels))
    assert "exact (half away from zero, zero point before rounding)" in labels
    assert "tflite (single rounding)" in labels
    assert {s.name for s in variants().values()} == set(schemes())


@pytest.mark.parametrize("label", [n for n, s in variants().items() if s.name not in DEFAULT])
def test_an_average_pool_is_the_familys_own(label):
    """Within one code of exact, as each rounds once in its own way; or refused in one line."""
    scheme = variants()[label]
    case = build("QLinearAveragePool", dtype="int8" if "int8" in scheme.dtypes else "uint8")
    same = {"y_scale": case.tensor("x_scale"), "y_zero_point": case.tensor("x_zero_point")}
    for name, value in same.items():  # TFLite and CMSIS-NN average codes of one scale only
        case = case.with_tensor(name, value)
    if scheme.name == "gemmlowp" or label in (
        "qnnpack (q31)",
        "qnnpack (fmagic)",
        "qnnpack (lrintf)",
    ):
        with pytest.raises(TraceError, match="the mean of codes"):
            trace(case.graph, case.inputs, scheme)
        return
    exact = trace(case.graph, case.inputs, variants()["exact"]).outputs["y"].astype(int)
    found = trace(case.graph, case.inputs, scheme).outputs["y"].astype(int)
    assert np.abs(found - exact).max() <= 1
