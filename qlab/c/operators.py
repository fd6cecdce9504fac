"""Which operators are written in C, and how: the loops around what a scheme makes of single elements."""

from collections.abc import Callable
from typing import Any

import numpy as np

from qlab.c import (
    blocked_weights,
    casting,
    choosing,
    converting,
    moving,
    pools,
    resize,
    scaled_products,
    softmax,
)
from qlab.c.emission import Emission, Operand, indices, line, loops, position
from qlab.c.products import convolution, matrix_product
from qlab.errors import ExportError
from qlab.qtypes import bounds
from qlab.trace import Index

Writer = Callable[[Emission], list[str]]
"""Writes the body of a node's function."""


def elementwise(primitive: str) -> Writer:
    """An operator that is one primitive on each element, with broadcasting."""

    def write(e: Emission) -> list[str]:
        function = e.emit(primitive)
        shape = e.shape()
        out = e.output()
        operands, variables = flattened(function.operands, shape)
        if variables is not None:
            function = type(function)(function.name, function.kind, operands)
            shape = (int(np.prod(shape)),)
        else:
            variables = indices(shape)
        value = function.call(shape, variables)
        cast = "(float)" if out.kind == "float" and function.kind == "double" else ""
        body = f"{out.array}[{position(shape, shape, variables)}] = {cast}{value};"
        return loops(shape, variables, [body])

    return write


def in_formats(writer: Writer) -> Writer:
    """An operator that is written for float16, bfloat16 and float8 too."""

    def write(e: Emission) -> list[str]:
        e.formats = True
        return writer(e)

    return write


def flattened(
    operands: tuple[Operand, ...], shape: Index
) -> tuple[tuple[Operand, ...], list[str] | None]:
    """The operands with one axis only, and its variable; None where broadcasting needs all axes."""
    size = int(np.prod(shape))
    if not all(o.shape == shape or np.prod(o.shape, dtype=int) == 1 for o in operands):
        return operands, None
    flat = tuple(
        Operand(o.kind, o.name, o.array, (size,) if np.prod(o.shape, dtype=int) > 1 else ())
        for o in operands
    )
    return flat, ["0" if size == 1 else "i"]


def of_reals(expression: str) -> Writer:
    """Add or Mul of reals: ``expression`` over ``{0}`` and ``{1}``."""

    def write(e: Emission) -> list[str]:
        _only_reals(e, "A")
        a, b, shape, out = e.data("A"), e.data("B"), e.shape(), e.output()
        variables = indices(shape)
        real = e.file.real
        value = expression.format(
            f"({real}){a.at(shape, variables)}", f"({real}){b.at(shape, variables)}"
        )
        place = position(shape, shape, variables)
        cast = "(float)" if out.kind != real else ""
        return loops(shape, variables, [f"{out.array}[{place}] = {cast}({value});"])

    return write


def relu(e: Emission) -> list[str]:
    """max(0, X); NaN and -0.0 stay."""
    x, shape, out = e.data("X"), e.shape(), e.output()
    size = int(np.prod(shape))
    (x,), variables = flattened((x,), shape)
    assert variables is not None
    place = x.at((size,), variables)
    body = [
        line(x.kind, "X_i", place),
        f"{out.array}[{variables[0]}] = X_i < 0 ? 0 : X_i; /* max(0, X) */",
    ]
    return loops((size,), variables, body)


def clip(e: Emission) -> list[str]:
    """min(max(input, min), max); a limit that is absent limits to what is finite, of codes to what the type holds."""
    for name in ("min", "max"):
        if e.tensor(name) and e.graph.producer(e.tensor(name)) is not None:
            raise ExportError(f"Clip's {name} is computed by a node; in C it must be constant")
    x, shape, out = e.data("input"), e.shape(), e.output()
    (x,), variables = flattened((x,), shape)
    assert variables is not None
    kind, dtype = e.file.real, np.dtype(np.float32)
    ends: tuple[Any, Any] = (np.finfo(dtype).min, np.finfo(dtype).max)
    if x.kind not in ("float", "double"):
        dtype = e.trace.tensors[e.tensor("input")].dtype
        kind, ends = x.kind, bounds(dtype)
    limits = []
    for name, absent in zip(("min", "max"), ends, strict=True):
        given = e.trace.tensors[e.tensor(name)] if e.tensor(name) else None
        value = np.asarray(e.node.attributes.get(name, absent) if given is None else given, dtype)
        limits.append(e.file.scalar(name, value, kind))
    low, high = limits
    cast = "(float)" if out.kind != kind else ""
    body = [
        line(kind, "given", x.at(shape, variables)),
        line(kind, "above", f"given < {low} ? {low} : given", "max(input, min)"),
        f"{out.array}[{variables[0]}] = {cast}(above > {high} ? {high} : above); /* min(..., max) */",
    ]
    return loops((int(np.prod(shape)),), variables, body)


def dynamic_quantize(e: Emission) -> list[str]:
    """DynamicQuantizeLinear: the scheme writes the function on single elements and what stands before its loop."""
    lines, function = e.emit("dynamic_quantize")
    shape = e.shape()
    size = int(np.prod(shape))
    out = e.output()
    operands, variables = flattened(function.operands, shape)
    assert variables is not None
    value = type(function)(function.name, function.kind, operands).call(
        (size,), variables, scale="scale", zero_point="zero_point"
    )
    return [*lines, *loops((size,), variables, [f"{out.array}[{variables[0]}] = {value};"])]


def _only_reals(e: Emission, name: str) -> None:
    if e.data(name).kind not in ("float", "double"):
        raise ExportError(f"{e.node.op_type} of codes is not written in C; of reals it is")


_MICROSOFT = "com.microsoft"
OPERATORS: dict[tuple[str, str], Writer] = {
    (_MICROSOFT, "QLinearAdd"): elementwise("add"),
    (_MICROSOFT, "QLinearMul"): elementwise("multiply"),
    ("", "QuantizeLinear"): in_formats(elementwise("quantize")),
    (_MICROSOFT, "QuantizeLinear"): in_formats(elementwise("quantize")),
    ("", "DequantizeLinear"): in_formats(elementwise("dequantize")),
    (_MICROSOFT, "DequantizeLinear"): in_formats(elementwise("dequantize")),
    ("", "DynamicQuantizeLinear"): dynamic_quantize,
    ("", "QLinearMatMul"): matrix_product,
    ("", "MatMulInteger"): matrix_product,
    (_MICROSOFT, "QGemm"): matrix_product,
    ("", "QLinearConv"): convolution,
    (_MICROSOFT, "QLinearConv"): convolution,
    ("", "ConvInteger"): convolution,
    ("", "MatMul"): matrix_product,
    ("", "Gemm"): matrix_product,
    ("", "Conv"): convolution,
    (_MICROSOFT, "FusedGemm"): matrix_product,
    (_MICROSOFT, "FusedConv"): convolution,
    ("", "Add"): of_reals("{0} + {1}"),
    ("", "Mul"): of_reals("{0} * {1}"),
    ("", "Relu"): relu,
    ("", "LeakyRelu"): elementwise("evaluate"),
    ("", "Sigmoid"): elementwise("evaluate"),
    (_MICROSOFT, "QLinearLeakyRelu"): elementwise("lookup"),
    (_MICROSOFT, "QLinearSigmoid"): elementwise("lookup"),
    ("", "Clip"): clip,
    **pools.OPERATORS,
    **softmax.OPERATORS,
    **resize.OPERATORS,
    **moving.OPERATORS,
    **choosing.OPERATORS,
    **converting.OPERATORS,
    **casting.OPERATORS,
    **scaled_products.OPERATORS,
    **blocked_weights.OPERATORS,
}
DATA = {
    "QLinearConv": ("x", "w", "B"),
    "QGemm": ("A", "B", "C"),
    "Gemm": ("A", "B", "C"),
    "Conv": ("X", "W", "B"),
    "FusedGemm": ("A", "B", "C"),
    "FusedConv": ("X", "W", "B"),
    **moving.DATA,
    **choosing.DATA,
    **converting.DATA,
    **scaled_products.DATA,
    **blocked_weights.DATA,
}
"""Inputs that are data; of an operator that is not here, those named in ``_ANY``. All others are constants of the file."""
_ANY = ("A", "B", "a", "b", "x", "w", "X", "W", "input", "data")


def data_inputs(op_type: str, count: int = 0) -> set[str]:
    """The schema's names of an operator's inputs that are data; of repeated ones those of a call with ``count`` inputs."""
    return {n.format(i) for n in DATA.get(op_type, _ANY) for i in range(max(count, 1))}
