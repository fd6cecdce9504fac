"""A case over releases as plain JSON values: what ``versions --json`` prints."""

from typing import Any

from qlab.case import Case
from qlab.formats.case_json import case_to_document
from qlab.formats.tensor_json import tensor_to_json
from qlab.history import Versions
from qlab.matrix import Cell, Column
from qlab.passes import PassSearch
from qlab.recorded import recorded_cells


def versions_to_json(case: Case, found: Versions) -> dict[str, Any]:
    """Cells row by row, the changes between releases, the pass, the predictions for other CPUs."""
    history = found.history
    return {
        "qlab_versions": 1,
        "case": case_to_document(case),
        "rows": list(found.rows),
        "columns": [_column(column) for column in found.columns],
        "cells": [_cell(cell) for cell in found.cells],
        "history": None
        if history is None
        else {
            "predicate": history.predicate,
            "than": history.than,
            "holds": dict(history.holds),
            "changes": [
                {
                    "before": change.before.version,
                    "after": change.after.version,
                    "holds_after": change.holds_after,
                }
                for change in history.changes
            ],
            "monotonic": history.monotonic,
            "skipped": list(history.skipped),
            "sentences": list(history.sentences),
        },
        "passes": _passes(found.passes),
        "predicted": [
            {
                "cpu": p.cpu,
                "of": p.of,
                "equal": all(c.equal for c in p.comparisons),
                "outputs": {k: tensor_to_json(v) for k, v in p.trace.outputs.items()},
            }
            for p in found.predicted
        ],
        "recorded": [_cell(cell) for cell in recorded_cells(case)],
    }


def _column(column: Column) -> dict[str, Any]:
    return {"level": column.level, "cpu": column.cpu, "entries": dict(column.entries)}


def _cell(cell: Cell) -> dict[str, Any]:
    run = cell.run
    return {
        "version": cell.version,
        **_column(cell.column),
        "status": run.status.value if run is not None else "missing",
        "words": cell.words,
        "wrong": cell.wrong,
        "cpu_class": run.cpu if run is not None else "",
        "emulated": run.emulated if run is not None else False,
        "recorded": cell.recorded,
        "message": run.message if run is not None else cell.message,
        "mismatches": sum(c.mismatches for c in cell.comparisons),
        "size": sum(max(c.size, 0) for c in cell.comparisons),
        "max_difference": max((c.max_difference for c in cell.comparisons), default=0),
        "outputs": {k: tensor_to_json(v) for k, v in run.outputs.items()} if run else {},
        "passes": list(run.passes) if run is not None else [],
    }


def _passes(found: PassSearch | None) -> dict[str, Any] | None:
    if found is None:
        return None
    restored = found.restored
    return {
        "version": found.optimized.version,
        "level": found.optimized.config.level,
        "changed_the_graph": list(found.changed),
        "disabled_optimizers": list(found.disabled),
        "outputs": {k: tensor_to_json(v) for k, v in restored.outputs.items()} if restored else {},
        "runs": found.runs,
        "sentence": found.sentence,
    }
