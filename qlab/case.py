"""Case: a small ONNX graph, its constants and its inputs, with where it comes from."""

import dataclasses
from collections.abc import Mapping

import onnx

from qlab.graph import Graph, to_model
from qlab.qtypes import Array


@dataclasses.dataclass(frozen=True)
class Case:
    """One question to the engines.

    Attributes:
        graph: nodes, constants (initializers: an engine may fuse over them), outputs, opset.
        inputs: name → array, fed at run time; the keys are ``graph.inputs``.
        expected: output name → array where the right result is known: exact arithmetic, rounding
            half to even where the specification rounds.
    """

    graph: Graph
    inputs: Mapping[str, Array]
    title: str = ""
    source: str = ""
    note: str = ""
    expected: Mapping[str, Array] = dataclasses.field(default_factory=dict)

    def model(self, outputs: Mapping[str, Array] | None = None) -> onnx.ModelProto:
        """The graph as a ModelProto that declares the inputs' types and shapes."""
        return to_model(self.graph, self.inputs, outputs)

    def tensor(self, name: str) -> Array | None:
        """A constant or input by name; None for what a node computes."""
        return self.graph.constants.get(name, self.inputs.get(name))

    def with_tensor(self, name: str, value: Array) -> "Case":
        """The case with one constant or input replaced; what was expected no longer holds."""
        if name in self.inputs:
            return dataclasses.replace(self, inputs={**self.inputs, name: value}, expected={})
        graph = dataclasses.replace(self.graph, constants={**self.graph.constants, name: value})
        return dataclasses.replace(self, graph=graph, expected={})
