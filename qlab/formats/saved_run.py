"""A run saved on one machine, to be compared on another: the report, with the CPU's name and flags."""

import dataclasses
import datetime
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qlab.case import Case
from qlab.engines.cpu import cpu_flags, cpu_name
from qlab.errors import CaseError
from qlab.formats.case_json import case_from_json
from qlab.formats.report_json import report_to_json
from qlab.formats.tensor_json import tensor_from_json
from qlab.qtypes import Array
from qlab.report import Report

VERSION = 1
LARGEST = 64_000_000  # bytes of a file


@dataclasses.dataclass(frozen=True)
class SavedRun:
    """One run of ONNX Runtime: with which settings, how it ended, what it gave."""

    version: str
    level: str
    entries: Mapping[str, str]
    cpu: str
    status: str
    outputs: Mapping[str, Array]


@dataclasses.dataclass(frozen=True)
class Saved:
    """The runs of one case on one machine.

    Attributes:
        machine: its CPU and system, in words. date: when, ``2026-12-02``.
    """

    case: Case
    machine: str
    date: str
    runs: tuple[SavedRun, ...]


def to_document(report: Report) -> dict[str, Any]:
    """What ``run --save`` writes."""
    emulated = {run.cpu for run in report.ort_runs if run.emulated}
    return {
        "qlab_run": VERSION,
        "date": datetime.date.today().isoformat(),
        "machine": {
            "cpu": cpu_name() + (f", emulating {', '.join(sorted(emulated))}" if emulated else ""),
            "flags": list(cpu_flags()),
            "system": platform.platform(terse=True),
        },
        "report": report_to_json(report),
    }


def save(report: Report, path: str | Path) -> None:
    """Write the file. Raises CaseError where it cannot be written."""
    text = json.dumps(to_document(report), ensure_ascii=False, indent=1) + "\n"
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CaseError(f"{path}: cannot be written: {error.strerror}") from None


def load(path: str | Path) -> Saved:
    """Read a file that ``run --save`` wrote. Raises CaseError: one line with the file's name."""
    try:
        if Path(path).stat().st_size > LARGEST:
            raise CaseError(f"{path}: larger than {LARGEST:,} bytes")
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        return from_document(document)
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror}") from None
    except CaseError as error:
        raise CaseError(f"{path}: {error}") from None
    except (ValueError, RecursionError):
        raise CaseError(f"{path}: is no file that run --save wrote") from None


def from_document(document: Any) -> Saved:
    """The saved runs. Raises CaseError where the document is none or of another version."""
    if not isinstance(document, dict) or "qlab_run" not in document:
        raise CaseError("is no file that run --save wrote")
    if document["qlab_run"] != VERSION:
        raise CaseError(f"has the version {document['qlab_run']!r}; this qlab reads {VERSION}")
    try:
        machine, report = document["machine"], document["report"]
        case = case_from_json(json.dumps(report["case"]))
        runs = tuple(_run(run) for run in report["runs"] if run["engine"] == "onnxruntime")
        words = f"{machine['cpu']} ({' '.join(machine['flags'])}), {machine['system']}"
        return Saved(case, words, str(document["date"]), runs)
    except (KeyError, TypeError, AttributeError) as error:
        raise CaseError(f"is damaged: {type(error).__name__} {error}") from None


def of_report(report: Report) -> Saved:
    """The runs of a report made here and now."""
    return from_document(to_document(report))


def _run(document: Mapping[str, Any]) -> SavedRun:
    outputs = {
        str(name): tensor_from_json(value, f"outputs.{name}")
        for name, value in document["outputs"].items()
    }
    text = {key: str(document[key]) for key in ("version", "level", "cpu", "status")}
    return SavedRun(**text, entries=dict(document["entries"]), outputs=outputs)
