"""Operators that move values, choose between them, convert or cast them, as C: over the batteries and on edges."""

import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.c import c_program, c_source
from qlab.c.emission import File, Operand
from qlab.c.families import family
from qlab.c.indexing import assignments, flat
from qlab.case import Case
from qlab.errors import ExportError
from qlab.graph import Graph, Node
from qlab.schemes import DEFAULT, scheme
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.c.compiled import call, needs_compiler, none_differs

pytestmark = needs_compiler
KINDS = 24  # cases of a round of the battery "Moving": each operator, and Where of several shapes


def one(op_type, inputs, constants=None, outputs=("out",), opset=21, domain="", **attributes):
    """A case of one node whose inputs are those named, in this order."""
    tensors = {**inputs, **(constants or {})}
    node = Node(op_type, tuple(tensors), outputs, domain, attributes)
    opsets = {"": opset, "com.microsoft": 1}
    return Case(Graph((node,), constants or {}, tuple(inputs), outputs, opsets), inputs)


def compared(case, name):
    """How many codes agree; 0 where there are none to compute."""
    try:
        return none_differs(case, scheme(name))
    except ExportError as error:
        assert "has no elements" in str(error)
        return 0


@pytest.mark.parametrize(
    ("dtype", "name", "start"),
    [("float32", "ort_cpu", 0), ("float32", "exact", 1), ("int8", "float64", 2), ("uint8", "float32", 0)],
)  # fmt: skip
def test_moving(dtype, name, start):
    """Pad in four modes, Gather, Slice, Squeeze, Unsqueeze, Expand, Tile, Concat, Where, Split."""
    cases = batteries()[f"Moving {dtype}"].cases(0)
    step = 1 if name == "ort_cpu" else 4
    total = [compared(case, name) for case in itertools.islice(cases, start, KINDS, step)]
    assert sum(total) > 10_000


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", DEFAULT)
def test_conversions(name, dtype):
    """All codes of 24 scales; all pairs of codes and both conditions."""
    for battery, step in ((f"QLinearConcat {dtype}", 20), (f"QLinearWhere {dtype}", 80)):
        for case in itertools.islice(batteries()[battery].cases(0), 0, None, step):
            assert none_differs(case, scheme(name)) > 1_000


@pytest.mark.parametrize("name", ["ort_cpu", "float64"])
@pytest.mark.parametrize(
    "battery", ["QDQ Moving int8", "QDQ Concat uint8", "QDQ Where int8", "QDQ Transpose uint8"]
)
def test_groups(name, battery):
    """Between DequantizeLinear and QuantizeLinear: the scheme's reals are moved."""
    for case in itertools.islice(batteries()[battery].cases(0), 1, None, 20):
        none_differs(case, scheme(name))


@pytest.mark.parametrize(("name", "start"), [("ort_cpu", 0), ("exact", 1), ("float64", 2)])
def test_cast(name, start):
    for case in itertools.islice(batteries()["Cast all"].cases(0), start, None, 8):
        try:
            none_differs(case, scheme(name))
        except ExportError as error:
            assert "of reals only float32 is written in C" in str(error)


X = np.arange(-6, 6, dtype=np.int8).reshape(2, 3, 2)


@pytest.mark.parametrize("dtype", [np.int64, np.uint32, np.bool_, np.float32])
def test_types_and_an_input_that_is_given_twice(dtype):
    x = X.astype(dtype)
    if dtype == np.int64:
        x[0, 0] = -(2**63), 2**63 - 1
    node = Node("Concat", ("x", "x"), ("y",), attributes={"axis": -1})
    none_differs(Case(Graph((node,), {}, ("x",), ("y",), {"": 21}), {"x": x}), scheme("exact"))


def test_int64_is_compared_as_such():
    """Beside 2^63 - 1 a double is 2^63."""
    case = one("Identity", {"input": np.asarray([2**63 - 1])})
    source = c_source(case, scheme("exact"))
    assert "compare_int64(" in source and " compare(" not in source


@pytest.mark.parametrize("opset", [2, 10, 21])
def test_pad_before_and_after_the_constant_was_an_input(opset):
    pads, x = (1, 0, -1, 0, 2, 3), X.astype(np.float32)
    if opset == 21:
        given = {"pads": np.asarray(pads), "value": np.asarray([-2.5], np.float32)}
        case = one("Pad", {"data": x}, given)
    else:
        case = one("Pad", {"data": x}, opset=opset, pads=pads, value=-2.5)
    assert "-0x1.4p+1f" in c_source(case, scheme("ort_cpu"))
    none_differs(case, scheme("ort_cpu"))


def test_pad_with_a_constant_that_a_node_computes():
    given = {"pads": np.asarray([1, 2]), "s": np.asarray(0.5, np.float32)}
    nodes = (
        Node("DequantizeLinear", ("q", "s"), ("c",)),
        Node("Pad", ("x", "pads", "c"), ("y",)),
    )
    inputs = {"x": np.asarray([1, 2], np.float32), "q": np.asarray(7, np.int8)}
    case = Case(Graph(nodes, given, ("x", "q"), ("y",), {"": 21}), inputs)
    for name in ("float64", "ort_cpu"):
        none_differs(case, scheme(name))


def test_where_indices_are_computed_nothing_is_written():
    nodes = (
        Node("Cast", ("i",), ("n",), attributes={"to": 7}),
        Node("Gather", ("x", "n"), ("y",)),
    )
    inputs = {"x": X, "i": np.asarray([1, 0], np.int32)}
    case = Case(Graph(nodes, {}, ("x", "i"), ("y",), {"": 21}), inputs)
    with pytest.raises(ExportError, match="Gather's indices is computed in the graph"):
        c_source(case, scheme("exact"))


def test_rows_of_a_constant_table():
    table = {"table": X}
    node = Node("Gather", ("table", "i"), ("y",))
    case = Case(Graph((node,), table, ("i",), ("y",), {"": 21}), {"i": np.asarray([[1], [-2]])})
    program = c_program(case, scheme("exact"))
    assert program.fixed == ("i",)
    none_differs(case, scheme("exact"))


def test_a_part_without_elements_is_left_out():
    parts = {"split": np.asarray([1, 0, 2])}
    case = one("Split", {"input": X}, parts, ("a", "b", "c"), axis=1)
    program = c_program(case, scheme("exact"))
    assert [p.tensor for p in program.parameters] == ["input", "a", "c"]
    assert "No elements, so left out: b." in program.source
    none_differs(case, scheme("exact"))
    more = Node("Relu", ("c",), ("d",))
    graph = case.graph
    graph = Graph((*graph.nodes, more), graph.constants, graph.inputs, ("b", "d"), graph.opset)
    none_differs(Case(graph, case.inputs), scheme("exact"))


@pytest.mark.parametrize("arithmetic", [OrtCpu("avx2"), scheme("float32")], ids=lambda s: s.name)
@pytest.mark.parametrize("x_shape", [(4,), ()])
def test_the_sign_of_a_zero_that_ort_cpu_loses(tmp_path, x_shape, arithmetic):
    """Of X; of Y where that is the scalar. Everything else is as it was, bit for bit."""
    y_shape = () if x_shape else (4,)
    inputs = {
        "condition": np.asarray([True, False, True, False]),
        "X": np.full(x_shape, -0.0, np.float32),
        "Y": np.full(y_shape, -0.0, np.float32),
    }
    case = one("Where", inputs)
    expected = trace(case.graph, inputs, arithmetic).outputs["out"]
    result = call(c_program(case, arithmetic), tmp_path, inputs, expected)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    assert np.signbit(expected).all() == (arithmetic.name == "float32")


@pytest.mark.parametrize("name", ["ort_cpu", "float32", "float64"])
def test_conversion_of_a_scale_that_a_node_computes(name):
    """Equal scales and zero points are copied in ort_cpu, found when it runs."""
    own = ("q", "scale", "zero")
    nodes = (
        Node("DynamicQuantizeLinear", ("x",), own),
        Node("QLinearConcat", ("scale", "zero", *own, "w", "s", "z"), ("y",), "com.microsoft", {"axis": 0}),
        Node("QLinearConcat", ("s", "z", *own, "w", "s", "z"), ("y2",), "com.microsoft", {"axis": 0}),
    )  # fmt: skip
    given = {"s": np.asarray(0.03, np.float32), "z": np.asarray(3, np.uint8)}
    inputs = {"x": np.linspace(-1, 3, 9, dtype=np.float32), "w": np.arange(256, dtype=np.uint8)}
    opsets = {"": 21, "com.microsoft": 1}
    none_differs(Case(Graph(nodes, given, ("x", "w"), ("y", "y2"), opsets), inputs), scheme(name))


def written(source, shape):
    """The C of a copy of a tensor of ``shape``, and its tables."""
    file = File(scheme("exact"), family(scheme("exact")))
    out, x = Operand("float", "y", "y", source.shape), Operand("float", "x", "x", shape)
    lines = assignments(file, out, flat(source.shape), [(x, source)], str)
    return " ".join(line.strip() for line in lines if "=" in line and "for" not in line), file.definitions  # fmt: skip


def test_index_expressions():
    """A progression, one that begins anew, indices along an axis, any indices."""
    a = flat((4, 6))
    assert written(a, (4, 6)) == ("y[i] = x[i];", [])
    assert written(a[::-1, ::2], (4, 6)) == ("y[i0 * 3 + i1] = x[18 - i0 * 6 + i1 * 2];", [])
    assert written(a.T, (4, 6)) == ("y[i0 * 4 + i1] = x[i0 + i1 * 6];", [])
    tiled, tables = written(np.roll(np.tile(a, (1, 2)), 2, 1), (4, 6))
    assert (tiled, tables) == ("y[i0 * 12 + i1] = x[i0 * 6 + ((i1 + 4) % 6)];", [])
    some, (table,) = written(a[[3, 0, 0]], (4, 6))
    assert some == "y[i0 * 6 + i1] = x[x_index[i0] * 6 + i1];" and "{3, 0, 0}" in table
    order = np.random.default_rng(0).permutation(24).reshape(4, 6)
    any_order, (table,) = written(order, (4, 6))
    assert any_order == "y[i] = x[x_index[i]];"
    assert str(order.reshape(-1).tolist())[1:-1] in table.replace("\n    ", " ")
