"""Sigmoid, LeakyRelu and Softmax of codes and of reals as C, Clip of codes: over all codes, over the batteries."""

import dataclasses
import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.batteries.inputs import one_node
from qlab.builder import build
from qlab.c import c_program, c_source
from qlab.c.dequantized import MARGIN, require_decided
from qlab.case import Case
from qlab.engines.cpu import cpu_class
from qlab.engines.ort import run_ort
from qlab.engines.results import SessionConfig
from qlab.errors import ExportError
from qlab.schemes import Scheme, scheme
from qlab.schemes.ort_cpu import CPUS, OrtCpu
from tests.c.compiled import call, needs_compiler, none_differs, over_all_codes

pytestmark = needs_compiler
SPECIFICATION = ("exact", "float32", "float64")
SCHEMES: dict[str, Scheme] = {n: scheme(n) for n in SPECIFICATION} | {c: OrtCpu(c) for c in CPUS}
RELEASES = ("1.15.0", "1.16.0", "1.28.0", "1.31.1")


def some(battery: str, step: int) -> list[Case]:
    """Every ``step``-th case; of large tensors the first entries."""
    return [first(case) for case in itertools.islice(batteries()[battery].cases(0), 0, None, step)]


def first(case: Case) -> Case:
    """The case with at most 20,000 rows of its inputs."""
    inputs = {n: v[:20_000] if v.ndim else v for n, v in case.inputs.items()}
    return dataclasses.replace(case, inputs=inputs)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("operator", ["QLinearSigmoid", "QLinearLeakyRelu"])
@pytest.mark.parametrize("name", SCHEMES)
def test_all_codes(name, operator, dtype):
    assert none_differs(over_all_codes(build(operator, dtype=dtype)), SCHEMES[name]) >= 256


@pytest.mark.parametrize("battery", ["QLinearSigmoid int8", "QLinearLeakyRelu uint8"])
@pytest.mark.parametrize("name", ["exact", "float32", "avx2"])
def test_tables(name, battery):
    """Scales at which an entry is a tie, extreme ones."""
    for case in some(battery, 60):
        none_differs(case, SCHEMES[name])


def test_leaky_relu_with_a_negative_scale():
    """real is negative then where the code is above the zero point."""
    case = over_all_codes(build("QLinearLeakyRelu", dtype="int8"))
    for where in ("inputs", "constants"):
        holder = case if where == "inputs" else case.graph
        values = dict(getattr(holder, where))
        if "X_scale" in values:
            values["X_scale"] = -values["X_scale"]
            changed = dataclasses.replace(holder, **{where: values})
            case = changed if where == "inputs" else dataclasses.replace(case, graph=changed)
    for name in SPECIFICATION:
        none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("name", SCHEMES)
def test_leaky_relu_of_reals(name):
    none_differs(some("LeakyRelu float32", 5)[1], SCHEMES[name])


@pytest.mark.parametrize("cpu", CPUS)
def test_sigmoid_of_reals(cpu):
    for case in some("Sigmoid float32", 3)[1:]:
        none_differs(case, OrtCpu(cpu))


def test_sigmoid_passes_one_as_the_kernel_does(tmp_path):
    """1 + 2^-23 for a few x near 18 on AVX2: not the trace is compared, but what the engine returns."""
    x = np.nextafter(np.float32(18), np.float32(0)) - np.arange(20_000).astype(np.float32) * 2**-19
    case = one_node("Sigmoid", ("X",), {"X": x.astype(np.float32)}, ("X",))
    actual = next(iter(run_ort(case, SessionConfig("ORT_DISABLE_ALL")).outputs.values()))
    written = call(c_program(case, OrtCpu(cpu_class() or "avx2")), tmp_path, case.inputs, actual)
    np.testing.assert_array_equal(written, actual)


@pytest.mark.parametrize("name", SPECIFICATION)
@pytest.mark.parametrize("operator", ["Sigmoid", "Softmax"])
def test_any_real_is_refused_where_exp_is_none_of_c(operator, name):
    with pytest.raises(ExportError, match="ort_cpu"):
        c_source(some(f"{operator} float32", 6)[0], SCHEMES[name])


@pytest.mark.parametrize("operator", ["Sigmoid", "LeakyRelu", "Softmax"])
@pytest.mark.parametrize("name", ["float32", "float64", "avx2", "sse", "vnni"])
def test_groups(name, operator):
    """Between DequantizeLinear and QuantizeLinear; 40,000 codes."""
    for case in some(f"QDQ {operator} int8", 4):
        none_differs(case, SCHEMES[name])


def test_a_float_that_an_error_of_exp_may_change_is_refused():
    middle = 1 + 2.0**-24  # between 1 and the next float

    def undecided(_: float) -> float:
        return middle * (1 + MARGIN / 2)

    with pytest.raises(ExportError, match="near to the middle"):
        require_decided(None, np.zeros(1), undecided, "exp")  # type: ignore[arg-type]
    require_decided(None, np.zeros(1), lambda _: middle * (1 + 4 * MARGIN), "exp")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["avx2", "sse", "vnni"])
def test_softmax_of_reals(name):
    """Rows of lengths at which the order of the sum changes; infinities; axes."""
    for case in some("Softmax float32", 13):
        none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("battery", ["QLinearSoftmax int8", "QLinearSoftmax uint8"])
@pytest.mark.parametrize("name", SCHEMES)
def test_softmax_of_codes(name, battery):
    """Rows that are tied for their x_scale; extreme scales; axes and flat rows."""
    for case in some(battery, 110):
        none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("cpu", ["avx2", "arm64"])
@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_softmax_of_older_releases(dtype, version, cpu):
    """Codes above 127 wrap up to 1.28; products overflow up to 1.31."""
    cases = some(f"QLinearSoftmax {dtype}", 1)
    for case in (cases[1], cases[220 + 9]):
        none_differs(case, OrtCpu(cpu, version=version))


def test_softmax_in_exact_needs_a_scale_of_few_bits():
    case = next(c for c in some("QLinearSoftmax int8", 1) if 0 < _value(c, "y_scale") < 1e-30)
    with pytest.raises(ExportError, match="y_scale .* needs more than 62 bits"):
        c_source(case, SCHEMES["exact"])


def _value(case: Case, name: str) -> float:
    return float({**case.graph.constants, **case.inputs}[name])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_clip_of_codes(dtype):
    x = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
    tensors = {"input": x, "min": np.asarray(3, dtype), "max": np.asarray(100, dtype)}
    for names in (("input", "min", "max"), ("input", "min"), ("input",)):
        given = {n: tensors[n] for n in names}
        case = one_node("Clip", ("input", "min", "max"), given, ("input",))
        for name in ("exact", "avx2"):
            none_differs(case, SCHEMES[name])
