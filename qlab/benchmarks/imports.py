"""Import time of qlab, in processes of their own."""

import subprocess
import sys
import time

from qlab.benchmarks import Benchmark, Line, Timing


def _run(quick: bool) -> list[Line]:
    repeats = 2 if quick else 9
    found = {
        words: Timing(tuple(_seconds(code) for _ in range(repeats + 1))[1:])
        for words, code in (
            ("Python starts and ends", "pass"),
            ("import qlab", "import qlab"),
            (
                "import qlab, and what a run of a case needs",
                "import qlab; qlab.run, qlab.load_case",
            ),
        )
    }
    return [timing.line(f"{words}, a process of its own") for words, timing in found.items()]


def _seconds(code: str) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - started


BENCHMARK = Benchmark("imports", "import time", _run)
