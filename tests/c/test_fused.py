"""com.microsoft FusedGemm and FusedConv as C, in every scheme: the activation after the sum."""

import numpy as np
import pytest

from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from tests.c.compiled import needs_compiler, none_differs
from tests.c.test_rational import group

pytestmark = needs_compiler
F32 = np.float32
MICROSOFT = "com.microsoft"
FLOATS = (scheme("float32"), scheme("float64"), OrtCpu("avx2"), OrtCpu("arm64"))
ACTIVATIONS = {
    "Relu": {"activation": "Relu"},
    "Clip": {"activation": "Clip", "activation_params": [-0.25, 0.5]},
    "Clip to one": {"activation": "Clip", "activation_params": [0.5, -0.25]},
    "none": {},
}
RNG = np.random.default_rng(0)


def real(*shape):
    return RNG.normal(size=shape).astype(F32)


def fused(op_type, inputs, **attributes):
    node = Node(op_type, tuple(inputs), ("Y",), MICROSOFT, attributes)
    first, *rest = inputs
    graph = Graph((node,), {n: inputs[n] for n in rest}, (first,), ("Y",), {"": 21, MICROSOFT: 1})
    return Case(graph, {first: inputs[first]})


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("arithmetic", FLOATS, ids=lambda s: f"{s.name} {s.cpu}")
def test_of_floats(name, arithmetic):
    gemm = {"A": real(5, 7), "B": real(7, 9), "C": real(9)}
    none_differs(fused("FusedGemm", gemm, alpha=0.5, **ACTIVATIONS[name]), arithmetic)
    conv = {"X": real(1, 4, 6, 6), "W": real(3, 4, 3, 3), "B": real(3)}
    none_differs(fused("FusedConv", conv, pads=[1, 0, 1, 0], **ACTIVATIONS[name]), arithmetic)


@pytest.mark.parametrize("last", ["", "y"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_in_exact(name, last):
    tensors = {"W": real(3, 128), "C": real(3), "last": last, "y": F32(0.01)}
    gemm = Node("FusedGemm", ("X", "W", "C"), ("Y",), MICROSOFT, {"transB": 1, **ACTIVATIONS[name]})
    none_differs(group(gemm, **tensors), scheme("exact"))
    rows = Node("Reshape", ("X", "shape"), ("R",))
    conv = Node("FusedConv", ("R", "W", "C"), ("Y",), MICROSOFT, {"pads": [1, 0], **ACTIVATIONS[name]})  # fmt: skip
    tensors |= {"W": real(3, 4, 3), "shape": np.array([2, 4, 32])}
    none_differs(group(rows, conv, **tensors), scheme("exact"))
