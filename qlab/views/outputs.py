"""The outputs of all engines and schemes side by side, as plain data for the table component."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from qlab.compare import Comparison
from qlab.engines.messages import plain_words
from qlab.engines.results import EngineRun, RunStatus
from qlab.graph import same_graph
from qlab.notation import difference, integer, show, steps
from qlab.qtypes import Array, dtype_name
from qlab.report import Report, SchemeRun, run_label
from qlab.trace import Index
from qlab.views.markup import index_text
from qlab.views.palette import SCHEMES
from qlab.views.verdict import STATUS_WORDS

SIDE_BY_SIDE = 1  # elements: up to here a row for each source and a column for each element
CARDS = 64  # elements: up to here a grid for every different result
WHOLE = 1024  # elements: up to here the whole tensor as a grid; above, only differing elements
LISTED = 200  # elements of a larger tensor


@dataclasses.dataclass(frozen=True)
class Source:
    """Who computed an output.

    Attributes:
        label: as the comparisons name it. name: as the page names it.
        kind: key of the palette's SCHEMES. of, cpu: which graph and CPU a scheme took; the level for an engine.
    """

    label: str
    name: str
    kind: str
    outputs: dict[str, Array]
    message: str = ""
    of: str = "given"
    cpu: str = ""
    note: str = ""


def sources(report: Report) -> tuple[Source, ...]:
    """exact first, then ONNX Runtime at each level, then the other schemes and the reference evaluator."""
    found: list[Source] = []
    here = {run.cpu for run in report.ort_runs if run.cpu}
    exact = report.scheme("exact")
    if exact is not None:
        found.append(_scheme_source(exact))
    elif report.case.expected:
        found.append(Source("expected", "expected", "exact", dict(report.case.expected)))
    found += [_engine_source(run) for run in report.engine_runs if run.engine == "onnxruntime"]
    seen: set[tuple[str, str]] = {("exact", "")}
    for name in ("ort_cpu", "float32", "float64"):
        run = report.scheme(name)
        if run is not None:
            found.append(_scheme_source(run))
            seen.add((run.scheme, run.cpu))
    found += [_engine_source(run) for run in report.engine_runs if run.engine != "onnxruntime"]
    for run in report.scheme_runs:
        same = same_graph(run.graph, report.case.graph)
        if same and (run.scheme, run.cpu) in seen:
            continue
        if run.scheme == "exact" and all(c.equal for c in report.comparisons_of(run)):
            continue
        if same:
            seen.add((run.scheme, run.cpu))
        source = _scheme_source(run, same)
        if run.cpu and run.cpu not in here:
            source = dataclasses.replace(source, note=f"{source.note}, predicted".lstrip(", "))
        found.append(source)
    return tuple(found)


def _scheme_source(run: SchemeRun, same: bool = True) -> Source:
    name = f"{run.scheme} ({run.cpu})" if run.cpu else run.scheme
    note = (
        ""
        if run.of == "given" or same
        else ("of the fused form" if run.of == "fused" else f"of the graph at {run.of}")
    )
    outputs = dict(run.trace.outputs) if run.trace else {}
    return Source(run.label, name, run.scheme, outputs, run.message, run.of, run.cpu, note)


def _engine_source(run: EngineRun) -> Source:
    message = (
        ""
        if run.status is RunStatus.OK
        else f"{STATUS_WORDS[run.status]}: {plain_words(run.message)}"
    )
    names = {"onnxruntime": "ONNX Runtime", "onnx_reference": "ONNX reference"}
    note = run.config.level if run.engine == "onnxruntime" else ""
    if run.status is RunStatus.OK and not run.repeatable:
        note += " not repeatable"
    return Source(
        run_label(run),
        f"{names.get(run.engine, run.engine)} {run.version}",
        run.engine,
        dict(run.outputs),
        message,
        run.config.level if run.engine == "onnxruntime" else "given",
        run.cpu,
        note,
    )


def default_pick(report: Report) -> tuple[str, Index, str]:
    """Output, element and source label to look at first.

    The first code of ONNX Runtime that differs; where all agree, the first of another CPU or of the fused form.
    """
    predicted = [r for r in report.scheme_runs if r.scheme == "ort_cpu" and r.of != "given"]
    predicted += [r for r in report.scheme_runs if r.scheme == "ort_cpu" and r.of == "given"]
    runs: list[EngineRun | SchemeRun] = [*report.ort_runs, *predicted]
    for run in runs:
        for compared in report.comparisons_of(run):
            if compared.first_mismatch is not None:
                return compared.output, compared.first_mismatch, compared.actual
    output = report.case.graph.outputs[0] if report.case.graph.outputs else ""
    known = next((s.outputs[output] for s in sources(report) if output in s.outputs), None)
    return output, (0,) * (known.ndim if known is not None else 0), ""


def table_data(report: Report, output: str, picked: Index, source: str) -> dict[str, Any]:
    """One output for the component: its elements, and for each source its texts, differences and a summary.

    Args:
        picked: the chosen element; (-1,) where it is one of another output.
    """
    listed = sources(report)
    shape = next((s.outputs[output].shape for s in listed if output in s.outputs), ())
    dtype = next((dtype_name(s.outputs[output].dtype) for s in listed if output in s.outputs), "")
    compared = {c.actual: c for c in report.comparisons if c.output == output}
    size = int(np.prod(shape, dtype=np.int64))
    flat = shown_elements(size, list(compared.values()), _flat(picked, shape))
    reference = next(iter(compared.values()), None)
    rows = [_source_data(s, output, shape, flat, compared.get(s.label), reference) for s in listed]
    columns = int(shape[-1]) if shape else 1
    if len([n for n in shape if n > 1]) == 1:
        columns = max(shape)
    return {
        "name": output,
        "dtype": dtype,
        "shape": list(shape),
        "size": size,
        "columns": max(1, columns),
        "mode": _mode(size),
        "elements": [
            {"index": _unravel(i, shape), "label": index_text("", _unravel(i, shape)) or output}
            for i in flat
        ],
        "sources": rows,
        "picked": list(picked),
        "source": source,
        "unit": reference.unit if reference else "step",
    }


def _mode(size: int) -> str:
    if size <= SIDE_BY_SIDE:
        return "table"
    if size <= CARDS:
        return "cards"
    return "grid" if size <= WHOLE else "list"


def shown_elements(size: int, compared: Sequence[Comparison], picked: int) -> list[int]:
    """All of a small tensor; of a larger one those that differ, the picked one and the first."""
    if size <= WHOLE:
        return list(range(size))
    differing: set[int] = {picked, 0}
    for c in compared:
        if c.size == size:
            differing.update(int(i) for i in np.flatnonzero(c.differences)[:LISTED])
    return sorted(differing)[: 2 * LISTED]


def _flat(index: Index, shape: Index) -> int:
    if len(index) != len(shape) or any(not 0 <= i < n for i, n in zip(index, shape, strict=True)):
        return 0
    return int(np.ravel_multi_index(index, shape)) if shape else 0


def _unravel(flat: int, shape: Index) -> Index:
    return tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()


def _source_data(
    source: Source,
    output: str,
    shape: Index,
    flat: Sequence[int],
    compared: Comparison | None,
    reference: Comparison | None,
) -> dict[str, Any]:
    value = source.outputs.get(output)
    state, words = _summary(source, value, compared)
    fits = value is not None and value.shape == shape
    codes = _codes(source, compared, reference, value) if fits else None
    differences = (
        compared.differences.reshape(-1)
        if compared is not None and compared.size == int(np.prod(shape, dtype=np.int64))
        else None
    )
    return {
        "label": source.label,
        "name": source.name,
        "note": source.note,
        "kind": source.kind,
        "sign": SCHEMES[source.kind].sign,
        "state": state,
        "summary": words,
        "values": [show(value.reshape(-1)[i]) for i in flat]
        if fits and value is not None
        else None,
        "codes": [integer(codes[i]) for i in flat] if codes is not None else None,
        "differences": [int(differences[i]) for i in flat]
        if differences is not None and compared and compared.mismatches
        else None,
        "words": [difference(int(differences[i])) for i in flat]
        if differences is not None and compared and compared.mismatches
        else None,
    }


def _codes(
    source: Source, compared: Comparison | None, reference: Comparison | None, value: Array | None
) -> Array | None:
    """Codes behind a real output, flat; None where the output is codes itself or has none."""
    known = compared or reference
    if (
        known is None
        or known.unit != "step"
        or known.codes == known.output
        or value is None
        or known.size < 0
    ):
        return None
    if compared is not None:
        return compared.actual_codes.reshape(-1)
    if source.label == known.expected and source.of == "given":
        return known.expected_codes.reshape(-1)
    return None


def _summary(source: Source, value: Array | None, compared: Comparison | None) -> tuple[str, str]:
    if value is None:
        return "failed", source.message or "no output"
    if compared is None:
        return (
            ("reference", "reference")
            if source.label in ("exact", "expected")
            else ("unknown", "not compared")
        )
    if compared.size < 0:
        return "differs", f"≠ {compared.why}"
    if compared.equal:
        return "equal", "= equal"
    largest = steps(compared.max_difference, "ulp" if compared.unit == "ulp" else "step")
    return "differs", f"≠ {compared.mismatches:,} of {compared.size:,}, up to {largest}"
