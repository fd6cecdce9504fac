"""A case as fields to edit, and an edit of a field applied to the case."""

import ast
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from qlab.case import Case
from qlab.errors import CaseError
from qlab.graph import Node
from qlab.notation import plain, show
from qlab.qtypes import Array, dtype_name, is_float
from qlab.trace import Index
from qlab.views.fields import describe_stored, parse_value, step_value, with_entry
from qlab.views.markup import index_text
from qlab.views.palette import ROLES
from qlab.views.roles import tensor_role

INLINE = 64  # entries of a tensor that is shown as fields; a larger one is opened on demand
INLINE_COLUMNS = 8
WRAPPED = 16  # columns of a long vector as a table


@dataclasses.dataclass(frozen=True)
class Rejected:
    """What was typed into a field and could not be taken, with the reason."""

    typed: str
    message: str


def tensor_field(tensor: str, flat: int) -> str:
    """The name of one entry's field."""
    return f"{tensor}[{flat}]"


def attribute_field(node: int, name: str) -> str:
    """The name of an attribute's field."""
    return f"{node}.{name}"


def form(case: Case, rejected: Mapping[str, Rejected]) -> dict[str, Any]:
    """Every input, constant and attribute as plain data for the editor, in the order of the nodes.

    Args:
        rejected: field name → what was typed there in vain; shown again with its message.
    """
    groups, listed = [], set[str]()
    for number, node in enumerate(case.graph.nodes):
        names = [n for n in node.inputs if n and n not in listed and case.tensor(n) is not None]
        listed.update(names)
        groups.append(
            {
                "title": node.op_type,
                "outputs": ", ".join(name for name in node.outputs if name),
                "tensors": [_tensor(case, name, rejected) for name in names],
                "attributes": _attributes(number, node, case.graph.opset, rejected),
            }
        )
    rest = [n for n in (*case.graph.inputs, *case.graph.constants) if n not in listed]
    if rest:
        tensors = [_tensor(case, name, rejected) for name in dict.fromkeys(rest)]
        groups.append(
            {"title": "not read by a node", "outputs": "", "tensors": tensors, "attributes": []}
        )
    return {"groups": [g for g in groups if g["tensors"] or g["attributes"]]}


def _tensor(case: Case, name: str, rejected: Mapping[str, Rejected]) -> dict[str, Any]:
    value = case.tensor(name)
    assert value is not None
    rows, columns = grid_shape(value.shape)
    inline = value.size <= INLINE and (columns <= INLINE_COLUMNS or rows == 1)
    role = tensor_role(case.graph, name, {name: value})
    return {
        "name": name,
        "role": role.replace("_", "-"),
        "sign": ROLES[role].sign,
        "dtype": dtype_name(value.dtype),
        "shape": list(value.shape),
        "fed": name in case.inputs,
        "float": is_float(value.dtype),
        "columns": columns,
        "rows": [row_label(value.shape, row) for row in range(rows)]
        if rows > 1 and value.ndim > 1
        else [],
        "cells": [_cell(name, value, flat, rejected) for flat in range(value.size)]
        if inline
        else None,
        "summary": "" if inline else summary(value),
        "errors": errors_of(name, value, rejected),
    }


def _cell(name: str, value: Array, flat: int, rejected: Mapping[str, Rejected]) -> dict[str, str]:
    entry = value.reshape(-1)[flat]
    index = np.unravel_index(flat, value.shape) if value.shape else ()
    wrong = rejected.get(tensor_field(name, flat))
    cell = {
        "text": wrong.typed if wrong else plain(entry),
        "label": index_text(name, tuple(int(i) for i in index)),
        "stored": describe_stored(entry),
    }
    return {**cell, "wrong": "1"} if wrong else cell


def errors_of(name: str, value: Array, rejected: Mapping[str, Rejected]) -> list[str]:
    """``A[0,3]: 500 is outside int8: −128 to 127`` for every entry of a tensor that was typed in vain."""
    found = []
    for field, wrong in rejected.items():
        tensor, _, flat = field.removesuffix("]").rpartition("[")
        if tensor == name and flat.isdigit() and int(flat) < max(value.size, 1):
            index = np.unravel_index(int(flat), value.shape) if value.shape else ()
            found.append(f"{index_text(name, tuple(int(i) for i in index))}: {wrong.message}")
    return found


def grid_shape(shape: Index) -> tuple[int, int]:
    """Rows and columns in which a tensor is shown: the last axis longer than 1 makes the columns."""
    long = [n for n in shape if n != 1]
    if not long:
        return 1, 1
    size = int(np.prod(shape, dtype=np.int64))
    return (size // long[-1], long[-1]) if size else (0, max(long[-1], 1))


def row_label(shape: Index, row: int) -> str:
    """``[0,1]``: the leading indices of a row, without the axes of length 1."""
    long = [n for n in shape if n != 1][:-1]
    if not long:
        return ""
    index = np.unravel_index(row, long)
    return f"[{','.join(str(int(i)) for i in index)}]"


def summary(value: Array) -> str:
    """``4,096 entries from −128 to 127``."""
    if not value.size:
        return "no entries"
    flat = value.reshape(-1)
    comparable = flat.astype(np.float64)
    low, high = flat[int(np.nanargmin(comparable))], flat[int(np.nanargmax(comparable))]
    return f"{value.size:,} entries from {show(low)} to {show(high)}"


def _attributes(
    number: int, node: Node, opset: Mapping[str, int], rejected: Mapping[str, Rejected]
) -> list[dict[str, Any]]:
    found = []
    for name in dict.fromkeys((*node.attributes, *schema_attributes(node, opset))):
        value = node.attributes.get(name)
        wrong = rejected.get(attribute_field(number, name))
        found.append(
            {
                "node": number,
                "name": name,
                "text": wrong.typed if wrong else attribute_text(value),
                "error": wrong.message if wrong else "",
            }
        )
    return found


def schema_attributes(node: Node, opset: Mapping[str, int]) -> tuple[str, ...]:
    """The attributes that the ONNX schema allows; none for an operator that the onnx package does not know."""
    try:
        schema = onnx.defs.get_schema(node.op_type, opset.get(node.domain, 1), node.domain)
    except onnx.defs.SchemaError:
        return ()
    return tuple(sorted(schema.attributes))


def attribute_text(value: Any) -> str:
    """An attribute as one types it; empty where it is absent."""
    if value is None:
        return ""
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    if isinstance(value, tuple):
        return "[" + ", ".join(str(entry) for entry in value) + "]"
    return str(value)


def parse_attribute(typed: str, node: Node, name: str, opset: Mapping[str, int]) -> Any:
    """The value of an attribute; None for an empty text: the attribute is left out.

    Raises:
        CaseError: not of the attribute's type.
    """
    words = typed.strip()
    if not words:
        return None
    kind = _attribute_kind(node, name, opset)
    if kind == "STRING":
        return words
    try:
        value = ast.literal_eval(words.replace("−", "-"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = words
    wanted: Any = {"INT": int, "FLOAT": (int, float)}.get(kind)
    if wanted is not None:
        if isinstance(value, wanted) and not isinstance(value, bool):
            return float(value) if kind == "FLOAT" else value
        raise CaseError(
            f"{words!r} is not {'an integer' if kind == 'INT' else 'a number'}, which {name} is"
        )
    entry: Any = {"INTS": int, "FLOATS": (int, float), "STRINGS": str}.get(kind)
    if entry is not None:
        listed = tuple(value) if isinstance(value, (list, tuple)) else (value,)
        if all(isinstance(v, entry) and not isinstance(v, bool) for v in listed):
            return tuple(float(v) for v in listed) if kind == "FLOATS" else listed
        raise CaseError(f"{words!r} is not a list like [1, 1], which {name} is")
    if isinstance(value, list):
        return tuple(value)
    return value


def _attribute_kind(node: Node, name: str, opset: Mapping[str, int]) -> str:
    """INT, FLOAT, STRING, INTS …: from the present value, else from the schema; "" where neither knows."""
    present = node.attributes.get(name)
    if present is not None and not isinstance(present, np.ndarray):
        first = present[0] if isinstance(present, tuple) and present else present
        single = {int: "INT", float: "FLOAT", str: "STRING"}.get(type(first), "")
        return f"{single}S" if isinstance(present, tuple) and single else single
    try:
        schema = onnx.defs.get_schema(node.op_type, opset.get(node.domain, 1), node.domain)
        return str(schema.attributes[name].type).rsplit(".", 1)[-1]
    except (onnx.defs.SchemaError, KeyError):
        return ""


def with_text(case: Case, tensor: str, flat: int, typed: str) -> Case:
    """The case with one entry of a tensor as typed. Raises CaseError."""
    value = case.tensor(tensor)
    if value is None or not 0 <= flat < value.size:
        raise CaseError(f"{tensor!r} has no entry {flat}; it may have been changed meanwhile")
    entry = parse_value(typed, value.dtype)
    index = tuple(int(i) for i in np.unravel_index(flat, value.shape)) if value.shape else ()
    if value[index].tobytes() == entry.tobytes():
        return case
    return case.with_tensor(tensor, with_entry(value, index, entry))


def with_step(case: Case, tensor: str, flat: int, count: int) -> Case:
    """The case with one entry moved by codes, or by units in the last place."""
    value = case.tensor(tensor)
    if value is None or not 0 <= flat < value.size:
        raise CaseError(f"{tensor!r} has no entry {flat}; it may have been changed meanwhile")
    index = tuple(int(i) for i in np.unravel_index(flat, value.shape)) if value.shape else ()
    return case.with_tensor(tensor, with_entry(value, index, step_value(value[index], count)))


def with_attribute(case: Case, node: int, name: str, typed: str) -> Case:
    """The case with one attribute as typed; an empty text removes it. Raises CaseError."""
    if not 0 <= node < len(case.graph.nodes):
        raise CaseError(f"there is no node {node}; the graph has {len(case.graph.nodes)}")
    old = case.graph.nodes[node]
    value = parse_attribute(typed, old, name, case.graph.opset)
    attributes = {k: v for k, v in old.attributes.items() if k != name}
    if value is not None:
        attributes[name] = value
    if attributes == dict(old.attributes):
        return case
    nodes = list(case.graph.nodes)
    nodes[node] = dataclasses.replace(old, attributes=attributes)
    graph = dataclasses.replace(case.graph, nodes=tuple(nodes))
    return dataclasses.replace(case, graph=graph, expected={})


def table_shape(shape: Index) -> tuple[int, int]:
    """Rows and columns of a large tensor's table: as a grid; a long vector is wrapped."""
    rows, columns = grid_shape(shape)
    return (-(-columns // WRAPPED), WRAPPED) if rows == 1 and columns > WRAPPED else (rows, columns)


def table_texts(value: Array) -> tuple[list[str], list[list[str]]]:
    """Row labels and texts of a large tensor for a table of text cells; "" after the end of a wrapped vector."""
    rows, columns = table_shape(value.shape)
    flat = [plain(entry) for entry in value.reshape(-1)]
    flat += [""] * (rows * columns - len(flat))
    wrapped = (rows, columns) != grid_shape(value.shape)
    labels = [
        f"[{row * columns}]" if wrapped else row_label(value.shape, row) or str(row)
        for row in range(rows)
    ]
    return labels, [flat[row * columns : (row + 1) * columns] for row in range(rows)]
