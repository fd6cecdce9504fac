"""ort_cpu against the installed ONNX Runtime: predicted codes equal returned codes, every one of every battery."""

import functools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.batteries.convolutions import conv_cases
from qlab.engines.ort import emulated_cpus, run_ort
from qlab.engines.results import SessionConfig
from qlab.fidelity import Row, measure
from qlab.ops import operators
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace

LEAST = 200_000  # outputs of each battery, of as many seeds as it takes
# Under an emulated CPU, about ten times slower, each such case of a battery only.
EVERY = {"DynamicQuantizeLinear": 11, "QLinearAdd": 5, "QLinearMul": 5}
EVERY_QDQ, EVERY_OTHER = 7, 3
EVERY_TYPE = 29  # of codes of other widths and floats of other formats: 97 batteries that share their kernels
# A group that ONNX Runtime leaves as it is stays a few float operators; these do fuse.
FUSED = {
    "Conv": "com.microsoft.QLinearConv",
    "MatMul": "QLinearMatMul",
    "Gemm": "com.microsoft.QGemm",
    "Add": "com.microsoft.QLinearAdd",
    "Mul": "com.microsoft.QLinearMul",
    "Concat": "com.microsoft.QLinearConcat",
    "Where": "com.microsoft.QLinearWhere",
}


@functools.cache
def counted(name: str) -> Row:
    return measure(batteries()[name], least=LEAST)


@pytest.mark.parametrize("name", batteries())
def test_predicts_onnx_runtime(name):
    row = counted(name)
    print(f"{name}: {row.mispredicted} of {row.compared:,} mispredicted")
    assert row.perfect, row.first
    assert row.compared >= LEAST


@pytest.mark.parametrize("cpu", ["avx2", "sse"])
@pytest.mark.parametrize("name", batteries())
def test_predicts_other_cpus(name, cpu):
    """The same release under an emulated CPU: pairs saturate under avx2, no fused multiply-add under sse."""
    if cpu not in emulated_cpus():
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    battery = batteries()[name]
    every = EVERY_QDQ if battery.form == "QDQ" else EVERY.get(battery.operator, EVERY_OTHER)
    if not set(battery.dtypes.split(" × ")) <= {"uint8", "int8", "float32", "all"}:
        every = EVERY_TYPE
    row = measure(battery, every=every, cpu=cpu)
    assert row.cpu == cpu
    assert row.perfect, row.first


@pytest.mark.parametrize("name", [n for n, b in batteries().items() if b.operator in FUSED])
def test_the_groups_are_fused(name):
    """Otherwise the prediction of fused operators would be empty. With 16 or 4 bits there is nothing to fuse into."""
    battery = batteries()[name]
    of_8_bits = set(battery.dtypes.split(" × ")) <= {"uint8", "int8"}
    assert (FUSED[battery.operator] in counted(name).operators) == of_8_bits


def test_every_operator_is_in_a_battery():
    """Directly or in a group."""
    met = set().union(*(counted(name).operators for name in batteries()))
    known = {f"{domain}.{op}".strip(".") for domain, op in operators()}
    assert known <= met


def test_saturated_pairs_are_needed_to_predict_avx2():
    """int8 activations too: they are rewritten to uint8, and then pairs saturate."""
    if "avx2" not in emulated_cpus():
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    for name in ("QDQ Conv uint8 × int8", "QDQ Conv int8 × int8"):
        changed = 0
        for case in list(batteries()[name].cases(0))[::3]:
            run = run_ort(case, SessionConfig("ORT_ENABLE_ALL"), cpu="avx2", timeout=60)
            exact = trace(run.graph, case.inputs, OrtCpu("vnni")).outputs
            changed += any(not np.array_equal(exact[n], v) for n, v in run.outputs.items())
        assert changed, name


def test_channels_last():
    """com.microsoft QLinearConv with channels_last."""
    for case in conv_cases("QLinearConv", "uint8", "int8", 10, channels_last=True):
        run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"), timeout=60)
        predicted = trace(case.graph, case.inputs, OrtCpu(run.cpu)).outputs
        np.testing.assert_array_equal(predicted["y"], run.outputs["y"])
