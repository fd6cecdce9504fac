"""What the gallery remembers: runs of its cases that were made elsewhere and earlier, with where and when."""

import dataclasses
import functools
import logging
from importlib import resources

from qlab.case import Case
from qlab.compare import Comparison
from qlab.engines.results import RunStatus
from qlab.errors import CaseError
from qlab.formats.recording_json import RecordedRun, recording_from_json
from qlab.gallery import gallery_case, gallery_name
from qlab.matrix import Cell, Column
from qlab.reference import exact_trace, reference_of
from qlab.report import run_label
from qlab.schemes.ort_cpu import CPUS
from qlab.summary import sentences

_log = logging.getLogger(__name__)
FOLDER = "recorded"


@functools.cache
def recorded_runs(name: str) -> tuple[RecordedRun, ...]:
    """The recorded runs of a gallery case; () where there are none, or where they are of another form of it."""
    file = resources.files("qlab.gallery") / FOLDER / f"{name}.json"
    if not file.is_file():
        return ()
    try:
        return recording_from_json(file.read_bytes(), gallery_case(name))
    except CaseError as error:
        _log.warning("%s: %s", file, error)  # the case itself runs without what was recorded
        return ()


def recorded_cells(case: Case) -> tuple[Cell, ...]:
    """Recorded runs as cells; () for a case that is not the gallery's, or no longer.

    A column's CPU is the class of the CPU that it ran on. ``Cell.recorded`` says where and when.
    """
    name = gallery_name(case)
    return _cells(name) if name else ()


@functools.cache
def _cells(name: str) -> tuple[Cell, ...]:
    case = gallery_case(name)
    reference = reference_of(case, exact_trace(case))

    compared: dict[int, tuple[Comparison, ...]] = {}  # runs with the same result share its outputs
    cells = []
    for recorded in sorted(recorded_runs(name), key=lambda r: CPUS.index(r.run.cpu)):
        run = recorded.run
        label = run_label(run)
        if run.status is RunStatus.OK and id(run.outputs) not in compared:
            compared[id(run.outputs)] = reference.compare(label, run.outputs)
        found = compared.get(id(run.outputs), ())
        named = tuple(dataclasses.replace(c, actual=label) for c in found)
        column = Column(run.config.level, run.cpu)
        cells.append(Cell(run.version, column, run, named, recorded=recorded.where))
    return tuple(cells)


def elsewhere(case: Case) -> tuple[str, ...]:
    """What a report says of recorded runs, one sentence each; () where there are none."""
    cells = recorded_cells(case)
    dates = sorted({c.recorded.partition(",")[0] for c in cells})
    return tuple(
        f"Recorded {dates[-1]} without session entries, {sentence}" for sentence in sentences(cells)
    )
