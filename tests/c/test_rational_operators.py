"""exact with reals between nodes as C: what brings numbers of several tensors to one denominator, pools, LeakyRelu, Resize, Sigmoid."""

import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.c import c_source
from qlab.errors import ExportError
from qlab.graph import Node
from qlab.schemes import scheme, variants
from tests.c.compiled import needs_compiler, none_differs
from tests.c.test_rational import CODES, F32, group, node

pytestmark = needs_compiler
EXACT = scheme("exact")
EVERY = {
    "QDQ Concat int8": 5, "QDQ Where uint8": 5, "QDQ Moving int8": 29, "QDQ AveragePool int8": 40,
    "QDQ GlobalAveragePool uint8": 60, "QDQ MaxPool uint8": 60, "QDQ LeakyRelu int8": 8,
    "QDQ Resize linear int8": 16, "QDQ Resize nearest uint8": 21, "QDQ Sigmoid int8": 8,
    "MatMulIntegerToFloat int8 × int8": 20,
}  # fmt: skip
"""Battery → one of so many cases is compiled."""


@pytest.mark.parametrize("battery", EVERY)
@pytest.mark.parametrize("label", ["exact", "exact (half away from zero)"])
def test_battery(battery, label):
    found = batteries()[battery].cases(0)
    first = 0 if label == "exact" else 1 % EVERY[battery]
    for case in itertools.islice(found, first, None, EVERY[battery] * (1 + (label != "exact"))):
        none_differs(case, variants()[label])


def test_blocked_weights():
    found = batteries()["MatMulNBits float32 × 4 bits, accuracy level 0"].cases(0)
    none_differs(next(itertools.islice(found, 9, None)), EXACT)


def split(*last):
    """Codes of two columns, one of them as codes in the end where ``last`` has a scale."""
    return group(Node("Split", ("X",), ("left", "Y"), "", {"axis": 1, "num_outputs": 2}), *last)


K = {"kernel_shape": [3]}
ROWS = Node("Reshape", ("X", "shape"), ("R",))
SHAPE = {"shape": np.array([2, 4, 32])}
POOLED = ("AveragePool", "MaxPool", "GlobalAveragePool")
CASES = {
    "Transpose to a float": group(node("Transpose", "X")),
    "Split to floats": split(),
    "Pad to a float": group(node("Pad", "X", "pads", "v"), pads=np.array([0, 1, 1, 2]), v=F32(0.3)),
    "Pad with 0": group(node("Pad", "X", "pads"), pads=np.array([0, 1, 1, 2]), last="y", y=F32(0.2)),
    "Pad with what a node made": group(
        Node("Slice", ("X", "from", "to"), ("S",)), Node("Squeeze", ("S",), ("v",)),
        node("Pad", "X", "pads", "v"),
        **{"from": np.array([1, 5]), "to": np.array([2, 6])}, pads=np.array([0, 1, 1, 2]), last="y", y=F32(0.2),
    ),
    "Pad with its edge": group(
        node("Pad", "X", "pads", mode="edge"), pads=np.array([0, 1, 1, 2]), last="y", y=F32(0.2)
    ),
    "Concat with a constant": group(
        node("Concat", "X", "v", "X", axis=1), v=F32([[0.3], [-1e-20]]), last="y", y=F32(0.2)
    ),
    "Where of a constant": group(
        node("Where", "c", "X", "v"), c=np.arange(128) % 3 == 0, v=F32(0.3), last="y", y=F32(0.2)
    ),
    "Where to a float": group(
        node("Where", "c", "v", "X"), c=np.array([[True], [False]]), v=F32(-1e-30)
    ),
    **{f"LeakyRelu {a} of {s}": group(node("LeakyRelu", "X", alpha=a), scale=s)
       for a in (0.01, -0.3, 0.0, 1e-42, 3e38) for s in (0.1, -0.1)},
    **{f"{name} to a float": group(ROWS, node(name, "R", **(K if name[0] != "G" else {})), **SHAPE)
       for name in POOLED},
    "counts with padding": group(
        ROWS, node("AveragePool", "R", **K, pads=[1, 1], count_include_pad=1), **SHAPE, last="y", y=F32(0.07)
    ),
    "counts without": group(ROWS, node("AveragePool", "R", **K, pads=[2, 1], strides=[2]), **SHAPE),
    "MaxPool of negative scale": group(
        ROWS, node("MaxPool", "R", **K, pads=[2, 1], dilations=[2]), **SHAPE, scale=-0.1, last="y", y=F32(0.07)
    ),
    **{f"Resize {mode} to {'codes' if last else 'a float'}": group(
        ROWS, node("Resize", "R", "roi", "", "sizes", mode=mode, coordinate_transformation_mode="tf_crop_and_resize",
                   extrapolation_value=-0.7),
        **SHAPE, roi=F32([0, 0, -0.3, 1, 1, 1.2]), sizes=np.array([2, 4, 21]), last=last, y=F32(0.1),
    ) for mode in ("nearest", "linear") for last in ("", "y")},
    "Resize linear of scales": group(
        ROWS, node("Resize", "R", "", "scales", mode="linear"), **SHAPE, scales=F32([1, 1.7, 0.9]), last="y", y=F32(0.1)
    ),
    "Sigmoid to a float": group(node("Sigmoid", "X")),
    "Sigmoid of a negative scale": group(node("Sigmoid", "X"), scale=-0.03, last="y", y=F32(0.004)),
    "Sigmoid of a scale of 0": group(node("Sigmoid", "X"), scale=0, last="y", y=F32(0.004)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_by_hand(name):
    none_differs(CASES[name], EXACT)


@pytest.mark.parametrize(
    ("case", "line"),
    [
        (group(node("LeakyRelu", "X", alpha=np.inf)), "alpha has NaN or an infinity"),
        (group(node("Where", "c", "X", "v"), c=np.array(True), v=F32(np.nan)), "v has NaN"),
        (group(Node("Sigmoid", ("X",), ("S",)), node("Mul", "S", "S")), "Mul reads a Sigmoid"),
        (group(node("Sigmoid", "X"), last="y", y=F32([0.1] * 128)), "with one constant scale may"),
        (group(node("Pad", "X", "p", "v"), p=np.array([0, 1, 1, 2]), v=F32(np.inf)), "constant_value has NaN"),
    ],
)  # fmt: skip
def test_what_is_refused(case, line):
    assert case.inputs["x"] is CODES
    with pytest.raises(ExportError, match=line):
        c_source(case, EXACT)
