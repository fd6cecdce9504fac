"""ort_cpu against the installed ONNX Runtime: predicted codes equal returned codes, every one."""

from collections.abc import Iterator

import numpy as np
import pytest

from qlab.arithmetic import to_float
from qlab.case import Case
from qlab.engines.ort import emulated_cpus, run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.qtypes import is_float
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.schemes import batteries

LEAST = 200_000  # outputs for each operator and data type
BATTERIES = {
    **{
        f"QLinearAdd {t}": (batteries.elementwise_cases, ("QLinearAdd", t, 1))
        for t in ("int8", "uint8")
    },
    **{
        f"QLinearMul {t}": (batteries.elementwise_cases, ("QLinearMul", t, 2))
        for t in ("int8", "uint8")
    },
    **{
        f"QuantizeLinear {t}": (batteries.quantize_cases, (t, 3))
        for t in ("int8", "uint8", "int16", "uint16", "int4", "uint4")
    },
    **{
        f"DequantizeLinear {t}": (batteries.dequantize_cases, (t, 4))
        for t in ("int8", "uint8", "int16", "uint16", "int32", "int4", "uint4")
    },
    "DynamicQuantizeLinear": (batteries.dynamic_cases, (5,)),
    **{
        f"{op} {a}×{b}": (batteries.matmul_cases, (op, a, b, 6))
        for op in ("QLinearMatMul", "QGemm", "MatMulInteger")
        for a, b in (("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
    },
    "MatMulInteger int8×uint8": (batteries.matmul_cases, ("MatMulInteger", "int8", "uint8", 7)),
    **{
        f"QLinearConv {a}×{b}": (batteries.conv_cases, ("QLinearConv", a, b, 8))
        for a, b in (("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8"))
    },
    **{
        f"ConvInteger {a}×{b}": (batteries.conv_cases, ("ConvInteger", a, b, 9))
        for a, b in (("uint8", "uint8"), ("uint8", "int8"), ("int8", "uint8"), ("int8", "int8"))
    },
}


def mispredicted(cases: Iterator[Case], cpu: str = "this") -> tuple[int, int, str]:
    """Outputs compared, codes mispredicted, and the first case that is."""
    compared = wrong = 0
    first = ""
    for number, case in enumerate(cases):
        run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"), cpu=cpu, timeout=120)
        assert run.status is RunStatus.OK, f"case {number}: {run.message}"
        predicted = trace(case.graph, case.inputs, OrtCpu(run.cpu)).outputs
        for name, actual in run.outputs.items():
            expected = predicted[name]
            assert (expected.dtype, expected.shape) == (actual.dtype, actual.shape), (
                f"case {number} {name}"
            )
            if is_float(actual.dtype):
                expected, actual = (
                    np.ascontiguousarray(to_float(v, np.float32)).view(np.int32)
                    for v in (expected, actual)
                )
            different = np.asarray(expected.astype(np.int64) != actual.astype(np.int64))
            compared += different.size
            wrong += int(different.sum())
            if different.any() and not first:
                where = tuple(int(i) for i in np.argwhere(different)[0])
                first = f"case {number} {name}{list(where)}: predicted {expected[where]}, returned {actual[where]}"
    return compared, wrong, first


@pytest.mark.parametrize("name", BATTERIES)
def test_predicts_onnx_runtime(name: str) -> None:
    """0 mispredicted of at least 200,000."""
    generate, arguments = BATTERIES[name]
    compared, wrong, first = mispredicted(generate(*arguments))
    print(f"{name}: {wrong} of {compared:,} mispredicted")
    assert wrong == 0, first
    assert compared >= LEAST


def _sampled(cases: Iterator[Case], every: int) -> Iterator[Case]:
    return (case for number, case in enumerate(cases) if number % every == 0)


@pytest.mark.parametrize("cpu", ["avx2", "sse"])
@pytest.mark.parametrize("name", BATTERIES)
def test_predicts_other_cpus(name: str, cpu: str) -> None:
    """The same release under an emulated CPU: pairs saturate under avx2, no fused multiply-add under sse."""
    if cpu not in emulated_cpus():
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    generate, arguments = BATTERIES[name]
    every = (
        11
        if name.startswith("Dynamic")
        else 5
        if name.startswith(("QLinearAdd", "QLinearMul"))
        else 3
    )
    compared, wrong, first = mispredicted(_sampled(generate(*arguments), every), cpu)
    print(f"{name} on {cpu}: {wrong} of {compared:,} mispredicted")
    assert wrong == 0, first


def test_channels_last() -> None:
    """com.microsoft QLinearConv with channels_last."""
    cases = batteries.conv_cases("QLinearConv", "uint8", "int8", 10, channels_last=True)
    compared, wrong, first = mispredicted(cases)
    assert wrong == 0, first
    assert compared > 100_000
