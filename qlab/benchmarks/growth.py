"""The growth of exact with the size of a result: a convolution of 1,000 to 10 million outputs."""

import math

from qlab.benchmarks import Benchmark, Line, line_of, timed
from qlab.benchmarks.layer import layer
from qlab.schemes import schemes
from qlab.trace import trace

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
CHANNELS, DEPTH = 64, 8
LINEAR = 2.0  # times the time of an output among 100,000


def _run(quick: bool) -> list[Line]:
    exact = schemes()["exact"]
    lines: list[Line] = []
    for outputs in SIZES[:2] if quick else SIZES:
        size = math.ceil(math.sqrt(outputs / CHANNELS))
        case = layer(CHANNELS, size, inputs=DEPTH)
        count = CHANNELS * size * size
        found = timed(
            lambda c=case: trace(c.graph, c.inputs, exact),  # type: ignore[misc]
            repeats=3 if outputs > 1_000_000 else 9,
        )
        nanoseconds = [1e9 * s / count for s in found.seconds]
        words = f"exact, QLinearConv {DEPTH} → {CHANNELS} channels, 3 × 3: an output of {count:,}"
        lines.append(line_of(words, nanoseconds, "ns", note=f"{found.median:.4g} s in all"))
    if quick:
        return lines
    hundred, largest = lines[2].value, lines[-1].value
    assert hundred is not None and largest is not None
    goal = f"linear: at 10 million at most {LINEAR:g} times as long an output as at 100,000"
    ratio = Line(
        "growth of exact from 100,000 to 10 million outputs: time of one output",
        largest / hundred,
        "times",
        goal=goal,
        met=largest <= LINEAR * hundred,
    )
    return [*lines, ratio]


BENCHMARK = Benchmark("growth", "exact from 1,000 to 10 million outputs", _run)
