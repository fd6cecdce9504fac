"""com.microsoft QGemm: codes by hand; C is taken in steps of a_scale · b_scale, and alpha scales it too."""

import numpy as np
import pytest

from qlab.case import Case
from qlab.engines.ort import run_ort
from qlab.errors import TraceError
from qlab.graph import Graph
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, tensor


def qgemm(a, b, c=None, y=(1, 0), zero_points=(0, 0), scales=(1, 1), types=("uint8", "uint8"), **attributes):  # fmt: skip
    tensors = {
        "A": tensor(types[0], a),
        "a_scale": f32(scales[0]),
        "a_zero_point": tensor(types[0], zero_points[0]),
        "B": tensor(types[1], b),
        "b_scale": f32(scales[1]),
        "b_zero_point": tensor(types[1], zero_points[1]),
    }
    if c is not None:
        tensors["C"] = tensor("int32", c)
    if y:
        tensors |= {"y_scale": f32(y[0]), "y_zero_point": tensor(types[0], y[1])}
    case = call("QGemm", tensors, domain="com.microsoft", **attributes)
    # ONNX Runtime wants a constant B.
    constants = {"B": tensors["B"]}
    fed = {k: v for k, v in tensors.items() if k != "B"}
    graph = Graph(case.graph.nodes, constants, tuple(fed), ("out",), case.graph.opset)
    return Case(graph, fed)


def test_by_hand():
    # (3 - 1)·(4 - 2) + (5 - 1)·(6 - 2) + 10 = 30, · 0.5·0.25/0.5 = 7.5, a tie: 8, + 7
    case = qgemm([[3, 5]], [[4], [6]], [10], (0.5, 7), (1, 2), (0.5, 0.25))
    everywhere(case, [[15]], "uint8")


@pytest.mark.parametrize(("zero_point", "expected"), [(0, [[0, 2, 2, 4]]), (1, [[1, 3, 3, 5]])])
def test_ties_go_to_the_even_before_the_zero_point(zero_point, expected):
    case = qgemm([[1]], [[1, 3, 5, 7]], None, (2, zero_point))
    everywhere(case, expected, "uint8")


def test_saturates_at_both_ends():
    everywhere(qgemm([[127]], [[127, -128]], types=("int8", "int8")), [[127, -128]], "int8")


def test_alpha_scales_the_bias_too():
    everywhere(qgemm([[4]], [[2]], [4], alpha=0.5), [[6]], "uint8")


def test_transposes():
    a, b = [[1], [2]], [[3, 4], [5, 6]]
    everywhere(qgemm(np.transpose(a).tolist(), b), [[13, 16]])
    everywhere(qgemm(a, b, transA=1), [[13, 16]])
    everywhere(qgemm(a, b, transA=1, transB=1), [[11, 17]])


def test_columns_have_scales_and_zero_points_of_their_own():
    case = qgemm([[2, 3]], [[4, 5], [6, 7]], None, (1, 0), (0, (1, 2)), (1, (1, 0.5)), ("uint8", "int8"))  # fmt: skip
    everywhere(case, [[21, 10]], "uint8")


@pytest.mark.parametrize("c", [[1, 2], [[1, 2]], 5, [[5]], [[1], [2]], [[1, 2], [3, 4]]])
def test_the_bias_broadcasts(c):
    expected = np.ones((2, 2)) + np.asarray(c)
    case = qgemm([[1], [1]], [[1, 1]], c)
    for name in SCHEMES:
        equal(result(case, name), expected, "uint8")


def test_without_an_output_scale_the_result_is_real():
    case = qgemm([[3, 5]], [[4], [6]], [10], (), (1, 2), (0.5, 0.25))
    everywhere(case, f32([[3.75]]), "float32")


def test_an_output_scale_without_a_zero_point():
    case = call("QGemm", {k: v for k, v in qgemm([[3]], [[4]]).inputs.items() if k != "y_zero_point"} | {"B": tensor("uint8", [[4]])}, domain="com.microsoft")  # fmt: skip
    with pytest.raises(TraceError, match="y_scale is given without y_zero_point"):
        result(case)


def test_pairs_saturate_on_avx2():
    case = qgemm([[255, 255]], [[127], [127]], None, (512, 0), types=("uint8", "int8"))
    equal(result(case), [[127]])
    equal(result(case, "ort_cpu", "avx2"), [[64]])
    run = run_ort(case)
    equal(run.outputs["out"], result(case, "ort_cpu", run.cpu))


def test_a_sum_that_leaves_int32_wraps_in_the_kernel():
    case = qgemm([[1]], [[1]], [2**31 - 1], (2**24, 0), types=("int8", "int8"))
    equal(result(case), [[127]])  # 2^31 over 2^24 is 128
    equal(result(case, "ort_cpu"), [[-128]])
    equal(run_ort(case).outputs["out"], [[-128]])


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (qgemm([1], [[1]]), r"A has the shape \[1\]; it must have two axes"),
        (qgemm([[1]], [[[1]]]), r"B has the shape \[1, 1, 1\]; it must have two axes"),
        (qgemm([[1]], [[1]], [1, 2]), r"C of the shape \[2\] does not fit a tensor of the shape \[1, 1\]"),
        (qgemm([[1]], [[1]], scales=((1, 2), 1)), "a_scale has 2 entries; one for the whole tensor"),
        (qgemm([[1]], [[1]], y=((1, 2), 0)), "y_scale has 2 entries; one for the whole tensor"),
    ],
)  # fmt: skip
def test_what_does_not_fit(case, words):
    with pytest.raises(TraceError, match=rf"^com.microsoft.QGemm \(out\): {words}"):
        result(case)
