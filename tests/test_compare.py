"""Comparison: exact counts in quantization steps, or in units in the last place where there are no codes."""

import ml_dtypes
import numpy as np
import pytest

from qlab.compare import CodeScale, code_scale, compare_outputs
from qlab.graph import Graph, Node
from qlab.schemes import schemes
from qlab.trace import Trace, trace
from tests.ops.calls import call, f32, tensor, traced

EMPTY = Trace("exact", "", (), {}, {})


def compare(expected, actual, graph=None, known=EMPTY):
    graph = graph or Graph((), {}, (), ("y",), {"": 21})
    (found,) = compare_outputs(graph, known, ("exact", {"y": expected}), ("ort", {"y": actual}))
    return found


class TestCodes:
    def test_equal(self):
        found = compare(np.int8([[1, 2]]), np.int8([[1, 2]]))
        assert found.equal
        assert (found.size, found.mismatches, found.max_difference, found.mean_difference) == (2, 0, 0, 0)  # fmt: skip
        assert (found.unit, found.direction, found.first_mismatch, found.why) == ("step", "", None, "")  # fmt: skip

    def test_counts_size_mean_and_the_first(self):
        found = compare(np.uint8([[0, 5], [255, 7]]), np.uint8([[0, 2], [254, 7]]))
        assert not found.equal
        assert found.differences.dtype == np.int64
        assert found.differences.tolist() == [[0, -3], [-1, 0]]
        assert (found.size, found.mismatches, found.max_difference, found.mean_difference) == (4, 2, 3, 2.0)  # fmt: skip
        assert (found.direction, found.first_mismatch) == ("below", (0, 1))
        assert (found.expected, found.actual, found.output, found.codes) == ("exact", "ort", "y", "y")  # fmt: skip

    @pytest.mark.parametrize(
        ("actual", "direction"), [([2, 1], "above"), ([0, 1], "below"), ([2, 0], "both")]
    )
    def test_direction(self, actual, direction):
        assert compare(np.int8([1, 1]), np.int8(actual)).direction == direction

    @pytest.mark.parametrize(
        ("dtype", "low", "high"),
        [("int4", -8, 7), ("int8", -128, 127), ("uint8", 0, 255), ("uint16", 0, 65535),
         ("int32", -(2**31), 2**31 - 1), ("bool", 0, 1)],
    )  # fmt: skip
    def test_from_one_end_to_the_other(self, dtype, low, high):
        found = compare(tensor(dtype, [low]), tensor(dtype, [high]))
        assert found.differences.tolist() == [high - low]

    def test_what_does_not_fit_int64_ends_at_its_limits(self):
        ends = np.iinfo(np.int64)
        assert compare(np.int64([ends.min]), np.int64([ends.max])).max_difference == ends.max
        assert compare(np.uint64([2**64 - 1]), np.uint64([2**64 - 3])).differences.tolist() == [-2]

    def test_one_number_and_none(self):
        assert compare(np.asarray(np.int8(3)), np.asarray(np.int8(4))).first_mismatch == ()
        found = compare(np.zeros((0, 2), np.int8), np.zeros((0, 2), np.int8))
        assert found.equal
        assert found.size == 0

    @pytest.mark.parametrize("actual", [np.int8([1]), np.uint8([1, 2]), np.int8([[1, 2]])])
    def test_other_shapes_or_types(self, actual):
        found = compare(np.int8([1, 2]), actual)
        assert not found.equal
        assert found.size == -1
        assert found.why.startswith("ort returned ") and "exact has int8 of the shape [2]" in found.why  # fmt: skip

    def test_only_outputs_that_both_have(self):
        graph = Graph((), {}, (), ("y", "z"), {"": 21})
        one, both = {"y": np.int8([1])}, {"y": np.int8([1]), "z": np.int8([1])}
        assert len(compare_outputs(graph, EMPTY, ("a", one), ("b", both))) == 1
        assert len(compare_outputs(graph, EMPTY, ("a", both), ("b", both))) == 2


class TestUlps:
    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float8_e5m2"])
    def test_neighbours_are_one_apart(self, dtype):
        kind = tensor(dtype, 0).dtype
        bits = np.array([1, 2, 0x3C], f"uint{8 * kind.itemsize}")
        up, down = (bits + 1).view(kind), bits.view(kind)
        assert compare(down, up).differences.tolist() == [1, 1, 1]
        assert compare(down, up).unit == "ulp"
        assert compare(-down, -up).differences.tolist() == [-1, -1, -1]

    def test_through_zero(self):
        smallest = np.float32(1e-45)
        found = compare(f32([-smallest, 0.0, -0.0, -0.0]), f32([smallest, -0.0, 0.0, smallest]))
        assert found.differences.tolist() == [2, 0, 0, 1]

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
    def test_not_a_number_and_infinity(self, dtype):
        values = np.array([np.nan, np.nan, np.inf, -np.inf, 1], dtype)
        others = np.array([np.nan, 1, np.inf, np.inf, np.nan], dtype)
        found = compare(values, others)
        assert (found.differences != 0).tolist() == [False, True, False, True, True]
        assert compare(values, values).equal

    def test_a_float64_is_not_rounded_first(self):
        found = compare(np.float64([1.0]), np.float64([1.0 + 2**-40]))
        assert found.mismatches == 1

    def test_shows_the_values_themselves(self):
        found = compare(f32([1.5]), f32([2.5]))
        assert (found.expected_codes[0], found.actual_codes[0]) == (1.5, 2.5)


def dequantized(codes, scale, zero_point, **attributes):
    """A graph that ends in DequantizeLinear, its exact trace, and its output."""
    case = call("DequantizeLinear", {"x": codes, "x_scale": scale, "x_zero_point": zero_point}, **attributes)  # fmt: skip
    nodes = case.graph.nodes
    graph = Graph(nodes, dict(case.inputs), (), ("out",), case.graph.opset)
    known = trace(graph, {}, schemes()["exact"])
    return graph, known, known.outputs["out"]


class TestCodesBeforeDequantizeLinear:
    @pytest.mark.parametrize("scale", [0.1, 1 / 3, 2.0**-126, 1e-42, 7e30])
    @pytest.mark.parametrize("dtype", ["int4", "uint8", "int16"])
    def test_counted_in_steps(self, dtype, scale):
        graph, known, values = dequantized(tensor(dtype, [0, 3, 5]), f32(scale), tensor(dtype, 2))
        other = values.copy()
        other[1:] = [np.float32(-1 * np.float32(scale)), values[1]]
        (found,) = compare_outputs(graph, known, ("exact", {"out": values}), ("ort", {"out": other}))  # fmt: skip
        assert (found.unit, found.codes) == ("step", "x")
        assert found.differences.tolist() == [0, -2, -2]
        assert found.expected_codes.tolist() == [0, 3, 5]
        assert found.actual_codes.tolist() == [0, 1, 3]

    def test_of_channels_and_blocks(self):
        codes = tensor("uint8", [[1, 2, 3], [4, 5, 6]])
        for scale, zero_point, attributes in (
            (f32([0.1, 0.2, 0.3]), tensor("uint8", [0, 1, 2]), {}),
            (f32([0.1, 0.2]), tensor("uint8", [0, 1]), {"axis": 0}),
            (f32([[0.1, 0.2], [3, 4]]), tensor("uint8", [[0, 1], [2, 3]]), {"block_size": 2}),
        ):
            graph, known, values = dequantized(codes, scale, zero_point, **attributes)
            (found,) = compare_outputs(graph, known, ("a", {"out": values}), ("b", {"out": values}))
            assert found.unit == "step"
            assert found.expected_codes.tolist() == codes.tolist()

    def test_what_no_code_dequantizes_to_is_counted_in_ulps(self):
        graph, known, values = dequantized(tensor("uint8", [0, 3]), f32(0.1), tensor("uint8", 0))
        for other in ([0.0, 0.25], [0.0, 25.6], [0.0, np.nan], [0.0, np.inf]):
            (found,) = compare_outputs(graph, known, ("a", {"out": values}), ("b", {"out": f32(other)}))  # fmt: skip
            assert found.unit == "ulp"

    @pytest.mark.parametrize("scale", [0.0, np.nan, np.inf])
    def test_a_scale_that_keeps_no_code(self, scale):
        graph, known, values = dequantized(tensor("uint8", [0, 3]), f32(scale), tensor("uint8", 0))
        (found,) = compare_outputs(graph, known, ("a", {"out": values}), ("b", {"out": values}))
        assert found.equal
        assert found.unit == "ulp"

    def test_float16_of_either_rounding(self):
        # Every code: rounded once from the product, or to float32 first.
        codes = tensor("int16", np.arange(-400, 400))
        graph, known, once = dequantized(codes, np.asarray(0.0437, np.float16), tensor("int16", 0))
        case = call("DequantizeLinear", {"x": codes, "x_scale": np.asarray(0.0437, np.float16)})
        twice = traced(case, "ort_cpu").outputs["out"]
        (found,) = compare_outputs(graph, known, ("a", {"out": once}), ("b", {"out": twice}))
        assert (found.unit, found.equal) == ("step", True)

    def test_int32_is_no_code(self):
        graph, known, _ = dequantized(tensor("int32", [5]), f32(1), tensor("int32", 0))
        assert code_scale(graph, "out", known) is None

    def test_another_producer(self):
        graph = Graph((Node("Relu", ("x",), ("y",)),), {}, ("x",), ("y",), {"": 21})
        known = trace(graph, {"x": f32([1])}, schemes()["exact"])
        assert code_scale(graph, "y", known) is None
        assert code_scale(graph, "x", known) is None

    def test_a_scale_that_a_node_computes(self):
        nodes = (
            Node("DynamicQuantizeLinear", ("x",), ("q", "s", "z")),
            Node("DequantizeLinear", ("q", "s", "z"), ("y",)),
        )
        graph = Graph(nodes, {}, ("x",), ("y",), {"": 21})
        x = {"x": f32([-1, 0.5, 2])}
        exact, ort = (trace(graph, x, schemes()[n]) for n in ("exact", "ort_cpu"))
        (found,) = compare_outputs(graph, exact, ("a", exact.outputs), ("b", ort.outputs))
        assert found.size == 3


def test_code_scale_values():
    scale = CodeScale("q", "uint8", f32(0.5), np.asarray(3))
    assert scale.codes(f32([-1.5, 0, 126])).tolist() == [0, 3, 255]
    assert scale.codes(f32([-2])) is None
    assert scale.codes(f32([0.25])) is None
