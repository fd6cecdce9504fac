"""Signature: what makes two differences the same one: the operator, the step at which two sides part, the direction."""

import dataclasses

from qlab.case import Case
from qlab.compare import Comparison, compare_outputs
from qlab.errors import TraceError
from qlab.explain import Parting, ignored_bias, part
from qlab.graph import Graph, same_graph
from qlab.schemes import schemes
from qlab.sides import Result, compare
from qlab.trace import Index, Trace, trace

REWRITTEN = "rewritten graph"


@dataclasses.dataclass(frozen=True)
class Signature:
    """Equal signatures are one difference, whatever the numbers.

    Attributes:
        operator: of the node at which they part, ``com.microsoft.QLinearAdd``; of all nodes where that is not known.
        step: the first that differs; ``rewritten graph`` where an optimizer changed what is computed; "" where no trace
            tells.
        direction: where actual lies: ``above``, ``below``, ``both``; or how its run ended: ``rejected``, ``crashed`` …
    """

    operator: str
    step: str
    direction: str

    def __str__(self) -> str:
        """``com.microsoft.QLinearAdd, sum, below``."""
        return ", ".join(filter(None, (self.operator, self.step, self.direction)))


@dataclasses.dataclass(frozen=True)
class Difference:
    """Two sides on one case.

    Attributes:
        comparisons: one an output; empty where a side gave none.
        signature: None where they agree, or where both gave nothing.
        output, index: the element that was looked at; "" and () where there is none.
        why: one sentence; "" where it is not known.
    """

    case: Case
    expected: Result
    actual: Result
    comparisons: tuple[Comparison, ...]
    signature: Signature | None
    output: str = ""
    index: Index = ()
    why: str = ""

    @property
    def mismatches(self) -> int:
        """Codes that differ, over all outputs."""
        return sum(c.mismatches for c in self.comparisons)

    @property
    def size(self) -> int:
        """Codes that were compared."""
        return sum(max(c.size, 0) for c in self.comparisons)


def difference(
    case: Case, expected: Result, actual: Result, *, at: tuple[str, Index] | None = None
) -> Difference:
    """Compare two results of one case, and say what kind of difference there is.

    Args:
        at: output and index of the element to look at; else the first that differs.
    """
    failed = [bool(r.message) for r in (expected, actual)]
    if any(failed):
        return _of_failure(case, expected, actual, both=all(failed))
    found = compare(case, expected, actual)
    wrong = next((c for c in found if not c.equal and (at is None or c.output == at[0])), None)
    if wrong is None:
        return Difference(case, expected, actual, found, None)
    if wrong.size < 0:
        signature = Signature(_operators(case.graph), "", "shape")
        return Difference(case, expected, actual, found, signature, wrong.output, (), wrong.why)
    index = at[1] if at is not None else wrong.first_mismatch
    assert index is not None
    if not wrong.differences[index]:
        return Difference(case, expected, actual, found, None)
    direction = "above" if wrong.differences[index] > 0 else "below"
    operator, step, why = _where(case, expected, actual, (wrong.output, wrong.codes, index))
    signature = Signature(operator or _operators(case.graph), step, direction)
    return Difference(case, expected, actual, found, signature, wrong.output, index, why)


def _of_failure(case: Case, expected: Result, actual: Result, *, both: bool) -> Difference:
    """One side has no result. Where both have none, nothing tells them apart."""
    failing = actual if actual.message else expected
    if both or failing.run is None:  # a scheme that cannot compute the case says nothing about it
        return Difference(case, expected, actual, (), None, why=failing.message)
    signature = Signature(_operators(case.graph), "", failing.run.status.value)
    return Difference(case, expected, actual, (), signature, why=failing.message)


def _where(
    case: Case, expected: Result, actual: Result, at: tuple[str, str, Index]
) -> tuple[str, str, str]:
    """Operator, step and sentence; each "" where it is not known."""
    if expected.trace is None or actual.trace is None:
        return "", "", ""
    if same_graph(expected.graph, actual.graph):
        return _words(expected.graph, _part(expected.trace, actual.trace, at))
    # Exact arithmetic of both graphs tells whether the rewriting changed what is meant, or only how it is computed.
    one, other = _exact(case, expected), _exact(case, actual)
    if one is None or other is None:
        return "", "", ""
    meant = compare_outputs(case.graph, one, ("exact", one.outputs), ("exact", other.outputs))
    if any(c.mismatches for c in meant):
        return _rewriting(case.graph, expected.graph, actual.graph)
    for result, exact in ((actual, other), (expected, one)):
        assert result.trace is not None
        found = _part(exact, result.trace, at)
        if found is not None:
            return _words(result.graph, found)
    return "", "", ""


def _part(one: Trace, other: Trace, at: tuple[str, str, Index]) -> Parting | None:
    """Where two traces of a graph part: at the first node that differs; at this element where that node makes it."""
    first = part(one, other)
    output, codes, index = at
    for name in (codes, output):
        made = one.node_of(name)
        if first is not None and made is one.nodes[first.node]:
            return part(one, other, (name, index)) or first
    return first


def _exact(case: Case, result: Result) -> Trace | None:
    try:
        return trace(result.graph, case.inputs, schemes()["exact"])
    except TraceError:
        return None


def _rewriting(given: Graph, expected: Graph, actual: Graph) -> tuple[str, str, str]:
    rewritten = actual if not same_graph(actual, given) else expected
    bias = ignored_bias(given, rewritten)
    if bias is not None:
        return bias[0].qualified_name, REWRITTEN, bias[1]
    words = "the rewritten graph means something else: exact arithmetic on it gives another result"
    return _operators(rewritten), REWRITTEN, words


def _words(graph: Graph, found: Parting | None) -> tuple[str, str, str]:
    if found is None:
        return "", "", ""
    return graph.nodes[found.node].qualified_name, found.step, found.why


def _operators(graph: Graph) -> str:
    return ", ".join(dict.fromkeys(node.qualified_name for node in graph.nodes))
