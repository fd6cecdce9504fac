"""The batteries of other types can fail: each deliberately wrong variant of ort_cpu is rejected by one of them."""

import dataclasses
import functools

import numpy as np
import pytest

from qlab.arithmetic import to_float8
from qlab.batteries import batteries
from qlab.batteries.types import FLOAT16, FLOAT32, MICROSOFT, dequantize_cases, quantize_cases
from qlab.compare import differing
from qlab.engines.ort import run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.fidelity import measure
from qlab.kernels.numbers import f16, f32
from qlab.qtypes import DTYPES, is_float8
from qlab.runtimes.store import versions_here
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import Step, trace


class _Float8(OrtCpu):
    """QuantizeLinear to float8 in another way."""

    def quantize(self, x, target):
        if not is_float8(target.dtype):
            return (yield from super().quantize(x, target))
        value = self.float8(f32(f32(x) / f32(target.scale)), target)
        yield Step("output", "", value, tensor=target.tensor)
        return value

    def float8(self, scaled, target):
        return to_float8(scaled, target.dtype, saturate=target.saturate)


class Specified(_Float8):
    """What the specification has beyond the largest number."""


class AlwaysSaturates(_Float8):
    def float8(self, scaled, target):
        return to_float8(scaled, target.dtype, saturate=True)


class NeverSaturates(_Float8):
    def float8(self, scaled, target):
        return to_float8(scaled, target.dtype, saturate=False)


class ThroughFloat16(_Float8):
    """Rounded twice, as hardware does that has no instruction from float32."""

    def float8(self, scaled, target):
        return to_float8(f16(scaled), target.dtype, saturate=target.saturate)


class TruncatesFloat8(_Float8):
    def float8(self, scaled, target):
        near = to_float8(scaled, target.dtype, saturate=True)
        above = np.abs(near.astype(np.float32)) > np.abs(scaled)
        bits = near.view(np.uint8) - above.astype(np.uint8)
        return bits.view(DTYPES[target.dtype])


class DividesInFloat32(OrtCpu):
    """Whatever the precision is."""

    def quantize(self, x, target):
        return (yield from super().quantize(x, dataclasses.replace(target, precision="")))


class DividesInFloat16(OrtCpu):
    """Whatever the precision is, where x is float16."""

    def quantize(self, x, target):
        precision = "float16" if x.dtype == np.float16 else target.precision
        return (yield from super().quantize(x, dataclasses.replace(target, precision=precision)))


class OneRounding(OrtCpu):
    """The exact product of DequantizeLinear rounded to float16 once, not to float32 first."""

    def dequantize(self, q, tensor, dtype):
        value = (q.codes.astype(np.float64) - q.zero_point) * q.scale.astype(np.float64)
        yield Step("output", "", value.astype(dtype), tensor=tensor, dtype=dtype)
        return value


class MultipliesByTheReciprocal(OrtCpu):
    def quantize(self, x, target):
        inverse = f32(np.float32(1) / f32(target.scale))
        return (yield from self.to_codes(f32(f32(x) * inverse), target))


def an_older_release(cpu):
    return OrtCpu(cpu, version="1.31.0")


def cases(operator, dtype, kinds):
    make = quantize_cases if operator == "QuantizeLinear" else dequantize_cases
    return functools.partial(make, dtype, kinds, 3)


WRONG = [
    (Specified, cases("QuantizeLinear", "float8_e4m3fn", FLOAT32)),
    (Specified, cases("QuantizeLinear", "float8_e5m2", FLOAT32)),
    *(
        (wrong, cases("QuantizeLinear", dtype, FLOAT32))
        for wrong in (AlwaysSaturates, NeverSaturates, ThroughFloat16, TruncatesFloat8)
        for dtype in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
    ),
    (DividesInFloat32, cases("QuantizeLinear", "int8", FLOAT16)),
    (DividesInFloat32, cases("QuantizeLinear", "float8_e4m3fn", FLOAT16)),
    (DividesInFloat16, cases("QuantizeLinear", "int8", FLOAT16)),
    (OneRounding, cases("DequantizeLinear", "int32", FLOAT16)),
    (MultipliesByTheReciprocal, cases("QuantizeLinear", "uint16", MICROSOFT)),
    (an_older_release, cases("QuantizeLinear", "uint4", FLOAT32)),
    (an_older_release, cases("QuantizeLinear", "int8", FLOAT32)),
    (an_older_release, cases("QuantizeLinear", "int8", FLOAT16)),
]


def rejected(emulator, made):
    for case in made():
        run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"), timeout=60)
        assert run.status is RunStatus.OK, run.message
        with np.errstate(all="ignore"):
            predicted = trace(case.graph, case.inputs, emulator(run.cpu)).outputs
        if any(differing(predicted[n], v).any() for n, v in run.outputs.items()):
            return True
    return False


@pytest.mark.parametrize(
    ("emulator", "made"), WRONG, ids=[f"{w.__name__}-{n}" for n, (w, _) in enumerate(WRONG)]
)
def test_a_wrong_emulator_is_rejected(emulator, made):
    assert rejected(emulator, made)


@pytest.mark.parametrize("dtype", ["float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_the_frame_of_the_wrong_ones_is_right(dtype):
    """In these formats the kernel does what the specification has."""
    assert not rejected(_Float8, cases("QuantizeLinear", dtype, FLOAT32))


OLDER = ("1.16.3", "1.19.2", "1.20.0", "1.22.1", "1.25.1", "1.28.0", "1.29.0", "1.30.0", "1.31.1")
OF_TYPES = [
    name
    for name, battery in batteries().items()
    if battery.operator.endswith("QuantizeLinear") and battery.form == "QOperator"
]


@pytest.mark.parametrize("version", OLDER)
@pytest.mark.parametrize("name", OF_TYPES)
def test_predicts_older_releases(name, version):
    """Except what they refuse: reals of two types, 2 bits per axis before 1.31.0 (which is not modelled)."""
    if version not in versions_here():
        pytest.skip(f"onnxruntime {version} is not on this machine")
    row = measure(batteries()[name], version=version)
    assert row.version == version
    assert not row.mispredicted, row.first


def test_an_older_release_is_needed_to_predict_it():
    if "1.29.0" not in versions_here():
        pytest.skip("onnxruntime 1.29.0 is not on this machine")
    case = next(quantize_cases("int8", FLOAT16, 0))
    run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"), version="1.29.0")
    newest = trace(case.graph, case.inputs, OrtCpu(run.cpu)).outputs["y"]
    older = trace(case.graph, case.inputs, OrtCpu(run.cpu, version="1.29.0")).outputs["y"]
    assert (newest != run.outputs["y"]).any()
    assert (older == run.outputs["y"]).all()
