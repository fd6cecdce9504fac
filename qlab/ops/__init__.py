"""Operators: one file each, discovered. An operator turns a call into steps with a scheme's primitives."""

import dataclasses
import functools
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from qlab.errors import TraceError
from qlab.graph import Graph, Node
from qlab.qtypes import Array
from qlab.registry import discover
from qlab.trace import Step

if TYPE_CHECKING:
    from qlab.schemes import Scheme

Steps = Generator[Step, None, Array]
"""Yields the steps and returns the value of the last one."""


@dataclasses.dataclass(frozen=True)
class Operator:
    """What qlab knows of one operator.

    Attributes:
        inputs: the schema's names of the inputs, in order.
        source: where its arithmetic is defined.
        steps: the computation; each graph output is finished by a step that names it.
        opaque: True for the one that stands for all others, computed by the ONNX reference evaluator.
        elementwise: True where each element of the result depends on those at its own place only (and on parameters
            per tensor), so that its inputs may have any shapes that broadcast.
        one_type: True where codes and zero points of all operands and of the result have one type.
        variadic: names of the inputs that may be repeated after the others, with a place for the number from 0 on:
            ``X{}``, ``X{}_scale``.
    """

    op_type: str
    domain: str
    inputs: tuple[str, ...]
    source: str
    steps: "Callable[[Call, Scheme], Iterator[Step]]"
    opaque: bool = False
    elementwise: bool = False
    one_type: bool = False
    variadic: tuple[str, ...] = ()

    def names(self, count: int) -> tuple[str, ...]:
        """The names of a call's inputs where it has ``count``: those of the schema, the variadic ones numbered."""
        if not self.variadic:
            return self.inputs
        repeats = -(-max(count - len(self.inputs), 0) // len(self.variadic))
        return (*self.inputs, *(n.format(i) for i in range(repeats) for n in self.variadic))


@dataclasses.dataclass(frozen=True)
class Call:
    """A node with the values of its inputs."""

    node: Node
    operator: Operator
    graph: Graph
    tensors: Mapping[str, Array]
    dtypes: Mapping[str, str]
    scheme: "Scheme"

    def check(self) -> None:
        """Raise TraceError for more inputs than the operator has."""
        allowed = self.names
        if not self.operator.opaque and len(self.node.inputs) > len(allowed):
            raise TraceError(
                f"it has {len(self.node.inputs)} inputs; at most {len(allowed)} are allowed: "
                f"{', '.join(allowed)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The schema's names of the inputs, the variadic ones numbered."""
        return self.operator.names(len(self.node.inputs))

    def __getitem__(self, name: str) -> Array:
        """The value of a required input, by the schema's name."""
        value = self.optional(name)
        if value is None:
            raise TraceError(f"the required input {name} is absent")
        return value

    def tensor_name(self, name: str) -> str:
        """The graph's name of an input; "" where it is absent."""
        position = self.names.index(name)
        return self.node.inputs[position] if position < len(self.node.inputs) else ""

    def optional(self, name: str) -> Array | None:
        """The value of an optional input, None where it is absent."""
        tensor = self.tensor_name(name)
        if not tensor:
            return None
        if tensor not in self.tensors:
            raise TraceError(f"the input {name} reads {tensor!r}, which nothing defines")
        return self.tensors[tensor]

    def dtype(self, name: str) -> str:
        """The ONNX dtype of an input."""
        self[name]
        return self.dtypes[self.tensor_name(name)]

    def is_constant(self, name: str) -> bool:
        """True for an initializer."""
        return self.tensor_name(name) in self.graph.constants

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value, or the default."""
        return self.node.attributes.get(name, default)

    @property
    def output(self) -> str:
        """The graph's name of the first output."""
        if not self.node.outputs:
            raise TraceError("it has no output")
        return self.node.outputs[0]

    @property
    def opset(self) -> int:
        """The version of the node's domain."""
        return self.graph.opset.get(self.node.domain, 1)


@functools.cache
def operators() -> dict[tuple[str, str], Operator]:
    """(domain, op_type) → Operator, for all that have arithmetic."""
    found = discover(sys.modules[__name__], Operator)
    return {(o.domain, o.op_type): o for o in found if not o.opaque}


def operator_for(node: Node, scheme: "Scheme") -> Operator:
    """The operator of a node; the opaque one where qlab has no arithmetic for it."""
    from qlab.ops.opaque import OPAQUE

    return operators().get((node.domain, node.op_type), OPAQUE)
