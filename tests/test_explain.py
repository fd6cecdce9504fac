"""Where two traces part, and the sentence why: the known reports, by name."""

import numpy as np
import pytest

from qlab.case import Case
from qlab.engines.ort import run_ort
from qlab.engines.results import SessionConfig
from qlab.explain import ignored_bias, is_tie, part
from qlab.graph import Graph, Node
from qlab.schemes import schemes
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.ops.calls import f32, tensor
from tests.ops.test_dynamicquantizelinear import dynamic
from tests.ops.test_matmulinteger import product
from tests.ops.test_qlinearadd import OFF_BY_ONE, qlinear_add
from tests.ops.test_qlinearmatmul import TIES, qlinear_matmul
from tests.ops.test_quantizelinear import quantize


def parted(case, actual=None, expected="exact", at=None):
    """Label and sentence; None where no code differs."""
    traces = (
        trace(case.graph, case.inputs, schemes()[expected]),
        trace(case.graph, case.inputs, actual or OrtCpu("avx2")),
    )
    found = part(*traces, at)
    return (found.label, found.why) if found else None


MIXED = ("uint8", "int8")


@pytest.mark.parametrize(
    ("case", "cpu", "label", "why"),
    [
        (
            OFF_BY_ONE,
            "avx2",
            "out:sum",
            "float32 rounds −87.49999529… to −87.5; a tie goes to the even −88",
        ),
        (
            product([[255, 255]], [[127], [127]], types=MIXED),
            "avx2",
            "out:accumulator",
            "255·127 + 255·127 = 64,770 saturates to 32,767",
        ),
        (
            product([[1, 1, 210, 198]], [[1], [1], [-81], [-80]], types=MIXED),
            "avx2",
            "out:accumulator",
            "210·−81 + 198·−80 = −32,850 saturates to −32,768",
        ),
        (
            product([[255] * 4], [[127]] * 4, types=MIXED),
            "avx2",
            "out:accumulator",
            "255·127 + 255·127 = 64,770 saturates to 32,767 (and one more pair)",
        ),
        (
            product([[255] * 6], [[127]] * 6, types=MIXED),
            "avx2",
            "out:accumulator",
            "255·127 + 255·127 = 64,770 saturates to 32,767 (and 2 more pairs)",
        ),
        (
            quantize(f32([0.35]), f32(0.1)),
            "avx2",
            "out:scaled",
            "float32 rounds 3.499999888… to 3.5; a tie goes to the even 4",
        ),
        (
            # 148 · 2^17 + 2^16 + 1: float32 has no odd number there.
            qlinear_matmul([[255] * 299 + [255, 43]], [[255]] * 299 + [[85], [1]], scales=(1, 1, 2**17)),
            "vnni",
            "out:scaled",
            "the accumulator 19,464,193 becomes 19,464,192 in float32; "
            "float32 rounds 148.5000076… to 148.5; a tie goes to the even 148",
        ),
        (
            qlinear_add([3], [0], (0, 0, 1), (1, 1, 2)),
            "arm64",
            "out:rounded",
            "fixed point rounds half away from zero, before the zero point is added: 3, "
            "where exact arithmetic has 2",
        ),
    ],
    ids=["off by one", "pair", "negative pair", "two pairs", "three pairs", "quotient", "accumulator", "arm64"],
)  # fmt: skip
def test_the_step_and_the_sentence(case, cpu, label, why):
    assert parted(case, OrtCpu(cpu)) == (label, why)


@pytest.mark.parametrize(
    ("case", "cpu"),
    [
        (OFF_BY_ONE, "arm64"),
        (TIES, "avx2"),
        (product([[255, 255]], [[127], [127]], types=MIXED), "vnni"),
        (product([[255, 255]], [[64], [64]], types=MIXED), "avx2"),
        (dynamic([-1, 0.5, 2]), "avx2"),
    ],
)
def test_equal_traces_do_not_part(case, cpu):
    assert parted(case, OrtCpu(cpu)) is None


def test_an_element_is_looked_at_where_it_is_named():
    case = product([[255, 255], [1, 1]], [[127], [127]], types=MIXED)
    assert parted(case, at=("out", (0, 0)))[0] == "out:accumulator"
    assert parted(case, at=("out", (1, 0))) is None


def test_the_first_node_that_differs_is_named():
    nodes = (
        Node("MatMulInteger", ("a", "b"), ("sum",)),
        Node("DequantizeLinear", ("sum", "scale"), ("real",)),
        Node("Relu", ("real",), ("y",)),
    )
    constants = {"b": tensor("int8", [[127], [127]]), "scale": f32(0.5)}
    graph = Graph(nodes, constants, ("a",), ("y",), {"": 21})
    case = Case(graph, {"a": tensor("uint8", [[255, 255]])})
    assert parted(case) == ("sum:accumulator", "255·127 + 255·127 = 64,770 saturates to 32,767")


def test_float32_and_float64_part_from_exact_too():
    assert parted(OFF_BY_ONE, schemes()["float32"]) == (
        "out:sum",
        "float32 rounds −87.49999529… to −87.5; a tie goes to the even −88",
    )
    assert parted(OFF_BY_ONE, schemes()["float64"]) is None


@pytest.mark.parametrize("value", [0.5, -1.5, 2.5, np.float32(-87.5)])
def test_a_tie(value):
    assert is_tie(value)
    assert not is_tie(np.nextafter(np.float64(value), 0))


def qdq_gemm(bias_scale, bias=(1, 27, 100)):
    """A zero input leaves the bias only."""
    nodes = (
        Node("QuantizeLinear", ("x", "x_scale", "x_zp"), ("x_q",)),
        Node("DequantizeLinear", ("x_q", "x_scale", "x_zp"), ("x_dq",)),
        Node("DequantizeLinear", ("w", "w_scale", "w_zp"), ("w_dq",)),
        Node("DequantizeLinear", ("b", "b_scale", "b_zp"), ("b_dq",)),
        Node("Gemm", ("x_dq", "w_dq", "b_dq"), ("gemm",)),
        Node("QuantizeLinear", ("gemm", "y_scale", "y_zp"), ("y_q",)),
        Node("DequantizeLinear", ("y_q", "y_scale", "y_zp"), ("y",)),
    )
    constants = {
        "x_scale": f32(0.02),
        "x_zp": tensor("uint8", 128),
        "w": tensor("int8", [[12, -5, 61], [-7, 44, -2]]),
        "w_scale": f32(0.01),
        "w_zp": tensor("int8", 0),
        "b": tensor("int32", bias),
        "b_scale": f32(bias_scale),
        "b_zp": tensor("int32", 0),
        "y_scale": f32(0.05),
        "y_zp": tensor("uint8", 0),
    }
    graph = Graph(nodes, constants, ("x",), ("y",), {"": 13, "com.microsoft": 1})
    return Case(graph, {"x": f32([[0, 0]])})


def test_the_ignored_scale_of_a_bias_is_named():
    case = qdq_gemm(0.05)
    run = run_ort(case, SessionConfig("ORT_ENABLE_ALL"))
    node, why = ignored_bias(case.graph, run.graph)
    assert node.op_type == "QGemm"
    assert why == (
        "the bias scale 0.05 is ignored: this Gemm is fused into QGemm, "
        "and a fused bias has the scale a_scale·b_scale = 0.0002"
    )
    # What it computed is predicted nevertheless.
    predicted = trace(run.graph, case.inputs, OrtCpu(run.cpu)).outputs
    assert predicted["y"].tolist() == run.outputs["y"].tolist() == [[0, 0, 0]]
    exact = trace(case.graph, case.inputs, schemes()["exact"]).outputs
    np.testing.assert_array_equal(exact["y"], f32([[0.05, 1.35, 5]]))


def test_a_bias_of_the_scale_that_is_assumed_is_not():
    case = qdq_gemm(np.float32(0.02) * np.float32(0.01))
    run = run_ort(case, SessionConfig("ORT_ENABLE_ALL"))
    assert ignored_bias(case.graph, run.graph) is None
    unfused = run_ort(case, SessionConfig("ORT_DISABLE_ALL"))
    assert ignored_bias(case.graph, unfused.graph) is None
