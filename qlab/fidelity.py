"""Fidelity: does ort_cpu predict what ONNX Runtime returns, code for code? Counted over the batteries.

The graph that ONNX Runtime says it ran is traced with the scheme of the CPU that it ran on, and each output is compared
bit for bit (a NaN equals a NaN). `measured` are the counts that were made and kept, with release, CPU and seeds.
"""

import dataclasses
import datetime
import functools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from qlab.batteries import Battery
from qlab.case import Case
from qlab.compare import differing
from qlab.engines.cpu import cpu_name
from qlab.engines.ort import run_ort
from qlab.engines.results import EngineRun, RunStatus, SessionConfig
from qlab.errors import TraceError
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import Trace, trace

TIMEOUT = 120.0  # seconds for one case; an emulated CPU is ten times slower
MEASURED = Path(__file__).parent / "batteries" / "measured.json"


@dataclasses.dataclass
class Row:
    """What was counted of one battery on one release and class of CPU.

    Attributes:
        operator, dtypes, form, levels: the battery's.
        cpu: the class of CPU that ran it; machine: in words. version: of onnxruntime. date: ``2026-12-02``.
        seed, seeds: the first seed, and how many after one another; cases: runs, at each level one.
        compared, mispredicted: output elements. unmodelled: those of cases without a prediction.
        operators: what the graphs that ran were made of, ``com.microsoft.QLinearConv``.
        first: the first that is mispredicted, or why there is no prediction; "" where all are right.
        seconds: of wall time.
    """

    operator: str
    dtypes: str
    form: str
    levels: tuple[str, ...]
    seed: int
    cpu: str = ""
    machine: str = ""
    version: str = ""
    date: str = ""
    seeds: int = 0
    cases: int = 0
    compared: int = 0
    mispredicted: int = 0
    unmodelled: int = 0
    operators: tuple[str, ...] = ()
    first: str = ""
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The battery's name."""
        return Battery(self.operator, self.dtypes, self.form, lambda _: iter(())).name

    @property
    def perfect(self) -> bool:
        """True where everything was predicted and nothing wrongly."""
        return self.compared > 0 and not self.mispredicted and not self.unmodelled

    @property
    def place(self) -> tuple[str, str, str]:
        """What a newer count replaces."""
        return self.name, self.cpu, self.version


def measure(
    battery: Battery,
    *,
    seed: int = 0,
    least: int = 0,
    every: int = 1,
    cpu: str = "this",
    version: str = "",
    progress: Callable[[Row], None] | None = None,
) -> Row:
    """Run a battery until ``least`` outputs are compared, one seed after the other; each seed wholly.

    Args:
        seed: the first one. every: of the cases, only each such (for an emulated CPU).
        cpu, version: where ONNX Runtime runs, as in `qlab.session.run`.
        progress: called after each case.
    """
    row = Row(battery.operator, battery.dtypes, battery.form, battery.levels, seed)
    row.machine, row.date = cpu_name(cpu), datetime.date.today().isoformat()
    started = time.perf_counter()
    while not row.seeds or 0 < row.compared + row.unmodelled < least:
        for number, case in enumerate(battery.cases(seed + row.seeds)):
            if number % every:
                continue
            for level in battery.levels:
                config = SessionConfig(level)
                run = run_ort(case, config, cpu=cpu, version=version, timeout=TIMEOUT)
                _count(row, f"seed {seed + row.seeds}, case {number}, {level}", case, run)
            row.seconds = round(time.perf_counter() - started, 2)
            if progress is not None:
                progress(row)
        row.seeds += 1
    return row


def _count(row: Row, where: str, case: Case, run: EngineRun) -> None:
    row.cases += 1
    row.cpu, row.version = run.cpu or row.cpu, run.version or row.version
    if run.status is not RunStatus.OK:
        row.unmodelled += 1
        row.first = row.first or f"{where}: {run.message}"
        return
    sizes = sum(value.size for value in run.outputs.values())
    graph = run.graph or case.graph
    try:
        predicted = trace(
            graph, case.inputs, OrtCpu(run.cpu, version=run.version, avx512=run.avx512)
        )
    except TraceError as error:
        row.unmodelled += sizes
        row.first = row.first or f"{where}: {error}"
        return
    met = {n.node.qualified_name for n in predicted.nodes}
    row.operators = tuple(sorted(met.union(row.operators)))
    opaque = sorted({n.node.qualified_name for n in predicted.nodes if n.opaque})
    if opaque:
        row.unmodelled += sizes
        row.first = row.first or f"{where}: no arithmetic for {', '.join(opaque)}"
        return
    row.compared += sizes
    for first, count in _differing(predicted, run):
        row.mispredicted += count
        row.first = row.first or f"{where}, {first}"


def _differing(predicted: Trace, run: EngineRun) -> Iterator[tuple[str, int]]:
    """For each output that is not the predicted one: its first element that differs, and how many do."""
    for name, actual in run.outputs.items():
        expected = predicted.outputs[name]
        if (expected.dtype, expected.shape) != (actual.dtype, actual.shape):
            words = f"{expected.dtype}{list(expected.shape)}, returned {actual.dtype}{list(actual.shape)}"
            yield f"{name}: predicted {words}", actual.size
            continue
        different = differing(expected, actual)
        if different.any():
            at = tuple(int(i) for i in np.argwhere(different)[0])
            yield (
                f"{name}{list(at)}: predicted {expected[at]}, returned {actual[at]}",
                int(different.sum()),
            )


@functools.cache
def measured() -> tuple[Row, ...]:
    """The counts that are kept with qlab, in the order of their batteries, then of releases and CPUs."""
    if not MEASURED.is_file():
        return ()
    rows: list[dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))["rows"]
    return tuple(map(_row, rows))


def _row(stored: dict[str, Any]) -> Row:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()}
    return Row(**values)


def keep(rows: Iterable[Row]) -> None:
    """Add counts to `measured`; each replaces the one of the same battery, release and CPU."""
    kept = {row.place: row for row in (*measured(), *rows)}
    order = sorted(kept.values(), key=lambda r: (r.form != "QOperator", *r.place))
    lines = ",\n".join(json.dumps(dataclasses.asdict(row), ensure_ascii=False) for row in order)
    MEASURED.write_text(f'{{"rows": [\n{lines}\n]}}\n', encoding="utf-8")
    measured.cache_clear()
