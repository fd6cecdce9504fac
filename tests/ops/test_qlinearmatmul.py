"""QLinearMatMul: codes by hand; the zero point is added after rounding."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import (
    SCHEMES,
    call,
    equal,
    evaluated,
    everywhere,
    f32,
    result,
    returned,
    step,
    tensor,
)


def qlinear_matmul(a, b, zero_points=(0, 0, 0), scales=(1, 1, 1), types=("uint8", "uint8", "uint8")):  # fmt: skip
    tensors = {"a": tensor(types[0], a), "b": tensor(types[1], b)}
    for name, zero_point, scale, dtype in zip("aby", zero_points, scales, types, strict=True):
        tensors[f"{name}_scale"] = np.asarray(scale, np.float32)
        tensors[f"{name}_zero_point"] = tensor(dtype, zero_point)
    return call("QLinearMatMul", tensors)


TIES = qlinear_matmul([[1], [3], [5], [7]], [[1]], (0, 0, 1), (0.5, 1, 1))


def test_ties_go_to_the_even_before_an_odd_zero_point():
    everywhere(TIES, [[1], [3], [3], [5]], "uint8")


def test_the_reference_evaluator_is_wrong_there():
    # It adds y_zero_point before it rounds (onnx 1.23.2).
    equal(evaluated(TIES), [[2], [2], [4], [4]])


def test_agrees_with_the_reference_evaluator_elsewhere():
    case = qlinear_matmul([[1, 9], [200, 4]], [[3, 7], [255, 0]], (128, 100, 8), (0.1, 0.02, 0.7))
    equal(evaluated(case), result(case))


@pytest.mark.parametrize(("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255)])
def test_saturates_at_both_ends(dtype, low, high):
    middle = (low + high + 1) // 2
    case = qlinear_matmul([[low, high]], [[high, low], [low, high]], (middle,) * 3, types=(dtype,) * 3)  # fmt: skip
    everywhere(case, [[low, high]], dtype)


def test_by_hand():
    # (3 - 1)·(4 - 2) + (5 - 1)·(6 - 2) = 20, · 0.5·0.25/0.5 = 5, + 7
    everywhere(qlinear_matmul([[3, 5]], [[4], [6]], (1, 2, 7), (0.5, 0.25, 0.5)), [[12]], "uint8")


def test_columns_have_scales_and_zero_points_of_their_own():
    case = qlinear_matmul(
        [[2, 3]], [[4, 5], [6, 7]], (0, (1, 2), 0), (1, (1, 0.5), 1), ("uint8", "int8", "uint8")
    )
    # 2·3 + 3·5 = 21 and 2·3 + 3·5 = 21 halved, a tie: 10
    everywhere(case, [[21, 10]], "uint8")


def test_rows_have_them_by_the_specification_and_not_in_the_kernel():
    case = qlinear_matmul([[2], [3]], [[10]], ((1, 2), 0, 0), ((1, 0.5), 1, 1))
    for name in SCHEMES:
        equal(result(case, name), [[10], [5]])


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [((3,), (3,), ()), ((3,), (3, 2), (2,)), ((2, 3), (3,), (2,)), ((4, 1, 2, 3), (5, 3, 2), (4, 5, 2, 2)),
     ((0, 3), (3, 2), (0, 2)), ((2, 3), (3, 0), (2, 0))],
)  # fmt: skip
def test_shapes_as_numpy_has_them(a, b, shape):
    case = qlinear_matmul(np.ones(a), np.ones(b))
    everywhere(case, np.full(shape, 3), "uint8", ort=0 not in shape)


def test_no_products():
    # ONNX Runtime does not write this output: what comes back is not compared.
    case = qlinear_matmul(np.ones((2, 0)), np.ones((0, 2)), (0, 0, 5))
    for name in SCHEMES:
        equal(result(case, name), [[5, 5], [5, 5]], "uint8")


def test_pairs_saturate_on_avx2_only():
    case = qlinear_matmul([[255, 255]], [[127], [127]], (0, 0, 0), (1, 1, 512), ("uint8", "int8", "uint8"))  # fmt: skip
    equal(result(case), [[127]])  # 64,770 / 512 = 126.5…
    equal(result(case, "ort_cpu", "avx2"), [[64]])  # 32,767 / 512 = 63.99…
    for cpu in ("vnni", "sse", "arm64"):
        equal(result(case, "ort_cpu", cpu), [[127]])


def test_float32_loses_long_accumulators():
    # 2^24 + 1 over 2: exactly a tie and a half step beside it in float32.
    k = 259
    a, b = np.full((1, k), 255), np.full((k, 1), 255)
    a[0, -1], b[-1, 0] = 1, 2**24 + 1 - 255 * 255 * (k - 1)
    assert 0 <= b[-1, 0] <= 65535
    case = qlinear_matmul(a, b, scales=(1, 1, 2**17), types=("uint16", "uint16", "uint16"))
    assert step(case, "accumulator")[0, 0] == 2**24 + 1
    assert step(case, "scaled")[0, 0] * 2**17 == 2**24 + 1
    assert step(case, "scaled", "float32")[0, 0] == 128


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (qlinear_matmul([[1, 2]], [[1]]), "a has 2 columns and b 1 rows"),
        (qlinear_matmul(1, [[1]]), "no scalars"),
        (qlinear_matmul([[1]], [[1]], (0, (1, 2, 3), 0)), r"b's zero point of the shape \[3\] does not fit"),
        (qlinear_matmul([[1]], [[1]], ((1, 2), 0, 0)), r"a's zero point of the shape \[2, 1\] does not fit"),
        (qlinear_matmul([[1]], [[1]], scales=(1, (1, 2), 1)), r"b_scale of the shape \[2\] does not fit"),
        (qlinear_matmul([[1]], [[1]], scales=(1, 1, (1, 2))), r"y_scale of the shape \[2, 1\] does not fit"),
        (qlinear_matmul([[1]], [[1]], types=("int32", "int8", "int8")), "a is int32; only integers of up to 16 bits"),
    ],
)  # fmt: skip
def test_what_does_not_fit(case, words):
    with pytest.raises(TraceError, match=rf"^QLinearMatMul \(out\): .*{words}"):
        result(case)


def test_int8_activations_and_uint8_weights_have_no_kernel_and_an_exact_result():
    case = qlinear_matmul([[-2]], [[200]], (0, 0, 0), (1, 1, 4), ("int8", "uint8", "int8"))
    equal(result(case), [[-100]], "int8")


def test_the_output_type_without_a_zero_point_is_that_of_a():
    tensors = {"a": tensor("int8", [[-3]]), "a_scale": f32(1), "b": tensor("int8", [[1]])}
    tensors |= {"b_scale": f32(1), "y_scale": f32(1)}
    equal(result(call("QLinearMatMul", tensors)), [[-3]], "int8")


def test_on_this_machine():
    rng = np.random.default_rng(1)
    case = qlinear_matmul(rng.integers(0, 256, (5, 9)), rng.integers(0, 256, (9, 4)), (3, 128, 101), (0.5, 0.25, 127))  # fmt: skip
    equal(returned(case), result(case, "ort_cpu"))
