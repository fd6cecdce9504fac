"""QDQ groups: the graph that ONNX Runtime says it ran, traced with ort_cpu, gives the codes that it returned."""

import collections
import functools
from collections.abc import Iterator

import numpy as np
import pytest

from qlab.case import Case
from qlab.engines.ort import emulated_cpus, run_ort
from qlab.engines.results import EngineRun, RunStatus, SessionConfig
from qlab.qtypes import Array
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import Trace, trace
from tests.schemes.qdq_groups import groups

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")
SEED = 0
SAMPLED = {"ORT_DISABLE_ALL": 9, "ORT_ENABLE_ALL": 2}  # the emulated CPU is ten times slower
Ran = tuple[str, Case, EngineRun, Trace]


@functools.cache
def ran(level: str, cpu: str) -> tuple[Ran, ...]:
    """Name, case, run and prediction of each group; under an emulated CPU of a sample."""
    every = 1 if cpu == "this" else SAMPLED[level]

    def each() -> Iterator[Ran]:
        for name, case in list(groups(SEED))[::every]:
            run = run_ort(case, SessionConfig(level), cpu=cpu, timeout=60)
            assert run.status is RunStatus.OK, f"{name}: {run.message}"
            assert run.graph is not None
            yield name, case, run, trace(run.graph, case.inputs, OrtCpu(run.cpu))

    return tuple(each())


def differing(predicted: Trace, run: EngineRun) -> Array:
    """True where an output is not the predicted one, bit for bit."""
    parts = []
    for name, value in run.outputs.items():
        expected = predicted.outputs[name]
        assert (expected.dtype, expected.shape) == (value.dtype, value.shape)
        parts.append((expected.view(np.uint32) != value.view(np.uint32)).reshape(-1))
    return np.concatenate(parts)


def mispredicted(level: str, cpu: str) -> tuple[int, list[str]]:
    """Outputs compared, and what is wrong."""
    compared, wrong = 0, []
    for name, _, run, predicted in ran(level, cpu):
        different = differing(predicted, run)
        compared += different.size
        if different.any():
            operators = [n.node.qualified_name for n in predicted.nodes]
            wrong.append(f"{name}: {different.sum()} of {different.size} of {operators}")
    return compared, wrong


@pytest.mark.parametrize("level", LEVELS)
def test_predicts_onnx_runtime(level):
    compared, wrong = mispredicted(level, "this")
    print(f"{level}: {len(wrong)} of {compared:,} mispredicted")
    assert not wrong, wrong
    assert compared >= 200_000


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("cpu", ["avx2", "sse"])
def test_predicts_other_cpus(level, cpu):
    if cpu not in emulated_cpus():
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    compared, wrong = mispredicted(level, cpu)
    assert not wrong, wrong
    assert compared >= 15_000


def test_no_node_is_opaque():
    for level in LEVELS:
        for name, _, _, predicted in ran(level, "this"):
            assert not any(n.opaque for n in predicted.nodes), name


def test_the_groups_are_fused():
    """What ORT_ENABLE_ALL makes of them; otherwise the prediction of fused operators would be empty."""
    made = collections.Counter(n.node.qualified_name for _, _, _, t in ran("ORT_ENABLE_ALL", "this") for n in t.nodes)  # fmt: skip
    for operator in (
        "com.microsoft.QLinearConv",
        "QLinearMatMul",
        "com.microsoft.QGemm",
        "com.microsoft.QLinearAdd",
        "com.microsoft.QLinearMul",
        "com.microsoft.MatMulIntegerToFloat",
    ):
        assert made[operator] >= 4, (operator, made)
    left = {n.node.op_type for _, _, _, t in ran("ORT_DISABLE_ALL", "this") for n in t.nodes}
    assert {"Conv", "MatMul", "Gemm", "Add", "Mul", "Relu", "Clip", "Transpose", "Reshape", "Flatten", "Identity"} <= left  # fmt: skip


def test_saturated_pairs_are_needed_to_predict_avx2():
    """int8 activations too: they are rewritten to uint8, and then pairs saturate."""
    if "avx2" not in emulated_cpus():
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    changed = set()
    for name, case, run, predicted in ran("ORT_ENABLE_ALL", "avx2"):
        exact = trace(run.graph, case.inputs, OrtCpu("vnni"))
        if any(not np.array_equal(exact.outputs[n], v) for n, v in predicted.outputs.items()):
            changed.add(name)
    assert {"Conv uint8×int8", "Conv int8×int8"} <= changed, changed
