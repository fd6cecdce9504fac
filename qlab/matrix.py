"""The matrix: one case in every release, at every level, with every setting and on every CPU that is asked for."""

import dataclasses
import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from qlab.case import Case
from qlab.compare import Comparison
from qlab.engines.ort import run_ort
from qlab.engines.pool import launched
from qlab.engines.results import LEVELS, EngineRun, RunStatus, SessionConfig
from qlab.errors import QlabError
from qlab.reference import Reference, exact_trace, reference_of
from qlab.report import run_label
from qlab.runtimes import store
from qlab.wording import how_much

# What a cell says: its sign, and one word.
EQUAL, DIFFERS, UNSTABLE, KNOWN, FAILED, MISSING = "=", "≠", "~", "·", "✕", "–"
# What a sign means, by the names of the verdict's states; KNOWN and MISSING are unknown.
STATES = {EQUAL: "equal", DIFFERS: "differs", UNSTABLE: "differs", FAILED: "failed"}
_FAILURES = {
    RunStatus.REJECTED: "refused",
    RunStatus.FAILED: "failed",
    RunStatus.CRASHED: "crashed",
    RunStatus.TIMED_OUT: "timed out",
}


@dataclasses.dataclass(frozen=True)
class Column:
    """How ONNX Runtime is to run a case, its release aside."""

    level: str = "ORT_ENABLE_ALL"
    cpu: str = "this"
    entries: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """``ORT_ENABLE_ALL``, ``ORT_ENABLE_ALL avx2``, ``ORT_ENABLE_ALL session.x64quantprecision=1``."""
        words = [self.level, *(f"{name}={value}" for name, value in self.entries)]
        return " ".join(words if self.cpu == "this" else [*words, self.cpu])


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run of a case, judged.

    Attributes:
        version, column: what was asked for.
        run: None where it could not be run here; ``message`` says why.
        comparisons: against exact arithmetic, or what is expected; () where there is no output or nothing known.
        recorded: "" for a run made now; else where and when it was made: ``2026-12-02, EPYC, avx2``.
    """

    version: str
    column: Column
    run: EngineRun | None
    comparisons: tuple[Comparison, ...] = ()
    message: str = ""
    recorded: str = ""

    @property
    def sign(self) -> str:
        """One of the signs of this module."""
        if self.run is None:
            return MISSING
        if self.run.status is not RunStatus.OK:
            return FAILED
        if not self.run.repeatable:
            return UNSTABLE
        if not self.comparisons:
            return KNOWN
        return EQUAL if all(c.equal for c in self.comparisons) else DIFFERS

    @property
    def words(self) -> str:
        """``equal``, ``8 of 64 codes, by up to 18 steps``, ``refused``, ``crashed``, ``timed out``, ``not here``."""
        if self.run is None:
            return "not here"
        if self.run.status is not RunStatus.OK:
            return _FAILURES[self.run.status]
        if not self.run.repeatable:
            return "not repeatable"
        if not self.comparisons:
            return "ran"
        return how_much(self.comparisons)

    @property
    def wrong(self) -> bool | None:
        """True where it differs, varies or fails; None where it was not run or nothing is known to be right."""
        return None if self.sign in (MISSING, KNOWN) else self.sign != EQUAL


def columns(
    levels: Sequence[str] = LEVELS,
    *,
    cpus: Sequence[str] = ("this",),
    entries: Sequence[Mapping[str, str]] = ({},),
) -> tuple[Column, ...]:
    """Every level with every setting, on every CPU; CPUs outermost."""
    return tuple(
        Column(level, cpu, tuple(setting.items()))
        for cpu in cpus
        for setting in entries
        for level in levels
    )


class Matrix:
    """The runs of one case: each cell is run once and kept.

    Args:
        timeout: seconds for one run.
        install: releases that are not here are installed, where that is allowed.
        progress: called with what is being installed, in words; from several threads.
    """

    def __init__(
        self,
        case: Case,
        *,
        timeout: float = 20.0,
        install: bool = False,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.case = case
        self.reference: Reference = reference_of(case, exact_trace(case))
        self.stop = threading.Event()
        self.timeout = timeout
        self._install = install
        self._progress = progress
        self._cells: dict[tuple[str, Column], Cell] = {}

    def cell(self, version: str, column: Column) -> Cell:
        """Run one cell, unless it has been run. A failure of any kind is a cell."""
        found = self._cells.get((version, column))
        if found is None and self.stop.is_set():
            return Cell(version, column, None, message="stopped")
        if found is None:
            found = self._run(version, column)
            self._cells[version, column] = found
        return found

    def known(self, version: str, column: Column) -> Cell | None:
        """A cell that has been run; None where it has not."""
        return self._cells.get((version, column))

    def fill(self, versions: Sequence[str], among: Sequence[Column]) -> Iterator[Cell]:
        """All cells, as they come: releases side by side, the cells of one in their order; ends when stopped."""
        rows = [
            (version, [column for column in among if column.cpu == cpu])
            for cpu in dict.fromkeys(column.cpu for column in among)
            for version in versions
        ]
        done: queue.SimpleQueue[Cell | None] = queue.SimpleQueue()

        def row(version: str, row_columns: Sequence[Column]) -> None:
            try:
                for column in row_columns:
                    if self.stop.is_set():
                        return
                    done.put(self.cell(version, column))
            finally:
                done.put(None)

        with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            futures = [pool.submit(row, *given) for given in rows]
            try:
                left = len(rows)
                while left:
                    cell = done.get()
                    if cell is None:
                        left -= 1
                    else:
                        yield cell
            except GeneratorExit:
                self.stop.set()
                raise
            for future in futures:
                future.result()  # what a thread raised is raised here

    def _run(self, version: str, column: Column) -> Cell:
        machine = "arm64" if column.cpu == "arm64" else "native"
        try:
            if self._install:
                store.add(version, machine, progress=self._progress, stop=self.stop)
            launched(column.cpu, version)
        except QlabError as error:
            return Cell(version, column, None, message=str(error))
        config = SessionConfig(column.level, dict(column.entries))
        run = run_ort(self.case, config, cpu=column.cpu, version=version, timeout=self.timeout)
        compared: tuple[Comparison, ...] = ()
        if run.status is RunStatus.OK:
            compared = self.reference.compare(run_label(run), run.outputs)
        return Cell(version, column, run, compared)
