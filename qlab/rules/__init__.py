"""The rules of the specification that a case breaks, in words, with the nearest form that runs.

The rules are those of the ONNX schemas (read from the onnx package for the case's opset) and of the com.microsoft
schemas. Where the specification allows what ONNX Runtime's CPU kernels refuse, the rule says so; each refusal was seen
on onnxruntime 1.32.0.
"""

from qlab.case import Case
from qlab.report import Finding
from qlab.rules.checked_node import CheckedNode, known_tensors
from qlab.rules.kernels import kernels, shapes
from qlab.rules.parameters import parameters
from qlab.rules.signature import signature
from qlab.rules.types import types


def find_broken_rules(case: Case) -> tuple[Finding, ...]:
    """Every broken rule, in the order of the nodes; a node whose signature is broken is looked at no further."""
    known = known_tensors(case)
    found: list[Finding] = []
    for number, node in enumerate(case.graph.nodes):
        check = CheckedNode(case, number, node, known)
        broken = list(signature(check))
        found += broken or [*types(check), *parameters(check), *kernels(check), *shapes(check)]
    return tuple(found)
