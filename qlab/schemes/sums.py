"""Sums of products over the integers, and their taps: what every scheme but ONNX Runtime's has in common."""

import numpy as np

from qlab.arithmetic import elementwise
from qlab.integers import centered_matmul
from qlab.operands import Contraction
from qlab.ops import Steps
from qlab.trace import Index, Step, Taps


def sum_of_products(contraction: Contraction) -> Steps:
    """Σ (a - a_zero_point)·(b - b_zero_point) over the integers: a step, and its value."""
    c = contraction
    total = c.arrange(centered_matmul(c.lhs, c.rhs, c.lhs_zero_point, c.rhs_zero_point))
    a, b = c.names
    formula = f"Σ ({a} - {a}_zero_point) · ({b} - {b}_zero_point)"
    yield Step("accumulator", formula, total, taps=lambda index: _integer_taps(c, index))
    return total


def _integer_taps(c: Contraction, index: Index) -> Taps:
    a, b, a_zero_point, b_zero_point = c.operands(index)
    products = (a - a_zero_point) * (b - b_zero_point)
    return Taps(
        c.axes,
        c.positions,
        a,
        b,
        a_zero_point,
        b_zero_point,
        products,
        np.cumsum(products),
        np.zeros_like(products),
    )


def real_taps(c: Contraction, index: Index) -> Taps:
    """The products of reals of one accumulator."""
    a, b, _, _ = c.operands(index)
    products = a * b
    running = elementwise(lambda v: v, products) if products.dtype == object else products
    zero = np.zeros(len(a), np.int64)
    return Taps(c.axes, c.positions, a, b, zero, zero, products, np.cumsum(running), zero)
