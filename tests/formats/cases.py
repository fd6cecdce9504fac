"""Tensors of every type with the values that get lost most easily, and the strategies that make more."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES, bounds, is_float

SHAPES = ((), (1,), (3,), (0,), (2, 0, 3), (0, 4), (2, 3), (1, 1, 1, 2))


def edge_values(name):
    """The values at the edges of a type: ends, zeros, denormals, infinities, NaNs with bits of their own."""
    dtype = DTYPES[name]
    if name == "bool":
        return np.array([True, False])
    if not is_float(dtype):
        low, high = bounds(dtype)
        return np.array([low, high, 0, 1, high // 3], object).astype(dtype)
    width = 8 * dtype.itemsize
    patterns = [
        0,
        1,
        1 << (width - 1),
        (1 << (width - 1)) | 1,
        (1 << width) - 1,
        (1 << (width - 1)) - 1,
    ]
    patterns += [0x3A << (width - 8), (0x3A << (width - 8)) | 5]
    return np.array(patterns, f"uint{width}").view(dtype)


def identity(value, **texts):
    """A case with one tensor, fed and constant."""
    nodes = (Node("Identity", ("x",), ("y",)), Node("Identity", ("c",), ("z",)))
    graph = Graph(nodes, {"c": value}, ("x",), ("y", "z"), {"": 21, "com.microsoft": 1})
    return Case(graph, {"x": value}, expected={"y": value}, **texts)


def same(a: Case, b: Case) -> bool:
    """Bit for bit the same case."""
    tensors = [({**c.graph.constants, **c.inputs}, c.expected) for c in (a, b)]
    return all(
        one.keys() == other.keys()
        and all(
            (one[k].dtype, one[k].shape, one[k].tobytes())
            == (other[k].dtype, other[k].shape, other[k].tobytes())
            for k in one
        )
        for one, other in zip(*tensors, strict=True)
    ) and (a.graph.nodes, a.graph.opset, a.graph.outputs) == (
        b.graph.nodes,
        b.graph.opset,
        b.graph.outputs,
    )


@st.composite
def tensors(draw):
    """Any bits of any type in any small shape."""
    name = draw(st.sampled_from(sorted(DTYPES)))
    dtype = DTYPES[name]
    shape = draw(st.sampled_from(SHAPES))
    size = int(np.prod(shape))
    if name == "bool":
        return draw(npst.arrays(np.bool_, shape))
    if not is_float(dtype):
        low, high = bounds(dtype)
        values = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
        return np.array(values, object).astype(dtype).reshape(shape)
    width = 8 * dtype.itemsize
    values = draw(st.lists(st.integers(0, 2**width - 1), min_size=size, max_size=size))
    return np.array(values, f"uint{width}").view(dtype).reshape(shape)
