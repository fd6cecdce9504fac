"""Graph: to a ModelProto and back, bit for bit, and comparing two."""

import dataclasses

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from qlab.errors import CaseError
from qlab.graph import (
    Graph,
    Node,
    from_model,
    oldest_ir_version,
    same_graph,
    same_outputs,
    to_model,
)
from qlab.qtypes import DTYPES


def graph(*nodes, constants=None, inputs=("x",), outputs=("y",), opset=None):
    return Graph(nodes, constants or {}, inputs, outputs, opset or {"": 21})


X = {"x": np.float32([1, 2])}
RELU = Node("Relu", ("x",), ("y",))


class TestRoundTrip:
    def test_nodes_attributes_and_opsets(self):
        node = Node(
            "QLinearConv",
            ("x", "", "w"),
            ("y", ""),
            "com.microsoft",
            {
                "group": 2,
                "alpha": 0.5,
                "auto_pad": "SAME_UPPER",
                "pads": (1, 2),
                "params": (0.25, 6.0),
            },
            "the node",
        )
        given = graph(node, opset={"": 13, "com.microsoft": 1})
        assert from_model(to_model(given, X)) == given

    @pytest.mark.parametrize("name", DTYPES)
    def test_constants_of_every_type_bit_for_bit(self, name):
        rng = np.random.default_rng(0)
        values = rng.integers(0, 2 if name == "bool" else 7, (2, 3)).astype(DTYPES[name])
        given = graph(RELU, constants={"c": values, "empty": values[:0], "one": values[0, 0:1].reshape(())})  # fmt: skip
        back = from_model(to_model(given, X)).constants
        for key, value in given.constants.items():
            assert (back[key].dtype, back[key].shape) == (value.dtype, value.shape)
            assert back[key].tobytes() == value.tobytes()

    def test_odd_floats_keep_their_bits(self):
        bits = np.uint32([0x80000000, 1, 0x7F800000, 0x7FC00001, 0xFFC12345, 0x3DCCCCCD])
        given = graph(RELU, constants={"c": bits.view(np.float32)})
        back = from_model(to_model(given, X)).constants["c"]
        np.testing.assert_array_equal(back.view(np.uint32), bits)

    def test_a_tensor_attribute(self):
        given = graph(Node("X", ("x",), ("y",), attributes={"value": np.int8([1, 2])}))
        back = from_model(to_model(given, X)).nodes[0].attributes["value"]
        assert back.dtype == np.int8 and back.tolist() == [1, 2]


class TestFromModel:
    def model(self, *nodes):
        info = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
        proto = helper.make_graph(nodes, "g", [info], [helper.make_empty_tensor_value_info("y")])
        return helper.make_model(proto, opset_imports=[helper.make_opsetid("ai.onnx", 13)])

    def test_a_constant_node_becomes_a_constant(self):
        value = numpy_helper.from_array(np.float32([3]))
        model = self.model(
            helper.make_node("Constant", [], ["c"], value=value),
            helper.make_node("Add", ["x", "c"], ["y"]),
        )
        read = from_model(model)
        assert [n.op_type for n in read.nodes] == ["Add"]
        assert read.constants["c"].tolist() == [3]

    def test_a_constant_node_of_another_kind_stays(self):
        model = self.model(helper.make_node("Constant", [], ["y"], value_float=1.5))
        assert from_model(model).nodes[0].attributes == {"value_float": 1.5}

    def test_ai_onnx_has_no_name(self):
        model = self.model(helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx"))
        read = from_model(model)
        assert read.nodes[0].qualified_name == "Relu"
        assert read.opset == {"": 13}

    def test_an_initializer_that_is_an_input_too_is_a_constant(self):
        model = self.model(helper.make_node("Relu", ["x"], ["y"]))
        model.graph.initializer.append(numpy_helper.from_array(X["x"], "x"))
        assert from_model(model).inputs == ()

    def test_strings(self):
        model = self.model(helper.make_node("X", ["x"], ["y"], names=["a", "b"], one="c"))
        assert from_model(model).nodes[0].attributes == {"names": ("a", "b"), "one": "c"}

    def test_a_graph_attribute_cannot_be_read(self):
        body = helper.make_graph([], "body", [], [])
        model = self.model(helper.make_node("If", ["x"], ["y"], then_branch=body))
        with pytest.raises(CaseError, match=r"^attribute then_branch: graphs"):
            from_model(model)


class TestToModel:
    def test_an_absent_optional_output_type_is_left_to_the_engine(self):
        (output,) = to_model(graph(RELU), X).graph.output
        assert not output.type.HasField("tensor_type")

    @pytest.mark.parametrize(("opset", "ir_version"), [(1, 7), (13, 7), (15, 8), (19, 9), (21, 10)])
    def test_the_ir_version_is_the_oldest_that_the_opset_allows(self, opset, ir_version):
        assert to_model(graph(RELU, opset={"": opset}), X).ir_version == ir_version

    def test_an_unknown_opset(self):
        with pytest.raises(CaseError, match=r"^opset 999 of ai.onnx is not known to onnx .* knows 1 to \d+$"):  # fmt: skip
            oldest_ir_version(999)


class TestLookUp:
    def test_producer_and_consumers(self):
        last = Node("Add", ("y", "y"), ("z",))
        two = graph(RELU, last)
        assert two.producer("y") is RELU
        assert two.producer("x") is None
        assert two.consumers("y") == (last,)
        assert two.consumers("z") == ()

    def test_qualified_name(self):
        assert Node("QGemm", (), (), "com.microsoft").qualified_name == "com.microsoft.QGemm"


class TestSame:
    def test_the_names_of_nodes_do_not_count(self):
        named = dataclasses.replace(RELU, name="other")
        assert same_graph(graph(RELU), graph(named))

    @pytest.mark.parametrize(
        "other",
        [
            graph(Node("Relu", ("x",), ("y",), "com.microsoft")),
            graph(Node("Relu", ("x",), ("y",), attributes={"a": 1})),
            graph(Node("Relu", ("x",), ("z",))),
            graph(RELU, outputs=("x",)),
            graph(RELU, RELU),
            graph(RELU, constants={"c": np.float32([1])}),
        ],
    )
    def test_what_counts(self, other):
        assert not same_graph(graph(RELU), other)

    def test_constants_are_compared_by_their_bits(self):
        def holding(value):
            return graph(RELU, constants={"c": value})

        nan = np.float32([np.nan])
        assert same_graph(holding(nan), holding(nan.copy()))
        assert not same_graph(holding(np.float32([0.0])), holding(np.float32([-0.0])))
        assert not same_graph(holding(np.int8([1])), holding(np.uint8([1])))

    def test_outputs(self):
        y = ml_dtypes.bfloat16(1)
        assert same_outputs({"y": np.asarray(y)}, {"y": np.asarray(y)})
        assert not same_outputs({"y": np.int8([1])}, {"y": np.int8([[1]])})
        assert not same_outputs({"y": np.int8([1])}, {"z": np.int8([1])})
