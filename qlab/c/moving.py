"""Operators that move values and change none.

Where each element comes from is found by the operator itself: it is given the number of each element as its value.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from qlab.c.emission import Emission, Operand
from qlab.c.indexing import assignments, box, flat
from qlab.errors import ExportError
from qlab.ops import Call
from qlab.qtypes import Array, dtype_name

FILL = 0  # the number of what Pad adds; elements are counted from 1 on


def sources(e: Emission, data: Sequence[str], fill: str = "") -> dict[str, Array]:
    """For each output the number of the element that each of its elements is, int64.

    Args:
        data: the schema's names of inputs whose elements are numbered, one after the other, from 1 on.
        fill: that of an input which is added; its number is 0.

    Raises:
        ExportError: another input is not constant, so that it is not known now what goes where.
    """
    names = e.operator.names(len(e.node.inputs))
    tensors = numbered(e, data)
    for name, tensor in zip(names, e.node.inputs, strict=False):
        if tensor and name == fill:
            tensors[name] = np.asarray(FILL)
        elif tensor and name not in data:
            tensors[name] = constant(e, name)
    given = tuple(n if tensor else "" for n, tensor in zip(names, e.node.inputs, strict=False))
    attributes = {k: v for k, v in e.node.attributes.items() if k != "value" or not fill}
    node = dataclasses.replace(e.node, inputs=given, attributes=attributes)
    dtypes = {name: dtype_name(value.dtype) for name, value in tensors.items()}
    call = Call(node, e.operator, e.graph, tensors, dtypes, e.file.scheme)
    return {s.tensor: s.value for s in e.operator.steps(call, e.file.scheme) if s.tensor}


def numbered(e: Emission, data: Sequence[str]) -> dict[str, Array]:
    """The number of each element of some inputs, from 1 on, one input after the other; by the schema's names."""
    found, first = {}, FILL + 1
    for name in data:
        found[name] = first + flat(e.trace.tensors[e.tensor(name)].shape)
        first += found[name].size
    return found


def constant(e: Emission, name: str) -> Array:
    """An input that says what goes where. Raises ExportError where it is not known when the file is written."""
    tensor = e.tensor(name)
    if tensor not in e.graph.constants:
        raise ExportError(
            f"{e.node.op_type}'s {name} is computed in the graph; in C it must be constant"
        )
    return e.graph.constants[tensor]


def read(e: Emission, m: Array, data: Sequence[str]) -> list[tuple[str, Array, Array]]:
    """Of each input that is read: its name, where its elements go to (flat) and which they are (flat)."""
    found = []
    place = flat(m.shape)
    for name, own in numbered(e, data).items():
        inside = np.isin(m, own)
        if inside.any():
            part = box(inside) if m.ndim else None
            chosen = inside if part is None else part
            found.append((name, place[chosen], m[chosen] - int(own.min())))
    return found


def moves(*data: str, fill: str = "") -> Callable[[Emission], list[str]]:
    """An operator that moves values of the inputs ``data``; none: of all of them."""

    def write(e: Emission) -> list[str]:
        names = data or e.operator.names(len(e.node.inputs))
        several = len([t for t in e.node.outputs if t]) > 1
        lines = []
        made = sources(e, names, fill)
        for number, tensor in enumerate(e.node.outputs):
            if not tensor or not made[tensor].size:
                continue
            m = made[tensor]
            out = e.output(number, f"y{number}" if several else "")
            if (m == FILL).any():
                lines += _filled(e, out, names[0], fill)
            for name, place, source in read(e, m, names):
                lines += moved(e, out, e.data(name), place, source)
        return lines

    return write


def moved(e: Emission, out: Operand, x: Operand, place: Array, source: Array) -> list[str]:
    """``out[place] = x[source]``, of flat indices."""
    return assignments(e.file, out, place, [(x, source)], lambda v: narrowed(out, x.kind, v))


def narrowed(out: Operand, kind: str, value: str) -> str:
    """A value of the C type ``kind`` as the output has it: an output of the graph is a float."""
    return f"(float){value}" if out.kind == "float" and kind == "double" else value


def _filled(e: Emission, out: Operand, data: str, fill: str) -> list[str]:
    """Pad: the constant everywhere; the tensor's own entries are written over it."""
    given = e.trace.tensors[e.tensor(data)]
    kind = e.kind(e.tensor(data))
    opset = e.graph.opset.get("", 1)
    tensor = e.tensor(fill) if opset >= 11 else ""
    place = flat(out.shape)
    if tensor and tensor not in e.graph.constants:
        return moved(e, out, e.data(fill), place, np.zeros_like(place))
    value = np.asarray(e.node.attributes.get("value", 0.0) if opset < 11 else 0.0, np.float32)
    value = e.graph.constants[tensor] if tensor else value.astype(given.dtype)
    name = e.file.scalar("constant_value", value, kind)
    return assignments(e.file, out, place, [], lambda: narrowed(out, kind, name))


MOVED: dict[str, tuple[str, ...]] = {
    "Identity": ("input",),
    "Reshape": ("data",),
    "Flatten": ("input",),
    "Transpose": ("data",),
    "Squeeze": ("data",),
    "Unsqueeze": ("data",),
    "Expand": ("input",),
    "Tile": ("input",),
    "Slice": ("data",),
    "Gather": ("data",),
    "Split": ("input",),
    "Concat": (),
    "Pad": ("data",),
}
"""Operator → the schema's names of the inputs whose values it moves; none: all of them."""
FILLS = {"Pad": "constant_value"}
"""Operator → that of the input which it adds."""
OPERATORS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {
    ("", name): moves(*data, fill=FILLS.get(name, "")) for name, data in MOVED.items()
}
DATA = {"Concat": ("input{}",)}
