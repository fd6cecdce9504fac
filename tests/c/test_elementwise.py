"""QLinearAdd and QLinearMul over all pairs of codes; QuantizeLinear and DequantizeLinear on ties and ends."""

import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.builder import build
from qlab.c import c_program
from qlab.engines.cpu import cpu_class
from qlab.engines.ort import run_ort
from qlab.engines.results import SessionConfig
from qlab.formats.load import load_case
from qlab.schemes import DEFAULT, scheme
from qlab.schemes.ort_cpu import CPUS, OrtCpu
from tests.c.compiled import call, needs_compiler, none_differs, over_all_codes

pytestmark = needs_compiler
FMA = ("-mfma",)  # fmaf is one instruction then, as in ONNX Runtime's kernel


def test_the_case_that_is_off_by_one():
    """ONNX Runtime returns -88 there, not -87; in C too."""
    case = load_case("qlinearadd-off-by-one")
    run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"))
    source = c_program(case, OrtCpu("avx2")).source
    assert "fmaf(" in source
    assert int(run.outputs["C"].reshape(-1)[0]) == -88


def test_agrees_with_onnx_runtime_on_all_pairs(tmp_path):
    """Not with the trace: with what the engine returns."""
    case = over_all_codes(load_case("qlinearadd-off-by-one"))
    actual = run_ort(case, SessionConfig("ORT_DISABLE_ALL")).outputs["C"]
    program = c_program(case, OrtCpu(cpu_class() or "avx2"))
    written = call(program, tmp_path, case.inputs, actual)
    assert written.size == 65_536
    np.testing.assert_array_equal(written, actual)
    at = tuple(
        int(np.where(case.inputs[n].reshape(-1) == v)[0][0])
        for n, v in zip("AB", PAIR, strict=True)
    )
    assert written[at] == -88


PAIR = tuple(int(load_case("qlinearadd-off-by-one").inputs[n].reshape(-1)[0]) for n in "AB")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("name", [n for n in DEFAULT if n != "ort_cpu"])
def test_all_pairs(name, operator, dtype):
    case = over_all_codes(build(operator, dtype=dtype))
    assert none_differs(case, scheme(name)) >= 65_536


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
def test_all_pairs_on_each_cpu(operator, cpu):
    case = over_all_codes(build(operator, dtype="int8"))
    assert none_differs(case, OrtCpu(cpu)) >= 65_536


@pytest.mark.parametrize(
    "battery", ["QLinearAdd int8", "QuantizeLinear int16", "DequantizeLinear uint8"]
)
@pytest.mark.parametrize("name", DEFAULT)
def test_battery(name, battery):
    """Directed ties and saturation first."""
    for case in itertools.islice(batteries()[battery].cases(0), 0, None, 8):
        finite = all(np.isfinite(v).all() for v in case.graph.constants.values())
        if finite or name != "exact":  # which says that it needs finite scales
            none_differs(case, scheme(name))
