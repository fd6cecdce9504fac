"""What results are compared with: exact arithmetic of the given graph, or what the case says is right."""

import dataclasses
from collections.abc import Mapping

from qlab.case import Case
from qlab.compare import Comparison, compare_outputs
from qlab.errors import TraceError
from qlab.graph import Graph
from qlab.qtypes import Array
from qlab.schemes import schemes
from qlab.trace import Trace, trace


@dataclasses.dataclass(frozen=True)
class Reference:
    """The right outputs of a case, where they are known.

    Attributes:
        label: ``exact`` or ``expected``.
        graph, trace: what the codes of an output are scaled by.
        outputs: name → array; empty where nothing is known to be right.
    """

    label: str
    graph: Graph
    trace: Trace
    outputs: Mapping[str, Array]

    def compare(self, label: str, outputs: Mapping[str, Array]) -> tuple[Comparison, ...]:
        """One comparison of a result with this for each output that both have."""
        return self.between((self.label, self.outputs), (label, outputs))

    def between(
        self, expected: tuple[str, Mapping[str, Array]], actual: tuple[str, Mapping[str, Array]]
    ) -> tuple[Comparison, ...]:
        """One comparison of any two results for each output that both have; each a label and outputs."""
        return compare_outputs(self.graph, self.trace, expected, actual)


def exact_trace(case: Case) -> Trace | None:
    """The exact trace of the given graph; None where an operator or shape has no arithmetic."""
    try:
        return trace(case.graph, case.inputs, schemes()["exact"])
    except TraceError:
        return None


def reference_of(case: Case, exact: Trace | None) -> Reference:
    """The reference of a case; ``exact`` is what `exact_trace` gives, or a trace that is there already."""
    if exact is not None and not any(node.opaque for node in exact.nodes):
        return Reference("exact", case.graph, exact, exact.outputs)
    graph = dataclasses.replace(case.graph, nodes=())
    return Reference("expected", graph, Trace("expected", "", (), {}, {}), case.expected)
