"""The ONNX reference evaluator: what it runs, converts, refuses, and its words."""

import warnings

import ml_dtypes
import numpy as np
import onnx
import pytest

from qlab.case import Case
from qlab.engines.onnx_reference import opaque, run_reference
from qlab.engines.results import RunStatus
from qlab.errors import TraceError
from qlab.graph import Graph, Node


def f32(value):
    return np.array(value, np.float32)


def case(*nodes, inputs, constants=None, opset=21, outputs=("y",)):
    domains = {"": opset, "com.microsoft": 1}
    return Case(Graph(nodes, constants or {}, tuple(inputs), outputs, domains), inputs)


def quantize(x, opset=21, scale=2.0, zero_point=None):
    zero_point = np.array(1, np.int8) if zero_point is None else zero_point
    node = Node("QuantizeLinear", ("x", "s", "z"), ("y",))
    return case(
        node, inputs={"x": f32(x)}, constants={"s": f32(scale), "z": zero_point}, opset=opset
    )


def test_ok():
    run = run_reference(quantize([1, 3, 9]))
    assert (run.engine, run.version) == ("onnx_reference", onnx.__version__)
    assert (run.status, run.message, run.notes) == (RunStatus.OK, "", ())
    assert run.outputs["y"].tolist() == [1, 3, 5]
    assert run.outputs["y"].dtype == np.int8
    assert run.graph is None
    assert run.config.level == ""


@pytest.mark.parametrize("opset", [10, 13])
def test_the_opset_is_converted_where_it_has_no_kernel(opset):
    run = run_reference(quantize([1, 3, 9], opset))
    assert run.outputs["y"].tolist() == [1, 3, 5]
    assert run.notes == (f"opset converted {opset} → 21",)


def test_other_operators_are_not_converted():
    run = run_reference(case(Node("Relu", ("x",), ("y",)), inputs={"x": f32([-1, 1])}, opset=13))
    assert run.outputs["y"].tolist() == [0, 1]
    assert run.notes == ()


def test_int4():
    run = run_reference(quantize([1, 9, -50], zero_point=np.array(1, ml_dtypes.int4)))
    assert run.outputs["y"].dtype == ml_dtypes.int4
    assert run.outputs["y"].astype(int).tolist() == [1, 5, -8]


@pytest.mark.parametrize(
    ("node", "name"),
    [
        (Node("QLinearAdd", ("x",), ("y",), "com.microsoft"), "com.microsoft.QLinearAdd"),
        (Node("Foo", ("x",), ("y",)), "Foo"),
    ],
)
def test_foreign_operators_are_rejected(node, name):
    run = run_reference(case(node, inputs={"x": f32(1)}))
    assert run.status is RunStatus.REJECTED
    assert run.message == f"cannot run this: {name} is not an ONNX operator"


def test_failed():
    node = Node("Reshape", ("x", "shape"), ("y",))
    run = run_reference(case(node, inputs={"x": f32([1, 2, 3]), "shape": np.array([2, 2])}))
    assert run.status is RunStatus.FAILED
    assert run.message == "cannot reshape array of size 3 into shape (2,2)"


def test_what_is_no_tensor():
    run = run_reference(case(Node("SequenceConstruct", ("x",), ("y",)), inputs={"x": f32([1])}))
    assert (run.status, run.message) == (RunStatus.FAILED, "the output is a list, not a tensor")


@pytest.mark.parametrize(
    ("large", "message"),
    [
        (
            case(
                Node("Expand", ("x", "n"), ("y",)),
                inputs={"x": f32([1])},
                constants={"n": np.array([1 << 40])},
            ),
            "cannot run this: y has 1,099,511,627,776 elements; at most 4,000,000 are evaluated",
        ),
        (
            case(
                Node("MatMul", ("x", "w"), ("y",)),
                inputs={"x": np.zeros((1000, 500), np.float32)},
                constants={"w": np.zeros((500, 1000), np.float32)},
            ),
            (
                "cannot run this: MatMul y needs 500,000,000 products; "
                "at most 200,000,000 are evaluated"
            ),
        ),
        (
            case(
                Node("Conv", ("x", "w"), ("y",)),
                inputs={"x": np.zeros((2, 64, 64, 64), np.float32)},
                constants={"w": np.zeros((64, 64, 3, 3), np.float32)},
            ),
            "cannot run this: Conv y needs 283,410,432 products; at most 200,000,000 are evaluated",
        ),
    ],
)
def test_long_work_is_refused(large, message):
    run = run_reference(large)
    assert (run.status, run.message) == (RunStatus.REJECTED, message)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, 1e-45])
def test_odd_scales_give_no_warning_and_no_exception(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = run_reference(quantize([0, 1, np.nan, np.inf, -3e38], scale=scale))
    assert run.status is RunStatus.OK
    assert run.outputs["y"].shape == (5,)


@pytest.mark.parametrize("shape", [(), (0, 3)])
def test_shapes_are_kept(shape):
    run = run_reference(case(Node("Neg", ("x",), ("y",)), inputs={"x": np.ones(shape, np.float32)}))
    assert run.outputs["y"].shape == shape


class TestOpaque:
    """One node for the tracer."""

    def test_several_outputs(self):
        node = Node("Split", ("x",), ("y", "z"), attributes={"num_outputs": 2})
        y, z = opaque(node, [np.arange(4, dtype=np.int8)], {"": 18})
        assert (y.tolist(), z.tolist()) == ([0, 1], [2, 3])

    def test_an_absent_input_and_an_absent_output(self):
        node = Node("Clip", ("x", "", "high"), ("y",))
        assert opaque(node, [f32([1, 3]), None, f32(2)], {"": 13})[0].tolist() == [1, 2]

    def test_a_tensor_read_twice(self):
        node = Node("Mul", ("x", "x"), ("y",))
        assert opaque(node, [f32([3]), f32([3])], {"": 13})[0].tolist() == [9]

    def test_quantize_linear_of_an_old_opset(self):
        node = Node("QuantizeLinear", ("x", "s"), ("y",))
        assert opaque(node, [f32([3, 9]), f32(2)], {"": 13})[0].tolist() == [2, 4]

    @pytest.mark.parametrize(
        ("node", "arrays", "message"),
        [
            (
                Node("QLinearSoftmax", ("x",), ("y",), "com.microsoft"),
                [f32([1])],
                "^com.microsoft.QLinearSoftmax has no arithmetic here and is not an ONNX operator$",
            ),
            (
                Node("MatMul", ("x", "w"), ("y",)),
                [f32([[1, 2]]), f32([[1, 2]])],
                "^MatMul cannot be evaluated: .+$",
            ),
            (Node("Relu", ("x",), ("y",)), [None], "^Relu cannot be evaluated: .+$"),
        ],
    )
    def test_one_line_where_it_cannot(self, node, arrays, message):
        with pytest.raises(TraceError, match=message) as error:
            opaque(node, arrays, {"": 13})
        assert "\n" not in str(error.value)

    def test_an_unknown_opset(self):
        with pytest.raises(TraceError, match="opset 99 of ai.onnx is not known"):
            opaque(Node("Relu", ("x",), ("y",)), [f32(1)], {"": 99})
