"""Examples: a case of each operator to start from, one family a file, discovered. `build` makes them.

A few codes, scales that are no powers of two, zero points that are not 0.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.ops import operators
from qlab.qtypes import DTYPES, Array, bounds
from qlab.registry import discover

EIGHT_BITS = ("uint8", "int8")
Tensors = Mapping[str, Array]


@dataclasses.dataclass(frozen=True)
class Example:
    """How to make a case of one operator.

    Attributes:
        op_type: its name. make: (dtype, weight_dtype) → case.
        dtypes: of its activations. weight_dtypes: of its second operand; empty where that has the same type.
    """

    op_type: str
    make: Callable[[str, str], Case]
    dtypes: tuple[str, ...] = EIGHT_BITS
    weight_dtypes: tuple[str, ...] = ()


class Examples(tuple[Example, ...]):
    """Those of one family; a module of this package has one such value."""


@functools.cache
def examples() -> dict[str, Example]:
    """op_type → example, in the order of the names."""
    found: list[Examples] = discover(sys.modules[__name__], Examples)
    return {e.op_type: e for e in sorted((e for f in found for e in f), key=lambda e: e.op_type)}


def one_node(
    op_type: str,
    inputs: Tensors,
    constants: Tensors,
    *,
    domain: str = "com.microsoft",
    outputs: Sequence[str] = ("y",),
    onnx_opset: int = 13,
    **attributes: Any,
) -> Case:
    """A graph of one node whose tensors have the schema's names; ``inputs`` are fed, ``constants`` are not."""
    operator = operators()[domain, op_type]
    tensors = {**inputs, **constants}
    names = [n if n in tensors else "" for n in operator.inputs]
    while names and not names[-1]:
        names.pop()
    versions = {"": onnx_opset} | ({domain: 1} if domain else {})
    node = Node(op_type, tuple(names), tuple(outputs), domain, attributes)
    graph = Graph((node,), dict(constants), tuple(inputs), tuple(outputs), versions)
    return Case(graph, dict(inputs))


def scale(value: float) -> Array:
    """A scale of one entry, shape ()."""
    return np.asarray(value, np.float32)


def zero_point(dtype: str, above_middle: int = 0) -> Array:
    """The middle of the type's range, or a few codes above; shape ()."""
    low, high = bounds(dtype)
    return np.asarray((low + high + 1) // 2 + above_middle, np.int64).astype(DTYPES[dtype])


def codes(dtype: str, *steps: Any) -> Array:
    """Codes that many steps above the middle of the type's range."""
    low, high = bounds(dtype)
    middle = (low + high + 1) // 2
    return np.asarray(np.clip(np.asarray(steps) + middle, low, high).astype(DTYPES[dtype]))
