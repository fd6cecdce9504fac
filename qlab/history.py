"""versions: the matrix, the release at which the case changed, the pass and the CPU that decide; in one call."""

import dataclasses
from collections.abc import Callable, Sequence

from qlab.bisection import History, bisect
from qlab.cpus import Prediction, predictions
from qlab.engines.results import RunStatus
from qlab.errors import QlabError
from qlab.matrix import Cell, Column, Matrix
from qlab.passes import PassSearch, which_pass
from qlab.recorded import recorded_cells
from qlab.runtimes.versions import key
from qlab.summary import changes, sentences


@dataclasses.dataclass(frozen=True)
class Versions:
    """All that is known of a case over releases, levels, passes and CPUs.

    Attributes:
        rows, columns: of the matrix, oldest release first.
        cells: one for each row and column, in that order, row by row; fewer where it was stopped.
        history: None where no search was asked for. searched_at: the column that was searched. passes: None where no level differs from ORT_DISABLE_ALL.
        predicted: for each class of CPU, on the newest release's most optimized graph; () where not checked.
    """

    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]
    history: History | None
    searched_at: str
    passes: PassSearch | None
    predicted: tuple[Prediction, ...]

    def cell(self, version: str, column: Column) -> Cell | None:
        """One cell; None where it was not run."""
        return next((c for c in self.cells if (c.version, c.column) == (version, column)), None)


def elsewhere(found: Versions) -> tuple[str, ...]:
    """What a report says of it: since when, at which levels and on which CPUs, by which pass; one sentence each."""
    said = []
    if found.history is not None:
        *found_words, counted = found.history.sentences
        said += [f"At {found.searched_at}: {w[0].lower()}{w[1:]}" for w in found_words]
        said.append(counted)
    said += [f"Run here, {sentence}" for sentence in sentences(found.cells)]
    if found.passes is not None and found.passes.differs:
        said.append(f"{found.passes.optimized.version}: {found.passes.sentence}")
    bad = [p.cpu for p in found.predicted if not all(c.equal for c in p.comparisons)]
    good = [p.cpu for p in found.predicted if p.cpu not in bad]
    if bad and good:
        said.append(
            f"Predicted for {found.predicted[0].of}, not run: {', '.join(bad)} differ; "
            f"{', '.join(good)} equal exact arithmetic."
        )
    return tuple(said)


def versions_of(
    matrix: Matrix,
    rows: Sequence[str],
    columns: Sequence[Column],
    *,
    searched: Sequence[str] = (),
    predicate: str = "wrong",
    than: tuple[str, Column] | None = None,
    on_cell: Callable[[Cell], None] = lambda _: None,
) -> Versions:
    """Fill the matrix, search the releases, and look for the pass.

    Args:
        rows: releases. The two on each side of every change that the search finds become rows too.
        searched: releases to search, oldest first; () for no search. It is made at the last column of this CPU.
        than: release and column of the run that the predicate "changed" compares with; None: the newest release's.
        on_cell: called with each cell as it comes.

    Raises:
        QlabError: the run of ``than`` cannot be made here.
    """
    native = [c for c in columns if c.cpu == "this" and not c.entries] or list(columns)
    history = None
    compared = matrix.cell(*than) if than is not None else None
    if compared is not None and compared.run is None and not matrix.stop.is_set():
        raise QlabError(f"there is nothing to compare with: {compared.message}")
    if searched and native:
        history = bisect(
            searched,
            lambda version: matrix.cell(version, native[-1]),
            predicate=predicate,
            than=compared,
            first=(*rows, *changes(recorded_cells(matrix.case), native[-1].level)),
            progress=on_cell,
        )
        if matrix.stop.is_set():
            history = None  # half a search says nothing
    if history is not None:
        changed = [c.version for change in history.changes for c in (change.before, change.after)]
        rows = [*rows, *changed]
    rows = tuple(sorted(set(rows), key=key))
    for cell in matrix.fill(rows, columns):
        on_cell(cell)
    asked = (matrix.known(version, column) for version in rows for column in columns)
    cells = tuple(cell for cell in asked if cell is not None)
    passes = None if matrix.stop.is_set() else _passes(matrix, cells)
    at = native[-1].label if native else ""
    return Versions(rows, tuple(columns), cells, history, at, passes, _predicted(matrix, cells))


def _passes(matrix: Matrix, cells: Sequence[Cell]) -> PassSearch | None:
    """The pass search where the newest release lies whose level gives another result than ORT_DISABLE_ALL."""
    for cell in reversed(cells):
        column = cell.column
        if cell.run is None or column.level == "ORT_DISABLE_ALL" or column.cpu != "this":
            continue
        plain = matrix.cell(cell.version, dataclasses.replace(column, level="ORT_DISABLE_ALL"))
        if plain.run is None or plain.run.status is not RunStatus.OK or not plain.run.repeatable:
            continue
        if cell.sign == "✕" or _codes(cell) != _codes(plain):
            return which_pass(
                matrix.case,
                column.level,
                version=cell.version,
                entries=dict(column.entries),
                timeout=matrix.timeout,
            )
    return None


def _codes(cell: Cell) -> tuple[bytes, ...]:
    return tuple(v.tobytes() for v in cell.run.outputs.values()) if cell.run else ()


def _predicted(matrix: Matrix, cells: Sequence[Cell]) -> tuple[Prediction, ...]:
    ran = (c.run for c in reversed(cells) if c.run is not None and c.column.cpu == "this")
    run = next((r for r in ran if r.status is RunStatus.OK), None)
    return predictions(matrix.case, run, matrix.reference) if run is not None else ()
