"""Functions over the rationals: correctly rounded, exact where they are rational, bounded where they are enormous."""

import math
import threading
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from qlab.functions import PRECISION, SIGMOID, SMALLEST_EXPONENT, apply, exp, leaky_relu


def reference(x, bits=600):
    context = mpmath.mp.clone()
    context.prec = bits
    mantissa, exponent = context.exp(context.mpf(x.numerator) / x.denominator).man_exp
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("x", [Fraction(-1), Fraction(-1, 3), Fraction(-999), Fraction(-1, 2**200)])
def test_exp_to_256_bits(x):
    true = reference(x)
    assert abs(exp(x) - true) < true / 2**PRECISION


def test_exp_at_its_ends():
    assert exp(Fraction(0)) == 1
    assert exp(Fraction(SMALLEST_EXPONENT)) > 0
    for x in (Fraction(SMALLEST_EXPONENT) - 1, Fraction(-(10**40))):
        assert exp(x) == 0
    assert float(exp(Fraction(SMALLEST_EXPONENT))) == 0


def test_sigmoid_is_symmetric_and_rational_at_zero():
    assert SIGMOID.exact(Fraction(0)) == Fraction(1, 2)
    for x in (Fraction(1, 7), Fraction(40), Fraction(10**30)):
        assert SIGMOID.exact(x) + SIGMOID.exact(-x) == 1
    assert SIGMOID.exact(math.inf) == 1 and SIGMOID.exact(-math.inf) == 0
    assert math.isnan(SIGMOID.exact(math.nan))


def test_leaky_relu_reads_its_slope_as_float32():
    function = leaky_relu(0.1)
    assert function.exact(Fraction(-1)) == -Fraction(float(np.float32(0.1)))
    assert function.parameters == {"alpha": float(np.float32(0.1))}


def test_floats_are_rounded_once_from_float64():
    x = np.linspace(-20, 20, 999, dtype=np.float32).reshape(9, 111)
    double = apply(SIGMOID.exact, x.astype(np.float64), SIGMOID.double)
    single = apply(SIGMOID.exact, x, SIGMOID.double)
    assert (single == double.astype(np.float32)).all() and single.dtype == np.float32
    assert apply(SIGMOID.exact, np.zeros((), np.float32), SIGMOID.double).shape == ()
    assert apply(SIGMOID.exact, np.zeros((2, 0), np.float32), SIGMOID.double).shape == (2, 0)


def test_a_formula_of_another_argument():
    assert SIGMOID.of("real") == "1 / (1 + exp(-real))"


def test_threads_do_not_share_a_precision():
    """mpmath's own context is global; this one is not."""
    before = mpmath.mp.prec
    found = []
    threads = [
        threading.Thread(target=lambda k=k: found.append((k, exp(Fraction(-k, 13)))))
        for k in range(1, 30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mpmath.mp.prec == before
    assert all(abs(v - reference(Fraction(-k, 13))) < v / 2**PRECISION for k, v in found)
