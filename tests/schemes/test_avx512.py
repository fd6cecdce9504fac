"""A CPU with AVX-VNNI and no AVX-512 is of the class vnni; its Softmax is that of AVX2."""

import numpy as np
import pytest

from qlab.builder import build
from qlab.errors import TraceError
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.ops.calls import call


def softmax(scheme):
    case = call("Softmax", {"input": np.array([0.0, -95.0], np.float32)}, opset=13)
    return trace(case.graph, case.inputs, scheme).outputs["out"]


def test_softmax_is_of_the_registers_that_are_there():
    assert softmax(OrtCpu("vnni"))[1] > 0
    assert softmax(OrtCpu("vnni", avx512=False))[1] == 0
    assert softmax(OrtCpu("avx2", avx512=True))[1] > 0
    assert softmax(OrtCpu("sse", avx512=True))[1] == softmax(OrtCpu("sse"))[1]


@pytest.mark.parametrize("scheme", [OrtCpu("vnni", avx512=False), OrtCpu("avx2", avx512=True)])
def test_matmulnbits_of_such_a_cpu_is_not_guessed(scheme):
    case = build("MatMulNBits", dtype="float32")
    with pytest.raises(TraceError, match="only one of VNNI and AVX-512"):
        trace(case.graph, case.inputs, scheme)
