"""Laws that every scheme keeps, by name; over every operator that ends in codes.

Each law is stated on one function: ``requantized(accumulator, ratio, zero_point)``, which every quantizing operator
computes in its own way: QuantizeLinear of the accumulator itself, the others of a code with neutral operands.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qlab.qtypes import DTYPES, bounds, is_integer
from qlab.schemes import DEFAULT, schemes
from qlab.schemes.ort_cpu import CPUS, OrtCpu
from qlab.trace import trace
from tests.ops.calls import call, f32, tensor

SCHEMES = {**{n: schemes()[n] for n in DEFAULT if n != "ort_cpu"}, **{f"ort_cpu {c}": OrtCpu(c) for c in CPUS}}  # fmt: skip
CODES = [name for name, dtype in DTYPES.items() if is_integer(dtype) and dtype.itemsize <= 2]
ALL = np.arange(-128, 128)
few = settings(max_examples=8, deadline=None, derandomize=True, database=None)


def run(scheme, case, output="out"):
    return trace(case.graph, case.inputs, SCHEMES[scheme]).outputs[output]


# Each: codes of int8 accumulators (a vector), times a_scale, over y_scale, plus the zero point.
def quantize_linear(x, a_scale, y_scale, zero_point):
    real = (np.asarray(x) * np.float64(a_scale)).astype(np.float32)
    tensors = {"x": real, "y_scale": f32(y_scale), "y_zero_point": tensor("int8", zero_point)}
    return call("QuantizeLinear", tensors)


def binary(op_type, other):
    def make(x, a_scale, y_scale, zero_point):
        tensors = {"A": tensor("int8", x), "B": tensor("int8", np.full(len(x), other))}
        # For QLinearAdd the scale of A, as ARM64 leaves fixed point where a ratio is extreme.
        b_scale = 1.0 if other else a_scale
        for name, scale in zip("ABC", (a_scale, b_scale, y_scale), strict=True):
            tensors[f"{name}_scale"] = f32(scale)
            tensors[f"{name}_zero_point"] = tensor("int8", zero_point if name == "C" else 0)
        return call(op_type, tensors, domain="com.microsoft")

    return make


def product(op_type, names, domain="", *, shape=(-1, 1), weight=(1, 1)):
    a, b, y = names

    def make(x, a_scale, y_scale, zero_point):
        tensors = {a: tensor("int8", np.reshape(x, shape)), b: tensor("int8", np.ones(weight))}
        parameters = zip((a, b, y), (a_scale, 1.0, y_scale), (0, 0, zero_point), strict=True)
        for name, scale, zero in parameters:
            tensors[f"{name.lower()}_scale"] = f32(scale)
            tensors[f"{name.lower()}_zero_point"] = tensor("int8", zero)
        return call(op_type, tensors, domain=domain)

    return make


OPERATORS: dict[str, Callable] = {
    "QuantizeLinear": quantize_linear,
    "QLinearAdd": binary("QLinearAdd", 0),
    "QLinearMul": binary("QLinearMul", 1),
    "QLinearMatMul": product("QLinearMatMul", "aby"),
    "QGemm": product("QGemm", "ABy", "com.microsoft"),
    "QLinearConv": product("QLinearConv", "xwy", shape=(1, 1, -1), weight=(1, 1, 1)),
}
INSIDE = ("QLinearAdd", "QLinearMul")  # the zero point is added before rounding
over_all = pytest.mark.parametrize(
    ("scheme", "operator"), [(s, o) for s in SCHEMES for o in OPERATORS]
)


def requantized(scheme, operator, x, a_scale, y_scale, zero_point):
    """int64 codes, as a vector."""
    case = OPERATORS[operator](x, a_scale, y_scale, zero_point)
    return run(scheme, case).reshape(-1).astype(np.int64)


def half_away(value):
    return int(math.copysign(math.floor(abs(value) + Fraction(1, 2)), value))


def formula(scheme, operator, accumulator, ratio, zero_point):
    """The law itself in fractions: one rounding, at the place that the operator has."""
    value = int(accumulator) * ratio
    if scheme == "ort_cpu arm64" and operator == "QLinearAdd":
        code = half_away(value) + zero_point
    elif operator in INSIDE:
        code = round(value + zero_point)
    else:
        code = round(value) + zero_point
    return min(max(code, -128), 127)


zero_points = st.sampled_from([0, 1, -1, 3, -3, 17, 127, -128, 126, -127])
generic = st.floats(0.125, 8.0, width=32)


@over_all
class TestEveryOperator:
    @few
    @given(power=st.integers(-4, 7), base=st.integers(-30, 30), zero_point=zero_points)
    def test_division_by_a_power_of_two_is_exact(self, scheme, operator, power, base, zero_point):
        codes = requantized(scheme, operator, ALL, 2.0**base, 2.0 ** (base + power), zero_point)
        ratio = Fraction(2) ** -power
        expected = [formula(scheme, operator, a, ratio, zero_point) for a in ALL]
        assert codes.tolist() == expected

    @few
    @given(a_scale=generic, y_scale=generic, zero_point=zero_points)
    def test_is_monotone(self, scheme, operator, a_scale, y_scale, zero_point):
        codes = requantized(scheme, operator, ALL, a_scale, y_scale, zero_point)
        assert (np.diff(codes) >= 0).all()

    @few
    @given(y_scale=generic, zero_point=zero_points)
    def test_saturates_at_both_ends(self, scheme, operator, y_scale, zero_point):
        codes = requantized(scheme, operator, [-128, -1, 1, 127], y_scale * 4096, y_scale, zero_point)  # fmt: skip
        assert codes.tolist() == [-128, -128, 127, 127]

    @few
    @given(a_scale=generic, y_scale=generic)
    def test_is_symmetric_under_negation(self, scheme, operator, a_scale, y_scale):
        x = np.arange(128)
        up = requantized(scheme, operator, x, a_scale, y_scale, 0)
        down = requantized(scheme, operator, -x, a_scale, y_scale, 0)
        inside = up < 127
        assert (down[inside] == -up[inside]).all()
        assert (down[~inside] <= -127).all()

    @few
    @given(a_scale=generic, y_scale=generic, zero_point=zero_points)
    def test_zero_gives_the_zero_point(self, scheme, operator, a_scale, y_scale, zero_point):
        codes = requantized(scheme, operator, [0], a_scale, y_scale, zero_point)
        assert codes.tolist() == [zero_point]

    @few
    @given(a_scale=generic, y_scale=generic, zero_point=zero_points)
    def test_is_at_most_one_step_from_exact(self, scheme, operator, a_scale, y_scale, zero_point):
        codes = requantized(scheme, operator, ALL, a_scale, y_scale, zero_point)
        exact = requantized("exact", operator, ALL, a_scale, y_scale, zero_point)
        assert np.abs(codes - exact).max() <= 1

    @few
    @given(scale=generic, zero_point=zero_points)
    def test_one_scale_for_both_changes_no_code(self, scheme, operator, scale, zero_point):
        codes = requantized(scheme, operator, ALL, scale, scale, zero_point)
        assert codes.tolist() == np.clip(ALL + zero_point, -128, 127).tolist()


@pytest.mark.parametrize("operator", OPERATORS)
@few
@given(a_scale=generic, y_scale=generic, zero_point=zero_points)
def test_exact_is_the_formula_in_fractions(operator, a_scale, y_scale, zero_point):
    codes = requantized("exact", operator, ALL, a_scale, y_scale, zero_point)
    ratio = Fraction(np.float32(a_scale).item()) / Fraction(np.float32(y_scale).item())
    if operator == "QuantizeLinear":  # whose input is a float32 already
        reals = [Fraction(float(v)) for v in (ALL * np.float64(a_scale)).astype(np.float32)]
        scale = Fraction(np.float32(y_scale).item())
        expected = [min(max(round(v / scale) + zero_point, -128), 127) for v in reals]
    else:
        expected = [formula("exact", operator, a, ratio, zero_point) for a in ALL]
    assert codes.tolist() == expected


@few
@given(a_scale=generic, b_scale=generic, y_scale=generic, zero_points=st.tuples(*[zero_points] * 3))
@pytest.mark.parametrize("op_type", INSIDE)
def test_exact_is_the_formula_of_two_operands(op_type, a_scale, b_scale, y_scale, zero_points):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (2, 60))
    tensors = {"A": tensor("int8", a), "B": tensor("int8", b)}
    scales = [np.float32(s) for s in (a_scale, b_scale, y_scale)]
    for name, scale, zero in zip("ABC", scales, zero_points, strict=True):
        tensors |= {f"{name}_scale": f32(scale), f"{name}_zero_point": tensor("int8", zero)}
    codes = run("exact", call(op_type, tensors, domain="com.microsoft"))
    sa, sb, sc = (Fraction(float(s)) for s in scales)
    za, zb, zc = zero_points
    for x, y, code in zip(a.tolist(), b.tolist(), codes.tolist(), strict=True):
        x, y = sa * (x - za), sb * (y - zb)
        real = (x + y if op_type == "QLinearAdd" else x * y) / sc + zc
        assert code == min(max(round(real), -128), 127)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("dtype", CODES)
class TestRoundTrip:
    @few
    @given(scale=st.floats(2.0**-100, 2.0**100, width=32), where=st.floats(0, 1))
    def test_quantizing_what_was_dequantized_gives_the_code(self, scheme, dtype, scale, where):
        low, high = bounds(dtype)
        # Every code of 4 and 8 bits; of 16 bits the ends and a sample.
        step = 1 if high - low < 256 else 977
        codes = np.unique([*range(low, high + 1, step), low + 1, high - 1, high])
        zero_point = tensor(dtype, round(low + where * (high - low)))
        parameters = {"x_scale": f32(scale), "x_zero_point": zero_point}
        reals = run(scheme, call("DequantizeLinear", {"x": tensor(dtype, codes), **parameters}))
        assert reals.dtype == np.float32
        parameters = {"y_scale": f32(scale), "y_zero_point": zero_point}
        back = run(scheme, call("QuantizeLinear", {"x": reals, **parameters}))
        assert back.dtype == DTYPES[dtype]
        assert back.astype(np.int64).tolist() == codes.tolist()

    def test_saturates_to_the_ends_of_its_range(self, scheme, dtype):
        low, high = bounds(dtype)
        zero_point = tensor(dtype, (low + high + 1) // 2)
        tensors = {"x": f32([-1e9, 1e9, -np.inf, np.inf]), "y_scale": f32(0.5)}
        codes = run(scheme, call("QuantizeLinear", {**tensors, "y_zero_point": zero_point}))
        assert codes.astype(np.int64).tolist() == [low, high, low, high]


@pytest.mark.parametrize("scheme", SCHEMES)
class TestSums:
    @few
    @given(seed=st.integers(0, 2**32 - 1), k=st.integers(0, 9))
    def test_sums_of_codes_are_those_of_the_integers(self, scheme, seed, k):
        rng = np.random.default_rng(seed)
        a, b = rng.integers(0, 256, (3, k)), rng.integers(-64, 65, (k, 2))  # no pair saturates
        za, zb = int(rng.integers(0, 256)), int(rng.integers(-128, 128))
        tensors = {"A": tensor("uint8", a), "B": tensor("int8", b)}
        tensors |= {"a_zero_point": tensor("uint8", za), "b_zero_point": tensor("int8", zb)}
        found = run(scheme, call("MatMulInteger", tensors))
        assert found.tolist() == ((a - za) @ (b - zb)).tolist()

    @few
    @given(seed=st.integers(0, 2**32 - 1))
    def test_the_product_with_one_is_the_matrix(self, scheme, seed):
        x = np.random.default_rng(seed).normal(size=(3, 3)).astype(np.float32)
        for a, b in ((x, np.eye(3, dtype=np.float32)), (np.eye(3, dtype=np.float32), x)):
            np.testing.assert_array_equal(run(scheme, call("MatMul", {"A": a, "B": b})), x)

    @few
    @given(seed=st.integers(0, 2**32 - 1))
    def test_zero_has_the_code_zero_point_in_a_dynamic_range(self, scheme, seed):
        rng = np.random.default_rng(seed)
        x = np.append(rng.normal(rng.integers(-2, 3), 1, 20), 0).astype(np.float32)
        case = call("DynamicQuantizeLinear", {"x": x}, outputs=("y", "y_scale", "y_zero_point"))
        found = trace(case.graph, case.inputs, SCHEMES[scheme]).outputs
        assert found["y"][-1] == found["y_zero_point"]
        error = found["y_scale"] * (found["y"].astype(int) - int(found["y_zero_point"])) - x
        # Half a step each from the rounding of x and of the zero point.
        assert np.abs(error).max() <= found["y_scale"] * 1.001


def test_every_scheme_is_held_to_the_laws():
    assert set(DEFAULT) == {s.name for s in SCHEMES.values()}
