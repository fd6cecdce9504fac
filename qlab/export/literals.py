"""Values and graphs as Python source that needs numpy and onnx only, old releases of them too."""

import keyword
import math
import textwrap
from collections.abc import Mapping

import numpy as np

from qlab.errors import ExportError
from qlab.graph import Graph, Node
from qlab.qtypes import Array, bounds, dtype_name, is_float, is_integer

PLAIN = (
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("bool", "float16", "float32", "float64"),
)
PACKED = ("int4", "uint4")
NOT_ATTRIBUTES = ("op_type", "inputs", "outputs", "name", "doc_string", "domain", "overload")
LARGEST = 20_000  # elements of a literal


def text(value: str) -> str:
    """A string literal: one line, whatever the string holds."""
    plain = value.isascii() and value.isprintable() and not {'"', "\\"} & set(value)
    return f'"{value}"' if plain else ascii(value)


def comment(value: str, width: int = 96) -> str:
    """Lines of comment; nothing in the text can end the comment."""
    words = " ".join(value.split())
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    return "\n".join(f"# {line}" for line in textwrap.wrap(printable, width)) or "#"


def array(value: Array) -> str:
    """A numpy array of a plain type as an expression.

    Raises:
        ExportError: a type that numpy alone does not have, or too many elements.
    """
    name = dtype_name(value.dtype)
    if value.size > LARGEST:
        raise ExportError(
            f"a tensor of {value.size:,} elements is too long for a script; at most {LARGEST:,}"
        )
    if name not in PLAIN:
        raise ExportError(f"numpy has no {name}: such a tensor cannot be a literal in a script")
    if is_float(value.dtype) and not _reads_back(value):
        width = value.dtype.itemsize
        raw = np.ascontiguousarray(value).view(f"uint{8 * width}")
        listed = _nested([hex(int(v)) for v in raw.reshape(-1)], value.shape)
        return f'np.array({listed}, "uint{8 * width}").view("{name}"){_shape(value)}'
    one = _real if is_float(value.dtype) else str
    listed = _nested([one(v) for v in value.reshape(-1)], value.shape)
    return f'np.array({listed}, "{name}"){_shape(value)}'


def tensor(name: str, value: Array) -> str:
    """A TensorProto as an expression: by numpy where it has the type, else from its stored bytes."""
    kind = dtype_name(value.dtype)
    if kind in PLAIN:
        return f"numpy_helper.from_array({array(value)}, {text(name)})"
    if value.size > LARGEST:
        raise ExportError(
            f"{name} has {value.size:,} elements, too long for a script; at most {LARGEST:,}"
        )
    raw = _packed(value) if kind in PACKED else np.ascontiguousarray(value).tobytes()
    enum = kind.upper().replace("_", "")
    shown = f"  # {kind} {np.asarray(value).reshape(-1)[:8].tolist()}" if kind in PACKED else ""
    expression = f"helper.make_tensor({text(name)}, TensorProto.{enum}, {list(value.shape)}, {raw!r}, raw=True)"
    return expression + shown.replace("\n", " ")


def node(item: Node) -> str:
    """A helper.make_node call. Raises ExportError for an attribute whose name is no keyword argument."""
    parts = [text(item.op_type), _names(item.inputs), _names(item.outputs)]
    if item.domain:
        parts.append(f"domain={text(item.domain)}")
    for key, value in item.attributes.items():
        if not key.isidentifier() or keyword.iskeyword(key) or key in NOT_ATTRIBUTES:
            raise ExportError(f"an attribute with the name {key!r} cannot be written into a script")
        parts.append(f"{key}={_attribute(key, value)}")
    return f"helper.make_node({', '.join(parts)})"


def model(
    graph: Graph, inputs: Mapping[str, Array], output_types: Mapping[str, str], ir_version: int
) -> str:
    """The body of a function that returns the ModelProto; each line indented by four spaces."""
    nodes = "".join(f"        {node(item)},\n" for item in graph.nodes)
    constants = "".join(
        f"        {_line(tensor(name, value))}\n" for name, value in graph.constants.items()
    )
    declared = "".join(
        f"        helper.make_tensor_value_info({text(name)}, TensorProto.{_enum(inputs[name])}, {list(inputs[name].shape)}),\n"
        for name in graph.inputs
    )
    outputs = "".join(
        f"        helper.make_tensor_value_info({text(name)}, TensorProto.{output_types[name]}, None),\n"
        if name in output_types
        else f"        helper.make_empty_tensor_value_info({text(name)}),\n"
        for name in graph.outputs
    )
    opsets = ", ".join(f"helper.make_opsetid({text(d)}, {v})" for d, v in graph.opset.items())
    return (
        f"    nodes = [\n{nodes}    ]\n"
        f"    constants = [\n{constants}    ]\n"
        f"    inputs = [\n{declared}    ]\n"
        f"    outputs = [\n{outputs}    ]\n"
        '    graph = helper.make_graph(nodes, "case", inputs, outputs, constants)\n'
        f"    model = helper.make_model(graph, opset_imports=[{opsets}])\n"
        f"    model.ir_version = {ir_version}\n"
        "    return model\n"
    )


def _enum(value: Array) -> str:
    names = {"float32": "FLOAT", "float64": "DOUBLE"}
    kind = dtype_name(value.dtype)
    return names.get(kind, kind.upper().replace("_", ""))


def enum(value: Array) -> str:
    """ONNX's name of an array's type, ``FLOAT``, ``INT8``."""
    return _enum(value)


def _line(expression: str) -> str:
    """An element of a list: the comma before a comment."""
    code, mark, remark = (
        expression.partition("  # int4 ")
        if "  # int4 " in expression
        else expression.partition("  # uint4 ")
    )
    return f"{code},{mark}{remark}"


def _names(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(text(name) for name in names) + "]"


def _attribute(name: str, value: object) -> str:
    if isinstance(value, np.ndarray):
        return tensor(name, value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_attribute(name, entry) for entry in value) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _real(value: np.generic) -> str:
    number = float(value)
    if not math.isfinite(number):
        return f"np.{'nan' if number != number else 'inf' if number > 0 else '-inf'}".replace(
            "np.-inf", "-np.inf"
        )
    shortest = str(value)
    return shortest if "." in shortest or "e" in shortest else f"{shortest}.0"


def _reads_back(value: Array) -> bool:
    """False for a NaN with bits of its own, which no decimal gives."""
    nan = np.isnan(value)
    usual = np.full(value.shape, np.nan, value.dtype)
    return bool(
        np.array_equal(
            value[nan].view(f"uint{8 * value.dtype.itemsize}"),
            usual[nan].view(f"uint{8 * value.dtype.itemsize}"),
        )
    )


def _nested(flat: list[str], shape: tuple[int, ...]) -> str:
    if not flat:
        return "[]"
    level = flat
    for size in reversed(shape):
        level = ["[" + ", ".join(level[i : i + size]) + "]" for i in range(0, len(level), size)]
    return level[0]


def _shape(value: Array) -> str:
    return "" if value.size else f".reshape({list(value.shape)})"


def _packed(value: Array) -> bytes:
    """Two 4-bit codes a byte, the first in the low half, as TensorProto stores them."""
    low, _ = bounds(value.dtype)
    assert is_integer(value.dtype) and low in (-8, 0)
    codes = [int(v) & 15 for v in value.reshape(-1)]
    codes += [0] * (len(codes) % 2)
    return bytes(a | b << 4 for a, b in zip(codes[::2], codes[1::2], strict=True))
