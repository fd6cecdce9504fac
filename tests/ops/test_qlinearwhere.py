"""QLinearWhere: what is chosen is converted to z's scale and zero point."""

import numpy as np
import pytest

from qlab.engines.ort import run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.errors import TraceError
from tests.ops.calls import call, equal, everywhere, f32, result, tensor


def where(condition, x, y, scales=(1, 1, 1), zero_points=(0, 0, 0), dtype="int8"):
    tensors = {"condition": np.asarray(condition), "X": tensor(dtype, x), "Y": tensor(dtype, y)}
    for name, scale, zero_point in zip("xyz", scales, zero_points, strict=True):
        tensors[f"{name}_scale"] = f32(scale)
        tensors[f"{name}_zero_point"] = tensor(dtype, zero_point)
    return call("QLinearWhere", tensors, domain="com.microsoft")


def test_each_side_has_its_own_parameters():
    # (10 - 2)·0.5 = 4, (7 + 1)·3 = 24; over 2, plus 5.
    everywhere(where([True, False], [10, 0], [0, 7], (0.5, 3, 2), (2, -1, 5)), [7, 17], "int8")


@pytest.mark.parametrize("zero_point", [0, 1, -3])
def test_ties_go_to_the_even_code_before_the_zero_point(zero_point):
    case = where(True, [1, 3, 5, -1, -3], [0], (1, 1, 2), (0, 0, zero_point))
    everywhere(case, np.array([0, 2, 2, 0, -2]) + zero_point, "int8")


@pytest.mark.parametrize(("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255)])
def test_saturates_at_both_ends(dtype, low, high):
    middle = (low + high + 1) // 2
    case = where([True, True, False, False], [low, high, 0, 0], [0, 0, low, high], (4, 9, 1), (middle,) * 3, dtype)  # fmt: skip
    everywhere(case, [low, high, low, high], dtype)


def test_broadcasts():
    case = where([[True], [False]], [1, 2], 9, (1, 2, 1))
    everywhere(case, [[1, 2], [18, 18]], "int8")


def test_codes_of_equal_parameters_are_copied():
    case = where([True, False], [5, 5], [6, 6], (0, 0, 0), (3, 4, 3))
    equal(result(case, "ort_cpu"), [5, -128], "int8")
    equal(result(case), [-128, -128], "int8")


def test_onnx_runtime_crashes_where_only_z_is_constant():
    """A null pointer when the session is made, in 1.32.0: the process ends."""
    case = where([True], [1], [2])
    names = ("z_scale", "z_zero_point")
    graph = case.graph
    moved = {n: case.inputs[n] for n in names}
    inputs = {n: v for n, v in case.inputs.items() if n not in names}
    graph = type(graph)(graph.nodes, moved, tuple(inputs), graph.outputs, graph.opset)
    run = run_ort(type(case)(graph, inputs), SessionConfig("ORT_DISABLE_ALL"))
    if run.version == "1.32.0":
        assert run.status is RunStatus.CRASHED


def test_bad_calls():
    with pytest.raises(TraceError, match="condition is int8; bool is needed"):
        result(where(tensor("int8", [1]), [1], [2]))
    with pytest.raises(TraceError, match="y_scale has 2 entries; one for the whole tensor"):
        result(where([True, False], [1, 2], [1, 2], (1, (1, 1), 1)))
    tensors = {**where([True], [1], [2]).inputs, "Y": tensor("uint8", [2])}
    with pytest.raises(TraceError, match="X is int8 and Y uint8; all must have one type"):
        result(call("QLinearWhere", tensors, domain="com.microsoft"))
