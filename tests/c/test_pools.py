"""Pools as C over the batteries: every geometry, ties of means, NaN and both zeros, windows without an element."""

import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.c import c_program
from qlab.engines.cpu import cpu_class
from qlab.engines.ort import run_ort
from qlab.engines.results import SessionConfig
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.c.compiled import call, needs_compiler, none_differs

pytestmark = needs_compiler
SCHEMES = {
    **{name: scheme(name) for name in ("exact", "float32", "float64")},
    **{cpu: OrtCpu(cpu) for cpu in ("avx2", "arm64")},
}
GEOMETRIES = 14  # of pools, before those with dilations
NOWHERE = GEOMETRIES + 3  # a window whose taps are all padding


def every(battery, step, first=0):
    """Every ``step``-th case of a battery."""
    return itertools.islice(batteries()[battery].cases(0), first, None, step)


def called(program, folder, inputs, output):
    """A library is loaded once from a path: each has its own folder."""
    folder.mkdir()
    return call(program, folder, inputs, output)


@pytest.mark.parametrize("battery", ["QLinearAveragePool int8", "QLinearGlobalAveragePool uint8"])
@pytest.mark.parametrize("name", SCHEMES)
def test_means_of_codes(name, battery):
    """Directed ties first, then every geometry; of a global pool both ends of the multiplier."""
    step = 26 if name == "avx2" else 52
    for case in every(battery, step):
        if max(v.size for v in case.inputs.values()) < 20_000:
            none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("battery", ["AveragePool float32", "MaxPool float32"])
@pytest.mark.parametrize("name", SCHEMES)
def test_pools_of_reals(name, battery):
    """The kernel that takes an image, the one that takes columns, and the loop."""
    for case in every(battery, 7 if name == "avx2" else 19):
        none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("name", SCHEMES)
def test_a_window_without_an_element(name):
    for battery in ("AveragePool float32", "MaxPool float32", "MaxPool int8"):
        none_differs(next(every(battery, 1, NOWHERE)), SCHEMES[name])


@pytest.mark.parametrize("name", ["exact", "float64", "avx2", "arm64"])
def test_images(name):
    for number, case in enumerate(every("GlobalAveragePool float32", 9)):
        if number % 2 == 0 or name == "avx2":
            one = case.inputs["X"][:, :40]
            none_differs(case.with_tensor("X", one), SCHEMES[name])


@pytest.mark.parametrize("battery", ["MaxPool uint8", "NhwcMaxPool int8"])
def test_largest_codes(battery):
    for number, case in enumerate(every(battery, 5)):
        none_differs(case, list(SCHEMES.values())[number % len(SCHEMES)])


@pytest.mark.parametrize("operator", ["AveragePool", "GlobalAveragePool", "MaxPool"])
@pytest.mark.parametrize("name", ["float32", "float64", "avx2"])
def test_groups(name, operator):
    """Between DequantizeLinear and QuantizeLinear; the last one between convolutions."""
    for case in every(f"QDQ {operator} int8", 29):
        none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("battery", ["AveragePool float32", "MaxPool float32"])
@pytest.mark.parametrize("cpu", ["avx2", "arm64"])
def test_both_zeros(cpu, battery, tmp_path):
    """A main compares numbers; here the sign of a zero counts."""
    for number, case in enumerate(every(battery, 12, 3)):
        program = c_program(case, OrtCpu(cpu))
        traced = trace(case.graph, case.inputs, OrtCpu(cpu)).outputs[case.graph.outputs[0]]
        written = called(program, tmp_path / str(number), case.inputs, traced)
        is_number = ~np.isnan(traced)
        np.testing.assert_array_equal(np.isnan(written), ~is_number)
        bits = [v.view(np.int32)[is_number] for v in (written, traced)]
        np.testing.assert_array_equal(*bits)


@pytest.mark.parametrize("battery", ["QLinearAveragePool uint8", "QLinearGlobalAveragePool int8"])
def test_agrees_with_onnx_runtime(battery, tmp_path):
    """Not with the trace: with what the engine returns."""
    for number, case in enumerate(every(battery, 90)):
        actual = run_ort(case, SessionConfig("ORT_DISABLE_ALL")).outputs[case.graph.outputs[0]]
        program = c_program(case, OrtCpu(cpu_class() or "avx2"))
        written = called(program, tmp_path / str(number), case.inputs, actual)
        np.testing.assert_array_equal(written, actual)
