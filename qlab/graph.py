"""A small ONNX graph as plain values: what a case holds, and what an engine says it really ran."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import onnx
from onnx import helper, numpy_helper

from qlab.errors import CaseError
from qlab.qtypes import Array

AttributeValue = Any  # int, float, str, tuple of those, or numpy array (a tensor attribute)


@dataclasses.dataclass(frozen=True)
class Node:
    """One operator call. An empty input name is an absent optional input."""

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str = ""
    attributes: Mapping[str, AttributeValue] = dataclasses.field(default_factory=dict)
    name: str = ""

    def input(self, position: int) -> str:
        """The name of an input; "" where the node has no such input or leaves it out."""
        return self.inputs[position] if position < len(self.inputs) else ""

    @property
    def qualified_name(self) -> str:
        """``QLinearAdd`` of com.microsoft is ``com.microsoft.QLinearAdd``; ai.onnx adds nothing."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type


@dataclasses.dataclass(frozen=True)
class Graph:
    """Nodes in topological order, constants (initializers), names of inputs and outputs, opset.

    Attributes:
        opset: domain → version; ``""`` is ai.onnx.
    """

    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: Mapping[str, int]

    def producer(self, tensor: str) -> Node | None:
        """The node that computes ``tensor``; None for a constant or an input."""
        return next((node for node in self.nodes if tensor in node.outputs), None)

    def consumers(self, tensor: str) -> tuple[Node, ...]:
        """The nodes that read ``tensor``, in order."""
        return tuple(node for node in self.nodes if tensor in node.inputs)


def to_model(
    graph: Graph, inputs: Mapping[str, Array], outputs: Mapping[str, Array] | None = None
) -> onnx.ModelProto:
    """The graph as a ModelProto.

    Args:
        inputs: one array for each graph input; dtype and shape become its declared type.
        outputs: what an output is known to be: its dtype and shape are declared. An engine infers the others.

    The IR version is the oldest that the opset allows, but at least 7, so that old releases read it.
    """
    opsets = [helper.make_opsetid(domain, version) for domain, version in graph.opset.items()]
    nodes = [_node(node) for node in graph.nodes]
    known = outputs or {}
    declared = [
        _declared(name, known[name]) if name in known else helper.make_empty_tensor_value_info(name)
        for name in graph.outputs
    ]
    proto = helper.make_graph(
        nodes,
        "case",
        [_declared(name, inputs[name]) for name in graph.inputs],
        declared,
        [numpy_helper.from_array(value, name) for name, value in graph.constants.items()],
    )
    model = helper.make_model(proto, opset_imports=opsets, producer_name="qlab")
    model.ir_version = max(7, oldest_ir_version(graph.opset.get("", 1)))
    return model


def _declared(name: str, value: Array) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, value.shape)


def _node(node: Node) -> onnx.NodeProto:
    made = helper.make_node(
        node.op_type,
        list(node.inputs),
        list(node.outputs),
        name=node.name or None,
        domain=node.domain or None,
    )
    # make_node would take an attribute that is called "name" or "domain" for its own argument.
    made.attribute.extend(_attribute_proto(k, v) for k, v in sorted(node.attributes.items()))
    return made


def _attribute_proto(key: str, value: AttributeValue) -> onnx.AttributeProto:
    if hasattr(value, "dtype"):
        return helper.make_attribute(key, numpy_helper.from_array(value))
    if value == ():
        return helper.make_attribute(key, value, attr_type=onnx.AttributeProto.INTS)
    return helper.make_attribute(key, value)


def oldest_ir_version(opset: int) -> int:
    """The oldest IR version whose ONNX release knows this version of ai.onnx."""
    try:
        return int(helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))
    except ValueError:
        raise CaseError(
            f"opset {opset} of ai.onnx is not known to onnx {onnx.__version__}; "
            f"it knows 1 to {onnx.defs.onnx_opset_version()}"
        ) from None


def from_model(model: onnx.ModelProto) -> Graph:
    """Read a ModelProto; Constant nodes become constants, everything else stays as it is.

    Raises:
        CaseError: a tensor lies in another file, an output is listed twice, or an attribute cannot be read.
    """
    constants = {item.name: read_tensor(item) for item in model.graph.initializer}
    outputs = [o.name for o in model.graph.output]
    if twice := next((name for name in outputs if outputs.count(name) > 1), ""):
        raise CaseError(f"the output {twice!r} is listed twice")
    nodes = []
    for item in model.graph.node:
        attributes = {a.name: _attribute(a) for a in item.attribute}
        if (
            item.op_type == "Constant"
            and not item.domain
            and hasattr(attributes.get("value"), "dtype")
        ):
            constants[item.output[0]] = attributes["value"]
            continue
        domain = "" if item.domain == "ai.onnx" else item.domain
        nodes.append(
            Node(item.op_type, tuple(item.input), tuple(item.output), domain, attributes, item.name)
        )
    return Graph(
        nodes=tuple(nodes),
        constants=constants,
        inputs=tuple(i.name for i in model.graph.input if i.name not in constants),
        outputs=tuple(outputs),
        opset={"" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import},
    )


def read_tensor(proto: onnx.TensorProto) -> Array:
    """The array of a TensorProto. Never opens a file: raises CaseError where the data lie in one."""
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        raise CaseError(
            f"{proto.name or 'a tensor'} lies in another file; save the model with the data inside"
        )
    return numpy_helper.to_array(proto)


def _attribute(attribute: onnx.AttributeProto) -> AttributeValue:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, onnx.TensorProto):
        return read_tensor(value)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return tuple(item.decode("utf-8", "replace") for item in value)
    if isinstance(value, (int, float, str)):
        return value
    if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
        return tuple(value)
    raise CaseError(
        f"attribute {attribute.name}: graphs and sparse tensors as attributes cannot be read"
    )


def same_graph(a: Graph, b: Graph) -> bool:
    """True where two graphs compute the same by form: nodes, names and constants; node names do not count."""
    if a is b:
        return True
    same_nodes = len(a.nodes) == len(b.nodes) and all(
        (n.op_type, n.domain, n.inputs, n.outputs, dict(n.attributes))
        == (m.op_type, m.domain, m.inputs, m.outputs, dict(m.attributes))
        for n, m in zip(a.nodes, b.nodes, strict=True)
    )
    return (
        same_nodes
        and a.outputs == b.outputs
        and a.constants.keys() == b.constants.keys()
        and all(_identical(v, b.constants[k]) for k, v in a.constants.items())
    )


def same_outputs(a: Mapping[str, Array], b: Mapping[str, Array]) -> bool:
    """True where both have the same outputs, bit for bit."""
    return a.keys() == b.keys() and all(_identical(v, b[k]) for k, v in a.items())


def _identical(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
