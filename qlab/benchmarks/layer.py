"""A whole layer: QLinearConv, 64 → 64 channels, 3 × 3, on 56 × 56, uint8 × int8, against the reference evaluator."""

import numpy as np
from onnx.reference import ReferenceEvaluator

from qlab.benchmarks import Benchmark, Line, timed_in_turn
from qlab.case import Case
from qlab.engines.ort import run_ort_each
from qlab.engines.results import SessionConfig
from qlab.graph import Graph, Node
from qlab.qtypes import Array
from qlab.schemes import schemes
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace

INPUTS = (
    "x", "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "B",
)  # fmt: skip
TIMES_EXACT, TIMES_ORT_CPU = 15, 3


def layer(channels: int, size: int, *, inputs: int = 0, seed: int = 0) -> Case:
    """A 3 × 3 QLinearConv with padding: ``inputs`` (else ``channels``) → ``channels``, scales per channel."""
    rng = np.random.default_rng(seed)
    depth = inputs or channels
    constants: dict[str, Array] = {
        "x_scale": np.asarray(0.02, np.float32),
        "x_zero_point": np.asarray(128, np.uint8),
        "w": rng.integers(-128, 128, (channels, depth, 3, 3)).astype(np.int8),
        "w_scale": (rng.random(channels) * 0.01 + 0.001).astype(np.float32),
        "w_zero_point": np.zeros(channels, np.int8),
        "y_scale": np.asarray(0.05, np.float32),
        "y_zero_point": np.asarray(127, np.uint8),
        "B": rng.integers(-5000, 5000, channels).astype(np.int32),
    }
    node = Node("QLinearConv", INPUTS, ("y",), attributes={"pads": (1, 1, 1, 1)})
    x = rng.integers(0, 256, (1, depth, size, size)).astype(np.uint8)
    return Case(Graph((node,), constants, ("x",), ("y",), {"": 21}), {"x": x})


def _run(quick: bool) -> list[Line]:
    channels, size = (8, 14) if quick else (64, 56)
    case = layer(channels, size)
    evaluator = ReferenceEvaluator(case.model())
    positions, taps = size * size, 9 * channels
    a, b = np.ones((positions, taps)), np.ones((taps, channels))
    exact, saturating = schemes()["exact"], OrtCpu("avx2")
    found = timed_in_turn(
        {
            "reference": lambda: evaluator.run(None, dict(case.inputs)),
            "exact": lambda: trace(case.graph, case.inputs, exact),
            "ort_cpu": lambda: trace(case.graph, case.inputs, saturating),
            "onnxruntime": lambda: run_ort_each(case, [case.inputs], SessionConfig()),
            "product": lambda: a @ b,
        },
        repeats=1 if quick else 5,
    )
    words = f"QLinearConv {channels} → {channels} channels, 3 × 3, {size} × {size}: "
    reference = found["reference"].median
    lines = [found["reference"].line(f"{words}the ONNX reference evaluator")]
    for name, label, times in (
        ("exact", "exact, every step", TIMES_EXACT),
        ("ort_cpu", "ort_cpu (avx2), pairs saturate, every step", TIMES_ORT_CPU),
    ):
        ratio = reference / found[name].median
        lines.append(
            found[name].line(
                words + label,
                goal=f"at least {times} times as fast as the reference evaluator",
                met=None if quick else ratio >= times,
                note=f"{ratio:.1f} times as fast",
            )
        )
    lines.append(found["onnxruntime"].line(f"{words}ONNX Runtime, with its session"))
    lines.append(found["product"].line(f"a float64 matrix product of that size ({taps} taps)"))
    return lines


BENCHMARK = Benchmark("layer", "a 64-channel 3 × 3 convolution against the reference", _run)
