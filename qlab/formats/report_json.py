"""A report as plain JSON values: what ``run --json`` and ``trace --json`` print."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from qlab.element import ElementNode
from qlab.engines.results import EngineRun
from qlab.formats.case_json import case_to_document, node_to_document
from qlab.formats.tensor_json import tensor_to_json
from qlab.graph import Graph
from qlab.notation import bit_pattern, show
from qlab.report import Report, SchemeRun
from qlab.trace import ElementStep

LARGEST_GRAPH_TENSOR = 4096  # elements of a rewritten graph's constant that are printed


def report_to_json(report: Report) -> dict[str, Any]:
    """Case, verdict, runs of engines and schemes, comparisons against exact, broken rules."""
    return {
        "qlab_report": 1,
        "case": case_to_document(report.case),
        "verdict": {
            "status": report.verdict.status,
            "headline": report.verdict.headline,
            "sentences": list(report.verdict.sentences),
        },
        "runs": [
            *(_engine_run(run) for run in report.engine_runs),
            *(_scheme_run(run) for run in report.scheme_runs),
        ],
        "comparisons": [
            {
                "expected": c.expected,
                "actual": c.actual,
                "output": c.output,
                "codes": c.codes,
                "unit": c.unit,
                "size": c.size,
                "mismatches": c.mismatches,
                "max_difference": c.max_difference,
                "mean_difference": c.mean_difference,
                "direction": c.direction,
                "first_mismatch": None if c.first_mismatch is None else list(c.first_mismatch),
                "first_differing_step": c.first_differing_step,
                "why": c.why,
            }
            for c in report.comparisons
        ],
        "explanations": [
            {
                "level": e.level,
                "explained": e.explained,
                "size": e.size,
                "mispredicted": e.mispredicted,
                "sentence": e.sentence,
            }
            for e in report.explanations
        ],
        "findings": [
            {
                "node": f.node,
                "tensor": f.tensor,
                "rule": f.rule,
                "found": f.found,
                "nearest": f.nearest,
                "fixed": case_to_document(f.fixed) if f.fixed is not None else None,
            }
            for f in report.findings
        ],
        "elsewhere": list(report.elsewhere),
        "ort_explained": report.ort_explained,
        "exit_status": report.exit_status,
    }


def nodes_to_json(report: Report, nodes: Sequence[ElementNode], graph: str) -> dict[str, Any]:
    """The trace of one element: every node on the way, in every scheme."""
    return {
        "qlab_trace": 1,
        "graph": graph,
        "nodes": [
            {
                "op_type": node.op_type,
                "tensor": node.tensor,
                "element": list(node.index),
                "first_differing_step": node.parting.label if node.parting else "",
                "why": node.parting.why if node.parting else "",
                "schemes": [
                    {
                        "scheme": run.scheme,
                        "cpu": run.cpu,
                        "steps": [_step(s) for s in run.trace.element(node.tensor, node.index)],
                    }
                    for run in node.runs
                    if run.trace is not None
                ],
            }
            for node in nodes
        ],
        "ort_explained": report.ort_explained,
        "exit_status": report.exit_status,
    }


def graph_to_document(graph: Graph) -> dict[str, Any]:
    """Nodes and constants of a graph; a large constant is named by its type and shape only."""
    return {
        "opset": dict(graph.opset),
        "nodes": [node_to_document(node) for node in graph.nodes],
        "constants": {
            name: tensor_to_json(value)
            if value.size <= LARGEST_GRAPH_TENSOR
            else {"dtype": value.dtype.name, "shape": list(value.shape)}
            for name, value in graph.constants.items()
        },
        "outputs": list(graph.outputs),
    }


def _engine_run(run: EngineRun) -> dict[str, Any]:
    return {
        "engine": run.engine,
        "version": run.version,
        "level": run.config.level if run.engine == "onnxruntime" else None,
        "scheme": None,
        "cpu": run.cpu,
        "emulated": run.emulated,
        "entries": dict(run.config.entries),
        "status": run.status.value,
        "message": run.message,
        "outputs": {name: tensor_to_json(value) for name, value in run.outputs.items()},
        "repeatable": run.repeatable,
        "notes": list(run.notes),
        "graph": graph_to_document(run.graph) if run.graph is not None else None,
    }


def _scheme_run(run: SchemeRun) -> dict[str, Any]:
    outputs = run.trace.outputs if run.trace is not None else {}
    return {
        "engine": "qlab",
        "version": None,
        "level": run.of if run.of.startswith("ORT_") else None,
        "scheme": run.scheme,
        "cpu": run.cpu,
        "of": run.of,
        "label": run.label,
        "status": "ok" if run.trace is not None else "failed",
        "message": run.message,
        "outputs": {name: tensor_to_json(value) for name, value in outputs.items()},
        "graph": None,
    }


def _step(step: ElementStep) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": step.name,
        "formula": step.formula,
        "value": _number(step.value),
        "shown": show(step.value),
        "dtype": step.dtype,
    }
    if pattern := bit_pattern(step.value):
        document["bits"] = pattern
    if step.note:
        document["note"] = step.note
    if step.taps is not None:
        taps = step.taps
        document["products"] = [
            {
                "position": list(taps.positions[k]),
                "a": _number(taps.a[k]),
                "b": _number(taps.b[k]),
                "product": _number(taps.products[k]),
                "running_sum": _number(taps.running[k]),
                "lost": _number(taps.lost[k]),
            }
            for k in range(len(taps.products))
        ]
    return document


def _number(value: Any) -> int | float | str:
    """An integer as it is, a float as the shortest decimal or ``nan``, ``inf``; a rational as ``p/q``."""
    if isinstance(value, Fraction):
        return (
            value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
        )
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, float) or (isinstance(value, np.generic) and value.dtype.kind not in "iu"):
        real = float(value)
        return float(str(value)) if np.isfinite(real) else str(real)
    return int(value)
