"""exact with reals between nodes as C: rational numbers that no node rounds, and what the graph ends in."""

import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.builder import build
from qlab.c import c_source
from qlab.case import Case
from qlab.errors import ExportError
from qlab.graph import Graph, Node
from qlab.schemes import scheme, variants
from tests.c.compiled import needs_compiler, none_differs, over_all_codes

pytestmark = needs_compiler
EXACT = scheme("exact")
BATTERIES = (
    "QDQ Add int8", "QDQ Add uint16", "QDQ Mul int4", "QDQ Mul uint8", "QDQ MatMul uint8 × int8", "QDQ MatMul int16 × int16",
    "QDQ Gemm int8 × int8", "QDQ Gemm uint8 × int4", "QDQ Conv uint8 × int8", "QDQ Conv int16 × int8", "QDQ Gemm, Relu int16",
    "QDQ Transpose, Reshape, Flatten int16", "QDQ com.microsoft Conv, Add uint16", "DequantizeLinear int32",
    "Float group Gemm, Relu float32",
)  # fmt: skip
F32 = np.float32
CODES = np.arange(-128, 128).astype(np.int8).reshape(2, 128)


@pytest.mark.parametrize("battery", BATTERIES)
def test_battery(battery):
    found = batteries()[battery].cases(0)
    for case in itertools.islice(found, 0, None, 60):
        none_differs(case, EXACT)


@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
def test_a_group_over_all_pairs(operator):
    case = over_all_codes(build(operator, form="QDQ", dtype="int8"))
    assert none_differs(case, EXACT) >= 65_536


@pytest.mark.parametrize("label", [n for n, s in variants().items() if s.name == "exact"])
def test_variants(label):
    none_differs(build("QLinearMul", form="QDQ", dtype="int8"), variants()[label])


def group(*nodes, scale=0.1, last="", **constants):
    """Codes of x, dequantized to ``X``, then ``nodes``; their last output is the graph's, as codes where ``last`` is."""
    first = Node("DequantizeLinear", ("x", "x_scale", "x_zero_point"), ("X",))
    given = {"x_scale": F32(scale), "x_zero_point": np.int8(3)} | constants
    ends = () if not last else (Node("QuantizeLinear", (nodes[-1].outputs[0], last), ("end",)),)
    graph = Graph(
        (first, *nodes, *ends),
        {name: np.asarray(value) for name, value in given.items()},
        ("x",), ("end" if last else nodes[-1].outputs[0],), {"": 21},
    )  # fmt: skip
    return Case(graph, {"x": CODES})


def node(op_type, *inputs, **attributes):
    return Node(op_type, inputs, ("Y",), "", attributes)


def floats(op_type, a, b, **attributes):
    """An operator that reads a float of the graph and a constant."""
    found = Node(op_type, ("a", "b"), ("Y",), "", attributes)
    return Case(Graph((found,), {"b": b}, ("a",), ("Y",), {"": 21}), {"a": a})


W = np.linspace(-1, 1, 128 * 3).astype(F32)
CASES = {
    "Relu": group(node("Relu", "X")),
    "Clip between": group(node("Clip", "X", "low", "high"), low=F32(-0.3), high=F32(1.7)),
    "Clip at its own limits": group(node("Clip", "X"), scale=0.1),
    "Clip of what is larger": group(node("Clip", "X"), scale=3e38),
    "Clip to codes": group(node("Clip", "X", "low"), low=F32(0), last="y", y=F32(0.07)),
    "the upper limit wins": group(node("Clip", "X", "low", "high"), low=F32(5), high=F32(3)),
    "the upper limit wins beyond all numbers": group(
        node("Clip", "X", "low", "high"), low=F32(50), high=F32(45)
    ),
    "beyond float": group(node("Mul", "X", "big"), scale=1e30, big=F32(1e9)),
    "subnormal": group(node("Mul", "X", "small"), scale=1e-30, small=F32(3e-14)),
    "to zero": group(node("Mul", "X", "small"), scale=1e-30, small=F32(1e-20)),
    "squared": group(node("Mul", "X", "X"), scale=0.1),
    "far apart": group(node("Add", "X", "big"), scale=1e-30, big=F32([[1.0], [-2.0]])),
    "Gemm": group(
        node("Gemm", "X", "W", "C", alpha=0.7, beta=-1.3, transB=1),
        W=W.reshape(3, 128), C=F32([0.1, -0.2, 0.3]), last="y", y=F32(0.7),
    ),
    "Gemm without C": group(node("Gemm", "X", "W", alpha=0.7), W=W.reshape(128, 3)),
    "MatMul by a vector": group(node("MatMul", "X", "W"), W=W[:128]),
    "Add of floats": floats("Add", F32([[1e-45, 3e38, 1.5, -0.0]]), F32([[-1e-45], [1e30]])),
    "Mul of floats": floats("Mul", F32([1e-45, 3e38, 1.5, -3e-23]), F32([0.5, 1e30, -1e-45, 1e-23])),
    "MatMul of floats": floats("MatMul", W.reshape(3, 128), W.reshape(128, 3)),
    "a negative scale": group(node("Relu", "X"), scale=-0.1, last="y", y=F32(-0.07)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_by_hand(name):
    none_differs(CASES[name], EXACT)


@pytest.mark.parametrize(
    ("case", "line"),
    [
        (group(node("Softmax", "X")), "Softmax"),
        (group(node("Mul", "X", "s"), s=F32(np.inf)), "s has NaN or an infinity"),
        (group(node("Relu", "X"), last="y", y=F32(0)), "y_scale is 0"),
        (floats("Add", F32([1, np.nan]), F32([1, 2])), "'a' has NaN or an infinity"),
    ],
)  # fmt: skip
def test_what_is_refused(case, line):
    with pytest.raises(ExportError, match=line):
        c_source(case, EXACT)


def test_numbers_that_grow_too_long():
    nodes = [Node("Mul", (f"X{i}" if i else "X",) * 2, (f"X{i + 1}",)) for i in range(9)]
    with pytest.raises(ExportError, match=r"bits would be needed; at most 4,096"):
        c_source(group(*nodes), EXACT)
