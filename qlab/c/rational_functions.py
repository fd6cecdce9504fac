"""Functions without rational values, in exact: Sigmoid behind a DequantizeLinear of 8 bits, as a table of its codes."""

import dataclasses
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from qlab.arithmetic import to_float
from qlab.c.dequantized import reals, source, value_of
from qlab.c.emission import Emission, Operand, loops
from qlab.c.wholes import Rational
from qlab.errors import ExportError
from qlab.graph import Node
from qlab.ops import Call, operators
from qlab.qtypes import Array, dtype_name

BITS = 64
"""Of a value behind the binary point, where no code becomes another one by them: that is seen when the file is written."""


def sigmoid(e: Emission) -> list[str]:
    """The value of each code that X may have been made of.

    Raises:
        ExportError: X is made of other codes, or something else than QuantizeLinear reads the result.
    """
    q = source(e, "X")
    evaluated = e.file.scheme.evaluate(reals(e, q), e.primitive("evaluate")["function"], "", "")
    values, tensor = value_of(evaluated), e.node.outputs[0]
    if e.kind(tensor) == "whole":
        near = [round(v * 2**BITS) for v in values]
        rounded = np.array([Fraction(v, 2**BITS) for v in near], object)
        for node in e.graph.consumers(tensor):
            _require_same_codes(e, node, values, rounded)
        e.file.rationals[tensor] = Rational(2**BITS, 2**BITS)
        e.file.need(e.file.rationals[tensor])
        table = e.file.names.new("sigmoid_of_code")
        e.file.count(values)
        e.file.big.append((table, tuple(near)))
        e.file.whole_arrays.add(table)
        said = f"numerator over 2^{BITS}: with these bits each code is rounded as with more"
    else:
        table = e.file.array("sigmoid_of_code", to_float(values, np.float32), "float")
        said = "rounded once"
    codes = _codes(e)
    size, low = int(np.prod(codes.shape)), int(q.codes[0])
    index = f"{codes.array}[i]" + (f" - ({low})" if low else "")
    body = f"{e.output(name='Y').array}[i] = {table}[{index}]; /* 1 / (1 + exp(-X)), {said} */"
    return loops((size,), ("i",), [body])


def _codes(e: Emission) -> Operand:
    """The codes that X was made of, as the node's function reads them."""
    made_by = e.graph.producer(e.tensor("X"))
    assert made_by is not None  # source() has seen it
    tensor = made_by.input(0)
    value, kind = e.trace.tensors[tensor], e.kind(tensor)
    if tensor in e.graph.constants:
        return Operand(kind, "x", e.file.array("x", value, kind), value.shape)
    e.pointers["x"] = (kind, tensor)
    return Operand(kind, "x", "x", value.shape)


def _require_same_codes(e: Emission, node: Node, values: Array, rounded: Array) -> None:
    """Raises ExportError where a node is no QuantizeLinear of one constant scale, or rounds one value otherwise."""
    constant = all(not n or e.graph.producer(n) is None for n in node.inputs[1:])
    if node.op_type != "QuantizeLinear" or not constant or e.trace.tensors[node.input(1)].size != 1:
        raise ExportError(
            f"{node.qualified_name} reads a Sigmoid, whose value no rational number is: in exact C only a QuantizeLinear "
            "with one constant scale may; take float64"
        )
    wanted, found = (_quantized(e, node, v) for v in (values, rounded))
    if not np.array_equal(wanted, found):
        raise ExportError(
            f"a Sigmoid lies within 2^-{BITS} of the middle between two codes; take float64"
        )


def _quantized(e: Emission, node: Node, values: Array) -> Array:
    operator = operators()[node.domain, node.op_type]
    tensors = {**e.trace.tensors, node.inputs[0]: values}
    dtypes = {name: dtype_name(v.dtype) for name, v in tensors.items() if v.dtype != object}
    dtypes[node.inputs[0]] = "float32"
    flat = dataclasses.replace(node, attributes={**node.attributes, "axis": 0})
    call = Call(flat, operator, e.graph, tensors, dtypes, e.file.scheme)
    return next(s.value for s in operator.steps(call, e.file.scheme) if s.tensor)


WRITERS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {("", "Sigmoid"): sigmoid}
