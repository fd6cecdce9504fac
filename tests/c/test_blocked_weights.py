"""MatMulNBits as C: every order in which ONNX Runtime adds blocks, and the zero points that it does or does not read."""

import itertools

import numpy as np
import pytest

from qlab.batteries import batteries
from qlab.batteries.blocked import call
from qlab.c import c_source
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from tests.c.compiled import needs_compiler, none_differs

pytestmark = needs_compiler
SCHEMES = {
    "float32": scheme("float32"),
    "float64": scheme("float64"),
    "avx2": OrtCpu("avx2"),
    "vnni": OrtCpu("vnni"),
    "sse": OrtCpu("sse"),
}


@pytest.mark.parametrize("cpu", ["avx2", "vnni"])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("size", [16, 32, 64, 128, 512])
def test_accuracy_level_4(size, bits, cpu):
    """Groups of blocks and those left over, rows in pairs and a last one, columns in fours and those left over."""
    shapes = [
        ((1, 4 * size), 4),
        ((3, 11 * size - 5 if size < 64 else 3 * size - 5), 6),
        ((2, 3, size + 1), 3),
    ]
    for number, (shape, n) in enumerate(shapes):
        case = call(
            np.random.default_rng(number), shape, n, block_size=size, bits=bits, level=4,
            zero_points=number != 2, bias=number != 1,
        )  # fmt: skip
        none_differs(case, OrtCpu(cpu))


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("fed", [("B",), ("zero_points",), ("B", "scales", "zero_points")])
def test_inputs_that_are_no_initializers(fed, name):
    """They decide which kernel runs, so they stay inputs."""
    for rows, level in ((1, 0), (2, 0), (1, 4), (2, 4)):
        case = call(
            np.random.default_rng(7), (rows, 100), 5, block_size=32, bits=4, level=level,
            zero_points=True, bias=True, fed=fed,
        )  # fmt: skip
        none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("battery", [b for b in batteries() if b.startswith("MatMulNBits")])
@pytest.mark.parametrize("name", SCHEMES)
def test_battery(name, battery):
    small = (
        case
        for case in batteries()[battery].cases(0)
        if sum(v.size for v in (*case.inputs.values(), *case.graph.constants.values())) < 9000
    )
    for case in itertools.islice(small, 0, None, 40):
        none_differs(case, SCHEMES[name])


def test_two_bits():
    """The specification has them; ONNX Runtime's kernels are not modelled."""
    case = call(
        np.random.default_rng(0), (2, 40), 3, block_size=16, bits=2, level=0, zero_points=True, bias=True,
    )  # fmt: skip
    assert "& 3" in c_source(case, scheme("float32"))
    none_differs(case, scheme("float32"))
