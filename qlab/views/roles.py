"""What a tensor is for the operators that use it, whatever its name."""

from collections.abc import Mapping

from qlab.graph import Graph
from qlab.ops import operators
from qlab.qtypes import Array, is_float
from qlab.views.palette import role_of


def tensor_role(graph: Graph, name: str, tensors: Mapping[str, Array]) -> str:
    """Key of the palette's ROLES: by the schema's name of the input that reads the tensor, else by its own name."""
    for node in graph.consumers(name):
        operator = operators().get((node.domain, node.op_type))
        position = node.inputs.index(name)
        names = operator.names(len(node.inputs)) if operator is not None else ()
        if position < len(names):
            role = role_of(names[position])
            if role != "code":
                return role
    value = tensors.get(name)
    role = role_of(name)
    return "real" if role == "code" and value is not None and is_float(value.dtype) else role
