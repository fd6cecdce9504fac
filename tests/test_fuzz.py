"""Odd graphs: whatever can be stored is traced, or refused in one line (QlabError); nothing else is raised."""

import warnings

import numpy as np
import pytest

from qlab.compare import compare_outputs
from qlab.errors import QlabError
from qlab.explain import part
from qlab.graph import Graph, Node
from qlab.ops import operators
from qlab.qtypes import DTYPES, bounds, is_float, is_integer
from qlab.schemes import DEFAULT, schemes
from qlab.schemes.ort_cpu import CPUS, OrtCpu
from qlab.trace import trace

ALL = [*(schemes()[n] for n in DEFAULT if n != "ort_cpu"), *(OrtCpu(c) for c in CPUS)]
SHAPES = [(), (1,), (2,), (3,), (0,), (1, 1), (2, 3), (3, 2), (3, 3), (0, 3), (2, 0), (1, 2, 3), (2, 2, 3), (1, 1, 4),
          (1, 2, 3, 3), (2, 2, 2, 2), (2, 1, 2, 2), (1, 2, 0, 3), (1, 1, 2, 2, 2)]  # fmt: skip
REALS = [0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 2.5, 1e-45, -1e-45, 1e-30, 3e38, -3e38, np.inf, -np.inf, np.nan]  # fmt: skip
ATTRIBUTES = {
    "axis": [-9, -2, -1, 0, 1, 2, 5, "a", 1.5],
    "block_size": [-1, 0, 1, 2, 3, 100],
    "output_dtype": [0, 1, 2, 3, 10, 16, 17, 21, 22, 99, "a"],
    "precision": [0, 1, 10, 16, 99],
    "saturate": [0, 1],
    "group": [-1, 0, 1, 2, 3],
    "pads": [(), (1,), (1, 1), (0, 1, 1, 0), (-1, 0), (-1, 0, 0, 0), (10**9, 0), "a"],
    "strides": [(), (1,), (2, 1), (0, 1), (-1,), (10**6, 10**6)],
    "dilations": [(1,), (2, 1), (0,), (1, -1), (10**9,)],
    "kernel_shape": [(1,), (2, 2), (3, 3), ()],
    "auto_pad": ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "SAME", 3],
    "channels_last": [0, 1],
    "transA": [0, 1],
    "transB": [0, 1],
    "alpha": [0.0, 1.0, 0.5, float("nan"), 1e38, "a"],
    "beta": [0.0, 1.0, 0.5, float("inf")],
    "perm": [(), (0,), (1, 0), (0, 2, 1), (0, 0), (0, 3, 1, 2), (-1, 0), "ab"],
    "allowzero": [0, 1],
    "min": [0.0, float("nan"), -1.0],
    "max": [6.0, -6.0],
    "activation": ["", "Relu", "Clip", "Tanh"],
    "activation_params": [(), (0.0, 6.0), (1.0,)],
}
SCHEMA_NAMES = {
    "QuantizeLinear": ("axis", "block_size", "output_dtype", "precision", "saturate"),
    "DequantizeLinear": ("axis", "block_size", "output_dtype"),
    "Flatten": ("axis",),
    "Transpose": ("perm",),
    "Reshape": ("allowzero",),
    "Clip": ("min", "max"),
    "Gemm": ("transA", "transB", "alpha", "beta"),
    "FusedGemm": ("transA", "transB", "alpha", "beta", "activation", "activation_params"),
    "QGemm": ("transA", "transB", "alpha"),
}
CONVOLUTION = ("group", "pads", "strides", "dilations", "kernel_shape", "auto_pad")
OPAQUE = (("", "Tanh"), ("", "Erf"), ("", "Sum"), ("", "TopK"), ("", "NoSuch"), ("com.microsoft", "QEmbedLayerNormalization"))  # fmt: skip


class Odd:
    """Random graphs, mostly of the right form and wrong in one place or another."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def chance(self, probability):
        return self.rng.random() < probability

    def tensor(self, dtype, shape):
        kind = DTYPES[dtype]
        if is_integer(dtype):
            low, high = bounds(dtype)
            middle = self.rng.integers(-9, 10, shape)
            values = [[low, high, 0, 1][i % 4] for i in range(int(np.prod(shape)))]
            codes = np.array(values, object).reshape(shape) if self.chance(0.3) else middle
            codes = np.clip(codes, low, high)
            return np.asarray(codes).astype(np.uint64 if dtype == "uint64" else np.int64).astype(kind)  # fmt: skip
        odd = self.chance(0.4)
        values = self.rng.choice(REALS, shape) if odd else self.rng.normal(0, 3, shape)
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(kind)

    def dtype(self, op_type, name):
        """One that suits the input, mostly."""
        if self.chance(0.04):
            return self.pick(list(DTYPES))
        if name.lower().endswith("scale"):
            return self.pick(["float32"] * 5 + ["float16"])
        if name == "shape":
            return "int64"
        if name == "bias" or (name == "B" and op_type == "Conv"):
            return "float32"
        if (name, op_type) in (("C", "QGemm"), ("B", "QLinearConv")):
            return "int32"
        if name.endswith("zero_point") and self.kinds == ["float32"]:
            return self.pick(["uint8", "int8", "int16", "uint4"])
        return self.pick(self.kinds)

    def shape(self, op_type, name, base):
        if self.chance(0.05):
            return self.pick(SHAPES)
        if name.lower().endswith(("scale", "zero_point")):
            return self.pick([(), (), (), (), (), (), (1,), (2,), (3,), (2, 3)])
        if name in ("min", "max"):
            return ()
        if name == "shape":
            return (2,)
        if "Conv" in op_type and name in "wWB":
            return (
                (2,)
                if name == "B"
                else self.pick([(2, base[1], *[2] * (len(base) - 2)), (2, 1, 2, 2)])
            )
        if name in ("bias", "C"):
            return self.pick([(3,), (1,), ()])
        return base

    def graph(self):
        """One to three nodes in a row."""
        nodes, constants, inputs, last = [], {}, {}, ""
        for position in range(self.pick([1, 1, 1, 2, 3])):
            domain, op_type = self.pick([*operators(), *operators(), *OPAQUE])
            known = operators().get((domain, op_type))
            names = known.inputs if known else ("x",)
            self.kinds = self.pick([["uint8"], ["int8"], ["uint8", "int8"], ["float32"], ["float32"], ["int32"]])  # fmt: skip
            if op_type in ("Conv", "MatMul", "Gemm", "Relu", "Clip", "QuantizeLinear", "FusedConv", "FusedGemm"):  # fmt: skip
                self.kinds = ["float32"]
            elif op_type.startswith(("QLinear", "QGemm", "MatMulInteger", "ConvInteger", "Deq")):
                self.kinds = self.pick([["uint8"], ["int8"], ["uint8", "int8"]])
            base = self.pick(SHAPES)
            if "Conv" in op_type:
                base = self.pick([(1, 2, 3, 3), (2, 2, 2, 2), (1, 2, 4), (1, 3, 2, 2)])
            elif "Gemm" in op_type or "MatMul" in op_type:
                base = self.pick([(3, 3), (3, 3), (2, 3, 3), (1, 1), (2, 2), (0, 0)])
            reads = []
            for number, name in enumerate(names):
                if number == 0 and last and self.chance(0.7):
                    reads.append(last)
                    continue
                if self.chance(0.04) or name == "Z":
                    reads.append(self.pick(["", "nothing"]) if self.chance(0.5) else "")
                    continue
                tensor = f"{name}{position}"
                value = self.tensor(self.dtype(op_type, name), self.shape(op_type, name, base))
                if name == "shape" and self.chance(0.7):
                    value = np.array(self.pick([(-1,), (0, -1), (3, 3), (0, 0), (1, -1)]))
                (constants if self.chance(0.5) else inputs)[tensor] = value
                reads.append(tensor)
            if self.chance(0.06):
                reads = reads[: int(self.rng.integers(len(reads) + 1))]
            allowed = SCHEMA_NAMES.get(op_type, CONVOLUTION if "Conv" in op_type else ())
            allowed += ("channels_last",) if op_type == "QLinearConv" and domain else ()
            allowed += ("activation", "activation_params") if op_type == "FusedConv" else ()
            attributes = {n: self.pick(ATTRIBUTES[n]) for n in allowed if self.chance(0.15)}
            reads = [*reads, "x"] if self.chance(0.02) else reads
            count = 3 if op_type == "DynamicQuantizeLinear" else 1
            outputs = tuple(f"t{position}{i}" for i in range(count))
            if self.chance(0.03):
                outputs = self.pick([(), ("",), (*outputs, "more")])
            nodes.append(Node(op_type, tuple(reads), outputs, domain, attributes))
            last = outputs[0] if outputs else ""
        ends = tuple(o for n in nodes for o in n.outputs if o) or ("nothing",)
        opset = {"": self.pick([10, 13, 21, 23]), "com.microsoft": 1}
        return Graph(tuple(nodes), constants, tuple(inputs), ends, opset), inputs


def follow(graph, inputs, known):
    """Trace with each scheme and look at an element of each tensor; the traces."""
    found = {}
    for scheme in known:
        try:
            traced = trace(graph, inputs, scheme)
        except QlabError as error:
            assert "\n" not in str(error)
            assert str(error)
            continue
        for name, value in traced.outputs.items():
            assert isinstance(value, np.ndarray)
            assert value.dtype.name in DTYPES
            assert value.shape == traced.tensors[name].shape
            made = traced.node_of(name)
            if made is not None and value.size:
                last = tuple(n - 1 for n in value.shape)
                for index in {last, (0,) * value.ndim}:
                    traced.element(name, index)
        found[scheme.name, scheme.cpu] = traced
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_graph_is_traced_or_refused_in_one_line(seed):
    odd = Odd(seed)
    traced = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(1_500):
            if number >= 300 and traced >= 150:
                break
            graph, inputs = odd.graph()
            # All schemes for some, two for the others.
            known = ALL if number % 8 == 0 else [ALL[0], ALL[3 + number % 4]]
            found = follow(graph, inputs, known)
            traced += len(found)
            exact = found.get(("exact", ""))
            for other in found.values():
                if exact is None:
                    continue
                compare_outputs(graph, exact, ("exact", exact.outputs), ("other", other.outputs))
                part(exact, other)
    assert traced >= 150  # else nothing was tried


def test_the_schemes_refuse_the_same_graphs():
    """exact, float64 and float32 differ in numbers, not in what they can do."""
    odd = Odd(99)
    for _ in range(150):
        graph, inputs = odd.graph()
        found = follow(graph, inputs, ALL[:3])
        assert len(found) in (0, 3), graph
        shapes = [{n: v.shape for n, v in t.outputs.items()} for t in found.values()]
        assert shapes[1:] == shapes[:-1]


def test_floats_are_floats():
    assert all(is_float(d) for d in ("float16", "float8_e5m2"))
