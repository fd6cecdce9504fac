"""Any other operator: one step by the ONNX reference evaluator, labelled so."""

from fractions import Fraction

import numpy as np
import pytest

from qlab.errors import TraceError
from qlab.graph import Graph, Node
from qlab.schemes import schemes
from qlab.trace import trace
from tests.ops.calls import SCHEMES, f32

X = f32([[0, 1, 2]])


def run(*nodes, name="exact", outputs=("y",), x=X):
    graph = Graph(nodes, {}, ("x",), outputs, {"": 21, "com.microsoft": 1})
    return trace(graph, {"x": x}, schemes()[name])


@pytest.mark.parametrize("name", SCHEMES)
def test_tanh_is_one_step_and_says_so(name):
    (node,) = run(Node("Tanh", ("x",), ("y",)), name=name).nodes
    assert node.opaque
    (step,) = node.steps
    assert (step.name, step.formula, step.tensor) == ("output", "Tanh(x)", "y")
    assert step.note == "one opaque step: computed by the ONNX reference evaluator, not by this scheme"  # fmt: skip
    np.testing.assert_allclose(step.value, np.tanh(X), rtol=1e-6)


def test_known_operators_are_not_opaque():
    assert not run(Node("Relu", ("x",), ("y",))).nodes[0].opaque


def test_between_exact_nodes_its_inputs_are_rounded_once():
    double = Node("Add", ("x", "x"), ("d",))
    found = run(double, Node("Neg", ("d",), ("n",)), Node("Relu", ("n",), ("y",)))
    assert found.tensors["d"][0, 1] == Fraction(2)
    assert found.tensors["n"].dtype == np.float32
    assert found.outputs["y"].tolist() == [[0, 0, 0]]


def test_more_outputs_and_absent_ones():
    node = Node("TopK", ("x", "k"), ("", "y"), attributes={"axis": 1})
    graph = Graph((node,), {"k": np.array([1])}, ("x",), ("y",), {"": 21})
    assert trace(graph, {"x": X}, schemes()["exact"]).outputs["y"].tolist() == [[2]]


def test_absent_inputs():
    node = Node("CumSum", ("x", "axis"), ("y",))
    graph = Graph((node,), {"axis": np.array(1)}, ("x",), ("y",), {"": 21})
    found = trace(graph, {"x": X}, schemes()["exact"])
    assert found.outputs["y"].tolist() == [[0, 1, 3]]
    assert found.nodes[0].steps[0].formula == "CumSum(x, axis)"


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (Node("NoSuch", ("x",), ("y",)), "NoSuch has no arithmetic here and is not an ONNX operator"),
        (Node("FusedMatMul", ("x",), ("y",), "com.microsoft"), "is not an ONNX operator"),
        (Node("Tanh", ("z",), ("y",)), "it reads 'z', which nothing defines"),
        (Node("CumSum", ("x", "x"), ("y",)), "CumSum cannot be evaluated: "),
        (Node("SequenceConstruct", ("x",), ("y",)), "not a tensor"),
    ],
)  # fmt: skip
def test_what_it_cannot_evaluate(node, words):
    with pytest.raises(TraceError, match=words) as caught:
        run(node)
    assert "\n" not in str(caught.value)


def test_text_is_not_traced():
    with pytest.raises(TraceError, match="x is of .*, which is no number"):
        run(Node("Identity", ("x",), ("y",)), x=np.array(["a"], object))
