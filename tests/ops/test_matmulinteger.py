"""MatMulInteger: int32 sums; pairs of uint8 × int8 products saturate on AVX2."""

import numpy as np
import pytest

from qlab.engines.ort import run_ort
from qlab.errors import TraceError
from tests.ops.calls import SCHEMES, call, equal, evaluated, everywhere, result, tensor, traced


def product(a, b, a_zero_point=None, b_zero_point=None, types=("uint8", "uint8")):
    tensors = {"A": tensor(types[0], a), "B": tensor(types[1], b)}
    if a_zero_point is not None:
        tensors["a_zero_point"] = tensor(types[0], a_zero_point)
    if b_zero_point is not None:
        tensors["b_zero_point"] = tensor(types[1], b_zero_point)
    return call("MatMulInteger", tensors)


TYPES = [(a, b) for a in ("int8", "uint8") for b in ("int8", "uint8")]


@pytest.mark.parametrize("types", TYPES)
def test_by_hand(types):
    everywhere(product([[1, 2]], [[3, 4], [5, 6]], types=types), [[13, 16]], "int32")
    everywhere(product([[1, 2]], [[3, 4], [5, 6]], 1, 3, types=types), [[2, 3]], "int32")


def test_zero_points_of_columns_and_rows():
    everywhere(product([[1, 2]], [[3, 4], [5, 6]], 0, [1, 2]), [[10, 10]], "int32")
    case = product([[1, 2], [3, 4]], [[3], [5]], [1, 2])
    for name in SCHEMES:  # for rows by the specification only
        equal(result(case, name), [[5], [13]])
    batches = product(np.ones((2, 2, 1)), np.ones((2, 1, 3)), np.arange(4).reshape(2, 2, 1))
    expected = np.broadcast_to(np.array([[1, 0], [-1, -2]])[:, :, None], (2, 2, 3))
    for name in SCHEMES:
        equal(result(batches, name), expected)


SATURATES = product([[255, 255]], [[127], [127]], types=("uint8", "int8"))


def test_a_pair_saturates():
    equal(result(SATURATES), [[64_770]], "int32")
    equal(result(SATURATES, "ort_cpu", "avx2"), [[32_767]], "int32")
    for cpu in ("vnni", "sse", "arm64"):
        equal(result(SATURATES, "ort_cpu", cpu), [[64_770]])
    run = run_ort(SATURATES)
    equal(run.outputs["out"], result(SATURATES, "ort_cpu", run.cpu))


@pytest.mark.parametrize(
    ("a", "b", "avx2"),
    [
        ([[255, 255]], [[-128], [-128]], -32_768),
        ([[255, 255, 255]], [[127], [127], [127]], 32_767 + 32_385),  # an odd one ends with 0
        ([[255, 0, 255]], [[127], [127], [127]], 2 * 32_385),
        ([[0, 255, 255, 0]], [[127]] * 4, 2 * 32_385),  # the pairs are (0, 1) and (2, 3)
        ([[255, 255]], [[64], [64]], 32_640),
        ([[255, 255]], [[127], [-128]], -255),
    ],
)
def test_which_pairs_saturate(a, b, avx2):
    equal(result(product(a, b, types=("uint8", "int8")), "ort_cpu", "avx2"), [[avx2]])


def test_the_raw_codes_saturate_before_the_zero_points():
    case = product([[255, 255]], [[127], [127]], 255, 0, ("uint8", "int8"))
    equal(result(case), [[0]])
    equal(result(case, "ort_cpu", "avx2"), [[32_767 - 255 * 254]])


@pytest.mark.parametrize("types", [t for t in TYPES if t != ("uint8", "int8")])
def test_other_types_do_not_saturate(types):
    case = product([[127, 127]], [[127], [127]], types=types)
    equal(result(case, "ort_cpu", "avx2"), [[32_258]])


def test_the_taps_tell_the_saturation():
    (element,) = [s for s in traced(SATURATES, "ort_cpu", "avx2").element("out", (0, 0)) if s.name == "raw_sum"]  # fmt: skip
    taps = element.taps
    assert taps.products.tolist() == [32_385, 32_385]
    assert taps.lost.tolist() == [0, 64_770 - 32_767]
    assert taps.running.tolist() == [32_385, 32_767]


def test_shapes():
    everywhere(product([1, 2], [3, 4]), 11, "int32")
    everywhere(product(np.ones((2, 1, 3)), np.ones((3,))), np.full((2, 1), 3), "int32")
    for name in SCHEMES:
        equal(result(product(np.ones((2, 0)), np.ones((0, 3))), name), np.zeros((2, 3)), "int32")


def test_agrees_with_the_reference_evaluator():
    case = product([[1, 2], [9, 0]], [[3, 4], [5, 6]], 1, 3)
    equal(evaluated(case), result(case), "int32")


def test_what_does_not_fit():
    with pytest.raises(TraceError, match=r"B's zero point of the shape \[3\] does not fit"):
        result(product([[1, 2]], [[3], [5]], 0, [1, 2, 3]))
