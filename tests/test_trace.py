"""Trace: a graph node by node, one element of it, and what cannot be traced, in one line."""

from fractions import Fraction

import numpy as np
import pytest

from qlab.errors import TraceError
from qlab.graph import Graph, Node
from qlab.schemes import DEFAULT, schemes
from qlab.schemes.ort_cpu import CPUS, OrtCpu
from qlab.trace import Step, broadcasts, element_step, trace
from tests.ops.calls import call, f32, tensor, traced
from tests.ops.test_qlinearadd import OFF_BY_ONE

ALL = [*(schemes()[n] for n in DEFAULT if n != "ort_cpu"), *(OrtCpu(c) for c in CPUS)]
every_scheme = pytest.mark.parametrize("scheme", ALL, ids=lambda s: f"{s.name} {s.cpu}".strip())


def chain():
    """x → QuantizeLinear → DequantizeLinear → MatMul → y, with a weight."""
    nodes = (
        Node("QuantizeLinear", ("x", "scale", "zero"), ("q",)),
        Node("DequantizeLinear", ("q", "scale", "zero"), ("d",)),
        Node("MatMul", ("d", "w"), ("y",)),
    )
    constants = {"scale": f32(0.1), "zero": tensor("uint8", 3), "w": f32([[1, 2], [3, 4]])}
    return Graph(nodes, constants, ("x",), ("y", "q"), {"": 21})


X = {"x": f32([[0.25, 0.1], [-1, 99]])}


class TestGraph:
    @every_scheme
    def test_all_tensors_and_the_outputs_by_name(self, scheme):
        found = trace(chain(), X, scheme)
        assert (found.scheme, found.cpu) == (scheme.name, scheme.cpu)
        assert set(found.tensors) == {"x", "scale", "zero", "w", "q", "d", "y"}
        assert list(found.outputs) == ["y", "q"]
        assert found.outputs["q"].tolist() == [[5, 4], [0, 255]]
        assert found.outputs["y"].dtype == np.float32
        assert [n.node.op_type for n in found.nodes] == ["QuantizeLinear", "DequantizeLinear", "MatMul"]  # fmt: skip
        assert found.node_of("d") is found.nodes[1]
        assert found.node_of("x") is None

    def test_exact_keeps_fractions_between_nodes_and_rounds_outputs_once(self):
        found = trace(chain(), X, schemes()["exact"])
        tenth = Fraction(float(np.float32(0.1)))
        assert found.tensors["d"][0, 0] == 2 * tenth
        assert found.tensors["y"][0, 1] == 2 * 2 * tenth + 4 * tenth
        assert found.outputs["y"][0, 1] == np.float32(float(8 * tenth))

    def test_an_output_may_be_an_input_or_a_constant(self):
        graph = Graph((), {"c": tensor("int4", [1])}, ("x",), ("x", "c"), {"": 21})
        found = trace(graph, X, schemes()["exact"])
        assert found.outputs["x"] is X["x"] or (found.outputs["x"] == X["x"]).all()
        assert found.outputs["c"].dtype == tensor("int4", 0).dtype

    def test_the_last_step_of_each_output_is_that_output(self):
        case = call("DynamicQuantizeLinear", {"x": f32([1, -2])}, outputs=("y", "s", "z"))
        for name in DEFAULT:
            found = traced(case, name)
            finished = {s.tensor: s.value for s in found.nodes[0].steps if s.tensor}
            assert set(finished) == {"y", "s", "z"}
            assert all(found.tensors[k] is v for k, v in finished.items())


class TestElement:
    def test_the_steps_of_one_element(self):
        steps = traced(OFF_BY_ONE, "ort_cpu").element("out", (0,))
        assert [s.name for s in steps] == ["rB", "rA", "fixed", "part", "sum", "rounded", "output"]
        by_name = {s.name: s for s in steps}
        assert by_name["sum"].value == np.float32(-87.5)
        assert by_name["sum"].dtype == "float32"
        assert by_name["sum"].decides
        assert by_name["rounded"].value == -88
        assert (by_name["output"].value, by_name["output"].dtype) == (-88, "int8")

    def test_exact_values_are_called_so(self):
        by_name = {s.name: s for s in traced(OFF_BY_ONE).element("out", (0,))}
        assert isinstance(by_name["sum"].value, Fraction)
        assert by_name["sum"].dtype == "exact"

    def test_steps_of_other_outputs_are_left_out(self):
        case = call("DynamicQuantizeLinear", {"x": f32([1, -2])}, outputs=("y", "s", "z"))
        found = traced(case)
        assert [s.name for s in found.element("s", ())] == ["minimum", "maximum", "y_scale", "real_zero_point"]  # fmt: skip
        assert [s.name for s in found.element("y", (1,))][-1] == "output"

    def test_parameters_of_channels_are_those_of_the_element(self):
        x, scales = tensor("int8", [[1, 1], [1, 1]]), f32([1, 10])
        found = traced(call("DequantizeLinear", {"x": x, "x_scale": scales}))
        assert [float(found.element("out", (0, i))[-1].value) for i in (0, 1)] == [1, 10]

    @pytest.mark.parametrize(
        ("name", "index", "words"),
        [
            ("nothing", (0,), r"^'nothing' is not computed by a node; computed are q, d, y$"),
            ("x", (0, 0), r"^'x' is not computed by a node"),
            ("y", (0,), r"^y\[0\] does not exist: y has the shape \[2, 2\]$"),
            ("y", (2, 0), r"^y\[2, 0\] does not exist"),
            ("y", (0, -1), r"^y\[0, -1\] does not exist"),
        ],
    )
    def test_what_does_not_exist(self, name, index, words):
        with pytest.raises(TraceError, match=words):
            trace(chain(), X, schemes()["exact"]).element(name, index)

    def test_an_element_step_of_a_step_that_broadcasts(self):
        step = Step("multiplier", "m", f32([[1], [2]]))
        assert element_step(step, (2, 3), (1, 2)).value == 2
        assert element_step(Step("shift", "s", np.asarray(7)), (2,), (1,)).value == 7


@pytest.mark.parametrize(
    ("shape", "to", "expected"),
    [((), (2, 3), True), ((3,), (2, 3), True), ((2, 1), (2, 3), True), ((2,), (2, 3), False),
     ((1, 2, 3), (2, 3), False), ((0,), (2, 0), True), ((1,), (0,), True), ((2,), (1,), False)],
)  # fmt: skip
def test_broadcasts(shape, to, expected):
    assert broadcasts(shape, to) == expected


def integer_cases():
    rng = np.random.default_rng(0)

    def codes(dtype, *shape):
        low = 0 if dtype == "uint8" else -128
        return tensor(dtype, rng.integers(low, low + 256, shape))

    zero = {"a_zero_point": codes("uint8"), "b_zero_point": codes("int8")}
    yield call("MatMulInteger", {"A": codes("uint8", 2, 3, 7), "B": codes("int8", 7, 2), **zero})
    matmul = {"A": codes("uint8", 3, 7), "B": codes("int8", 7, 2), "a_zero_point": codes("uint8")}
    yield call("MatMulInteger", {**matmul, "b_zero_point": codes("int8", 2)})
    x, w = codes("uint8", 2, 4, 6, 5), codes("int8", 6, 2, 3, 2)
    scales = {"x_scale": f32(1), "w_scale": f32(rng.uniform(0.5, 1, 6)), "y_scale": f32(200)}
    zero = {"x_zero_point": codes("uint8"), "w_zero_point": codes("int8", 6), "y_zero_point": codes("uint8")}  # fmt: skip
    attributes = {"group": 2, "pads": (1, 0, 1, 1), "strides": (2, 1), "dilations": (1, 2)}
    yield call("QLinearConv", {"x": x, "w": w, **scales, **zero}, **attributes)
    last = {"x": np.moveaxis(x, 1, -1), "w": w, **scales, **zero}
    yield call("QLinearConv", last, domain="com.microsoft", channels_last=1, **attributes)
    yield call("ConvInteger", {"x": codes("int8", 1, 3, 5), "w": codes("uint8", 2, 3, 3)}, pads=(1, 1))  # fmt: skip


class TestTaps:
    @every_scheme
    @pytest.mark.parametrize("case", list(integer_cases()), ids=lambda c: c.title or c.graph.nodes[0].op_type)  # fmt: skip
    def test_the_products_add_up_to_the_accumulator(self, scheme, case):
        found = trace(case.graph, case.inputs, scheme)
        shape = found.tensors["out"].shape
        rng = np.random.default_rng(0)
        for index in {tuple(int(rng.integers(n)) for n in shape) for _ in range(12)}:
            steps = {s.name: s for s in found.element("out", index)}
            step = steps.get("raw_sum", steps["accumulator"])
            taps = step.taps
            assert len(taps.a) == len(taps.positions) == len(taps.products) == len(taps.running)
            assert taps.running[-1] == step.value
            assert (np.cumsum(taps.products - taps.lost) == taps.running).all()
            centered = (taps.a - taps.a_zero_point) * (taps.b - taps.b_zero_point)
            # The zero points taken away before or after, the sum is the same where nothing is lost.
            assert centered.sum() - taps.lost.sum() == steps["accumulator"].value
            assert len(set(taps.positions)) == len(taps.positions)
            assert all(len(p) == len(taps.axes) for p in taps.positions)

    @every_scheme
    def test_those_of_reals_too(self, scheme):
        rng = np.random.default_rng(0)
        a, b = (rng.normal(size=s).astype(np.float32) for s in ((3, 9), (9, 4)))
        for case in (
            call("MatMul", {"A": a, "B": b}),
            call("MatMul", {"A": a[0], "B": b}),
            call("MatMul", {"A": a, "B": b[:, 0]}),
            call("Gemm", {"A": a, "B": b.T.copy(), "C": f32([1, 2, 3, 4])}, transB=1, alpha=0.5),
            call("Conv", {"X": a.reshape(1, 3, 9), "W": b.reshape(3, 3, 4)}),
        ):
            found = trace(case.graph, case.inputs, scheme)
            for index in np.ndindex(*found.tensors["out"].shape):
                step = next(s for s in found.element("out", index) if s.taps)
                assert step.taps.running[-1] == step.value
                assert len(step.taps.products) in (9, 12)

    def test_the_operands_are_those_of_the_element(self):
        x = tensor("uint8", np.arange(16).reshape(1, 1, 4, 4))
        w = tensor("int8", [[[[1, 2], [3, 4]]], [[[5, 6], [7, 8]]]])
        case = call("ConvInteger", {"x": x, "w": w})
        taps = traced(case).element("out", (0, 1, 2, 0))[0].taps
        assert taps.axes == ("c", "kh", "kw")
        assert taps.positions == ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1))
        assert taps.a.tolist() == [8, 9, 12, 13]
        assert taps.b.tolist() == [5, 6, 7, 8]

    def test_no_products(self):
        case = call("MatMulInteger", {"A": tensor("uint8", np.ones((1, 0))), "B": tensor("int8", np.ones((0, 1)))})  # fmt: skip
        for name in DEFAULT:
            taps = traced(case, name).element("out", (0, 0))[0].taps
            assert len(taps.products) == len(taps.running) == 0


class TestErrors:
    def run(self, *nodes, inputs=None, outputs=("y",)):
        graph = Graph(nodes, {}, tuple(inputs or X), outputs, {"": 21})
        return trace(graph, X if inputs is None else inputs, schemes()["exact"])

    @pytest.mark.parametrize(
        ("nodes", "words"),
        [
            ((), "the graph output 'y' is made by no node"),
            ((Node("Relu", ("z",), ("y",)),), r"Relu \(y\): the input X reads 'z', which nothing defines"),
            ((Node("Relu", (), ("y",)),), r"Relu \(y\): the required input X is absent"),
            ((Node("Relu", ("",), ("y",)),), r"Relu \(y\): the required input X is absent"),
            ((Node("Relu", ("x",), ()),), r"Relu \(\): it has no output"),
            ((Node("Relu", ("x", "x"), ("y",)),), r"Relu \(y\): it has 2 inputs; at most 1 are allowed: X"),
            ((Node("Add", ("x", "x"), ("y",)), Node("Relu", ("y",), ("z",))), None),
            ((Node("Transpose", ("x",), ("y",), attributes={"perm": "ab"}),), r"Transpose \(y\): "),
            ((Node("Reshape", ("x", "x"), ("y",)),), r"Reshape \(y\): "),
            ((Node("QuantizeLinear", ("x", "x"), ("y",), attributes={"axis": "a"}),), r"QuantizeLinear \(y\): "),
        ],
    )  # fmt: skip
    def test_one_line_with_the_node(self, nodes, words):
        if words is None:
            assert self.run(*nodes).outputs["y"].shape == (2, 2)
            return
        with pytest.raises(TraceError, match=rf"^{words}") as caught:
            self.run(*nodes)
        assert "\n" not in str(caught.value)

    def test_an_input_that_is_not_given(self):
        with pytest.raises(TraceError, match="reads 'x', which nothing defines"):
            self.run(Node("Relu", ("x",), ("y",)), inputs={})

    def test_an_unknown_scheme(self):
        from qlab.schemes import scheme

        with pytest.raises(TraceError, match="^unknown scheme 'fast'; there are exact, float64, float32, ort_cpu, cmsis_nn, "):  # fmt: skip
            scheme("fast")


def squared(times, value):
    nodes = tuple(Node("Mul", (f"v{i}", f"v{i}"), (f"v{i + 1}",)) for i in range(times))
    return Graph(nodes, {}, ("v0",), (f"v{times}",), {"": 13}), {"v0": value}


def test_numbers_that_grow_without_end_are_refused():
    graph, inputs = squared(40, np.full((), 1.1, np.float32))
    with pytest.raises(
        TraceError, match=r"^Mul \(v1\d\): exact arithmetic needs numbers of .* bits"
    ):
        trace(graph, inputs, schemes()["exact"])


@pytest.mark.parametrize(
    ("scheme", "op_type", "a", "b"),
    [
        ("exact", "Add", (1000, 1), (1, 1000)),
        ("float32", "Add", (10_000, 1), (1, 10_000)),
        ("exact", "MatMulInteger", (30_000, 0), (0, 30_000)),
        ("float64", "MatMulInteger", (2000, 2000), (2000, 2000)),
    ],
)
def test_more_than_can_be_traced_is_refused_before_it_is_made(scheme, op_type, a, b):
    dtype = np.float32 if op_type == "Add" else np.uint8
    graph = Graph((Node(op_type, ("a", "b"), ("y",)),), {}, ("a", "b"), ("y",), {"": 13})
    with pytest.raises(TraceError, match=r"at most [\d,]+ are traced"):
        trace(graph, {"a": np.ones(a, dtype), "b": np.ones(b, dtype)}, schemes()[scheme])
