"""QLinearAdd and QLinearMul: all code pairs, ties of full-length scales, broadcasts."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.inputs import (
    beside,
    codes,
    one_node,
    scalar,
    scale,
    zero_point,
)
from qlab.case import Case
from qlab.qtypes import DTYPES, bounds

NAMES = ("A", "A_scale", "A_zero_point", "B", "B_scale", "B_zero_point", "C_scale", "C_zero_point")


def elementwise_cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """All 65,536 code pairs for directed and random scales; then broadcasts."""
    rng = np.random.default_rng(seed)
    low, high = bounds(dtype)
    grid = np.arange(low, high + 1).astype(DTYPES[dtype])
    fixed = [
        (1.0, 1.0, 2.0),
        (0.5, 0.25, 1.0),
        (0.008010663092136383, 0.00622713053599, 0.006873490754514933),
    ]
    for number in range(6):
        scales = np.asarray(fixed[number], np.float32) if number < len(fixed) else scale(rng, (3,))
        if number >= 4:  # ratios near simple fractions, where sums come close to ties
            scales[:2] = scales[2] * rng.integers(1, 64, 2) / 32
            scales[:1] = beside(rng, scales[:1])
        a_scale, b_scale, c_scale = scales
        yield one_node(
            op_type,
            NAMES,
            {
                "A": grid[:, None], "B": grid[None, :],
                "A_scale": scalar("float32", a_scale), "B_scale": scalar("float32", b_scale),
                "C_scale": scalar("float32", c_scale),
                "A_zero_point": zero_point(rng, dtype), "B_zero_point": zero_point(rng, dtype),
                "C_zero_point": zero_point(rng, dtype),
            },
            ("A", "B"), domain="com.microsoft",
        )  # fmt: skip
    yield from tied_pairs(op_type, dtype, rng)
    shapes = [((1,), (1,)), ((), (7,)), ((7,), ()), ((3, 1, 5), (4, 1)), ((2, 3), (2, 3)), ((17,), (17,)),
              ((1, 1, 1, 1), (1, 1, 1, 1)), ((2, 1), (1, 9)), ((17, 3, 1, 1), (1, 1))]  # fmt: skip
    for a_shape, b_shape in shapes * 4:
        yield one_node(
            op_type,
            NAMES,
            {
                "A": codes(rng, dtype, a_shape), "B": codes(rng, dtype, b_shape),
                "A_scale": scale(rng), "B_scale": scale(rng), "C_scale": scale(rng),
                "A_zero_point": zero_point(rng, dtype), "B_zero_point": zero_point(rng, dtype),
                "C_zero_point": zero_point(rng, dtype),
            },
            ("A", "B"), domain="com.microsoft",
        )  # fmt: skip


def tied_pairs(op_type: str, dtype: str, rng: np.random.Generator) -> Iterator[Case]:
    """Pairs whose result is a tie for full-length scales, so that each rounding on the way decides.

    Of one pair (da, db) of codes minus zero points every odd multiple is a tie as well (of the product: da alone).
    """
    low, high = bounds(dtype)
    for _ in range(120):
        zeros = [int(zero_point(rng, dtype)) for _ in "ABC"]
        da, db = (int(rng.choice([-1, 1]) * rng.integers(1, 8)) for _ in "ab")
        k = np.arange(-255, 256, 2)
        a, b = (
            k * da + zeros[0],
            (k * db if op_type == "QLinearAdd" else np.full(k.shape, db)) + zeros[1],
        )
        inside = (a >= low) & (a <= high) & (b >= low) & (b <= high)
        if not inside.any():
            continue
        c_scale = scale(rng, (), -6, 6)
        half = int(rng.integers(0, 12)) + 0.5
        a_scale = np.float32(c_scale * rng.uniform(0.05, 4))
        if op_type == "QLinearAdd":
            tied = (half * float(c_scale) - float(a_scale) * da) / db
        else:
            tied = half * float(c_scale) / float(a_scale) / (da * db)
        b_scale = beside(rng, np.asarray(abs(tied), np.float32))
        yield one_node(
            op_type,
            NAMES,
            {
                "A": a[inside].astype(DTYPES[dtype]), "B": b[inside].astype(DTYPES[dtype]),
                "A_scale": scalar("float32", a_scale), "B_scale": b_scale, "C_scale": c_scale,
                **{f"{n}_zero_point": scalar(dtype, z) for n, z in zip("ABC", zeros, strict=True)},
            },
            ("A", "B"), domain="com.microsoft",
        )  # fmt: skip


BATTERIES = Batteries(
    Battery(op_type, dtype, "QOperator", functools.partial(elementwise_cases, op_type, dtype))
    for op_type in ("QLinearAdd", "QLinearMul")
    for dtype in ("int8", "uint8")
)
