"""Run the benchmarks, each in a process of its own, and write what they measured: JSON, and a table in Markdown."""

import dataclasses
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from qlab.benchmarks import Line, benchmarks
from qlab.engines.cpu import cpu_name
from qlab.errors import CaseError

DOCS = Path(__file__).resolve().parent.parent / "docs"
PACKAGES = ("numpy", "onnx", "onnxruntime", "streamlit")
TIMEOUT = 900.0  # seconds for one benchmark


@dataclasses.dataclass(frozen=True)
class Bench:
    """Everything that was measured in one run.

    Attributes:
        date, machine: where and when. lines: benchmark → its lines.
    """

    date: str
    machine: str
    lines: dict[str, tuple[Line, ...]]

    @property
    def missed(self) -> tuple[Line, ...]:
        """Lines whose goal was not met."""
        return tuple(line for lines in self.lines.values() for line in lines if line.met is False)


def run_bench(
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Bench:
    """Run benchmarks one after the other, each in a fresh process.

    Args:
        names: which; all where none is given. quick: with few repetitions on small sizes: no measurement.
        progress: is told the words of each benchmark before it runs.

    Raises:
        CaseError: there is no such benchmark.
    """
    known = benchmarks()
    for name in names:
        if name not in known:
            raise CaseError(f"there is no benchmark {name!r}; there are {', '.join(known)}")
    found = {}
    for name in names or known:
        if progress is not None:
            progress(known[name].words)
        found[name] = _measured(name, quick=quick)
    return Bench(datetime.date.today().isoformat(), machine(), found)


def machine() -> str:
    """The CPU, how many cores this process may use, and the versions that matter."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = []
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    python = f"Python {platform.python_version()}"
    return ", ".join([cpu_name(), f"{cores} cores", python, *versions])


def _measured(name: str, *, quick: bool) -> tuple[Line, ...]:
    command = [sys.executable, "-m", "qlab.bench", name, "quick" if quick else "whole"]
    root = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (Line(benchmarks()[name].words, None, "", note=f"no end after {TIMEOUT:g} s"),)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return (Line(benchmarks()[name].words, None, "", note=f"it failed: {last}"),)
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return tuple(Line(**row) for row in rows)


def to_json(bench: Bench) -> str:
    """The whole as JSON."""
    return json.dumps(dataclasses.asdict(bench), ensure_ascii=False, indent=1) + "\n"


def table(lines: Iterable[Line]) -> str:
    """Lines as a table in Markdown."""
    rows = ["| what | median | least – most | goal | |", "|---|---:|---:|---|---|"]
    for line in lines:
        mark = {True: "✓", False: "✕ not met", None: ""}[line.met]
        remarks = "; ".join(filter(None, (mark, line.note)))
        rows.append(f"| {line.what} | {figure(line)} | {spread(line)} | {line.goal} | {remarks} |")
    return "\n".join(rows) + "\n"


def figure(line: Line) -> str:
    """``9.6 ms``; "not measured" where there is none."""
    return "not measured" if line.value is None else f"{_digits(line.value)} {line.unit}".strip()


def spread(line: Line) -> str:
    """``9.1 – 12``; "" where there was one repetition."""
    if line.least is None or line.most is None or line.least == line.most:
        return ""
    return f"{_digits(line.least)} – {_digits(line.most)}"


def _digits(value: float) -> str:
    """Three digits that count, never an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown(bench: Bench) -> str:
    """The document of a run."""
    parts = [
        "# How fast it is",
        f"Measured {bench.date} by `python -m qlab bench --write`: {bench.machine}. Each benchmark ran in a process of "
        "its own, both sides warmed up; a figure is the median of several, with the least and the most.",
    ]
    for name, lines in bench.lines.items():
        parts.append(f"## {benchmarks()[name].words.capitalize()} (`bench {name}`)")
        parts.append(table(lines).rstrip())
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    measured = benchmarks()[sys.argv[1]].run(sys.argv[2] == "quick")
    print(json.dumps([dataclasses.asdict(line) for line in measured]))
