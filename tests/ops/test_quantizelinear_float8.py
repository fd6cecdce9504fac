"""QuantizeLinear and DequantizeLinear in float8: a format with a rounding of its own, by hand."""

import dataclasses

import numpy as np
import pytest

from qlab.compare import compare_outputs
from qlab.errors import TraceError
from qlab.explain import part
from qlab.graph import Graph, Node
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, returned, tensor, traced

E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ = (
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
)  # fmt: skip
NAN, INF = np.nan, np.inf


def quantize(dtype, x, y_scale=1.0, opset=19, **attributes):
    tensors = {"x": f32(x), "y_scale": f32(y_scale), "y_zero_point": tensor(dtype, 0)}
    return call("QuantizeLinear", tensors, opset=opset, **attributes)


@pytest.mark.parametrize(
    ("dtype", "x", "expected"),
    [
        # Three bits behind the leading one: 17, 19 lie between 16, 18 and 20 and go to the even of each pair.
        (E4M3FN, [17, 19, 21, -17, 17.001], [16, 20, 20, -16, 18]),
        (E4M3FNUZ, [17, 19, 21, -17, 17.001], [16, 20, 20, -16, 18]),
        # Two bits: 9, 11 lie between 8, 10 and 12.
        (E5M2, [9, 11, 13, -9, 9.001], [8, 12, 12, -8, 10]),
        (E5M2FNUZ, [9, 11, 13, -9, 9.001], [8, 12, 12, -8, 10]),
        # Subnormals in steps of 2^-9, 2^-10, 2^-16, 2^-17; half of the smallest goes to 0.
        (E4M3FN, [2**-10, 3 * 2**-10, 2**-10 * 1.01, 1e-40], [0, 2**-8, 2**-9, 0]),
        (E4M3FNUZ, [2**-11, 3 * 2**-11, 2**-11 * 1.01, 1e-40], [0, 2**-9, 2**-10, 0]),
        (E5M2, [2**-17, 3 * 2**-17, 2**-17 * 1.01, 1e-40], [0, 2**-15, 2**-16, 0]),
        (E5M2FNUZ, [2**-18, 3 * 2**-18, 2**-18 * 1.01, 1e-40], [0, 2**-16, 2**-17, 0]),
    ],
)
@pytest.mark.parametrize("saturate", [0, 1])
def test_rounds_half_to_the_even_neighbour(dtype, x, expected, saturate):
    everywhere(quantize(dtype, x, saturate=saturate), expected, dtype)


@pytest.mark.parametrize(
    ("dtype", "saturate", "x", "expected"),
    [
        (E4M3FN, 1, [448, 464, 465, 1e9, INF, -INF, NAN], [448, 448, 448, 448, 448, -448, NAN]),
        (E4M3FN, 0, [448, 464, 465, 1e9, INF, -INF, NAN], [448, 448, NAN, NAN, NAN, NAN, NAN]),
        (E4M3FNUZ, 1, [240, 247, 248, 1e9, INF, -INF, NAN], [240, 240, 240, 240, 240, -240, NAN]),
        (E4M3FNUZ, 0, [240, 247, 248, 1e9, INF, -INF, NAN], [240, 240, NAN, NAN, NAN, NAN, NAN]),
        (E5M2, 1, [57344, 61439, 61440, 1e9, INF, -INF, NAN], [57344] * 5 + [-57344, NAN]),
        (E5M2, 0, [57344, 61439, 65536, 1e9, INF, -INF, NAN], [57344] * 2 + [INF] * 3 + [-INF, NAN]),
        (E5M2FNUZ, 1, [57344, 61439, 61440, 1e9, INF, -INF, NAN], [57344] * 5 + [-57344, NAN]),
        (E5M2FNUZ, 0, [57344, 61439, 61440, 1e9, INF, -INF, NAN], [57344] * 2 + [NAN] * 5),
    ],
)  # fmt: skip
def test_beyond_the_largest(dtype, saturate, x, expected):
    everywhere(quantize(dtype, x, saturate=saturate), expected, dtype)


@pytest.mark.parametrize(
    ("dtype", "x", "specified", "kernel"),
    [
        (E4M3FN, [480, 495.9, 496, -480], [NAN] * 4, [448, 448, NAN, -448]),
        (E5M2, [61440, 65535, 65536, -61440], [INF, INF, INF, -INF], [NAN, NAN, INF, NAN]),
    ],
)
def test_where_onnx_runtime_departs_without_saturation(dtype, x, specified, kernel):
    case = quantize(dtype, x, saturate=0)
    for name in ("exact", "float64", "float32"):
        equal(result(case, name), specified, dtype)
    equal(result(case, "ort_cpu"), kernel, dtype)
    equal(returned(case), kernel, dtype)


def test_zero_keeps_its_sign_where_the_type_has_two():
    for dtype, signed in ((E4M3FN, True), (E5M2, True), (E4M3FNUZ, False), (E5M2FNUZ, False)):
        case = quantize(dtype, [-0.0, -1e-9])
        for value in (result(case, "ort_cpu"), returned(case), result(case, "float32")):
            assert (np.signbit(value.astype(np.float32)) == signed).all(), dtype


def test_float64_is_rounded_once():
    # 17 + 2^-40 is just above the tie; through float32 it would be the tie itself, and 16.
    case = quantize(E4M3FN, [1], y_scale=1)
    value = scheme("float64").quantize(  # the primitive itself: a float64 cannot be fed
        np.asarray(17 + 2.0**-40), _target(case)
    )
    assert [s.value for s in value][-1] == 18


def _target(case):
    from qlab.schemes import Target

    return Target("y", f32(1), np.asarray(0), E4M3FN, "out")


def test_per_axis_and_blocked():
    x, scales = f32([[17, 34, 3], [17, 34, 3]]), f32([1, 2])
    tensors = {"x": x, "y_scale": scales, "y_zero_point": tensor(E4M3FN, [0, 0])}
    everywhere(call("QuantizeLinear", tensors, axis=0), [[16, 32, 3], [8, 16, 1.5]], E4M3FN)
    tensors = {"x": x, "y_scale": f32([[1, 2], [2, 1]])}
    case = call("QuantizeLinear", tensors, axis=1, block_size=2, output_dtype=17)
    everywhere(case, [[16, 32, 1.5], [8, 16, 3]], E4M3FN)


def test_float16():
    tensors = {"x": tensor("float16", [17, 19]), "y_scale": tensor("float16", 1)}
    everywhere(call("QuantizeLinear", tensors, output_dtype=19), [16, 20], E5M2)


@pytest.mark.parametrize("dtype", [E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ])
def test_dequantize_takes_every_number(dtype):
    x = np.arange(256, dtype=np.uint8).view(tensor(dtype, 0).dtype)
    expected = x.astype(np.float32) * np.float32(0.5)
    everywhere(
        call("DequantizeLinear", {"x": x, "x_scale": f32(0.5)}, opset=19), expected, "float32"
    )
    half = call("DequantizeLinear", {"x": x, "x_scale": tensor("float16", 0.5)}, opset=21)
    everywhere(half, expected, "float16")


def test_a_zero_point_must_be_zero():
    tensors = {"x": f32([1]), "y_scale": f32(1), "y_zero_point": tensor(E5M2, 2)}
    with pytest.raises(
        TraceError, match=r"^QuantizeLinear \(out\): y_zero_point of float8_e5m2 is not 0"
    ):
        result(call("QuantizeLinear", tensors))
    tensors = {"x": tensor(E5M2, [1]), "x_scale": f32(1), "x_zero_point": tensor(E5M2, 2)}
    with pytest.raises(TraceError, match="x_zero_point of float8_e5m2 is not 0"):
        result(call("DequantizeLinear", tensors))


def round_trip(dtype, saturate=1):
    nodes = (
        Node("QuantizeLinear", ("x", "s", "z"), ("q",), attributes={"saturate": saturate}),
        Node("DequantizeLinear", ("q", "s"), ("y",)),
    )
    constants = {"s": f32(0.1), "z": tensor(dtype, 0)}
    return Graph(nodes, constants, ("x",), ("y",), {"": 21})


def test_a_comparison_counts_from_number_to_number_of_the_format():
    graph, x = round_trip(E4M3FN), {"x": f32([1.6, 4.0])}
    exact = trace(graph, x, scheme("exact"))
    other = {"y": exact.outputs["y"].copy()}
    other["y"][0] = np.float32(np.float32(22) * np.float32(0.1))  # 16, then 18, 20, 22
    (compared,) = compare_outputs(graph, exact, ("exact", exact.outputs), ("other", other))
    assert (compared.codes, compared.unit) == ("q", "ulp")
    assert compared.differences.tolist() == [3, 0]
    case = quantize(E4M3FN, [17.0])
    one = traced(case)
    (compared,) = compare_outputs(
        case.graph, one, ("exact", one.outputs), ("other", {"out": tensor(E4M3FN, [20])})
    )
    assert (compared.unit, compared.max_difference) == ("ulp", 2)


def test_two_traces_part_where_the_format_rounds_them_apart():
    # x / 0.3 of the stored floats lies beside the tie 17; in float32 it is the tie itself.
    graph = dataclasses.replace(
        round_trip(E4M3FN), constants={"s": f32(0.3), "z": tensor(E4M3FN, 0)}
    )
    x = {"x": f32([17 * np.float32(0.3)])}
    exact, kernel = trace(graph, x, scheme("exact")), trace(graph, x, OrtCpu())
    assert exact.nodes[0].steps[0].value[0] > 17 == kernel.nodes[0].steps[0].value[0]
    parted = part(exact, kernel)
    assert parted is not None and parted.label == "q:scaled"
    assert parted.why.endswith("rounds to 18; float32 has 17, which rounds to 16")


def test_two_traces_part_where_the_kernel_departs():
    graph = round_trip(E4M3FN, saturate=0)
    exact, kernel = (trace(graph, {"x": f32([48.5])}, s) for s in (scheme("exact"), OrtCpu()))
    parted = part(exact, kernel)
    assert parted is not None and parted.label == "q:output"
    assert "480 to 496 becomes 448, where the specification has NaN" in parted.why


def test_steps_have_the_type_of_the_format():
    case = quantize(E4M3FN, [17.0])
    for name in SCHEMES:
        steps = traced(case, name).element("out", (0,))
        assert [s.name for s in steps] == ["scaled", "output"]
        assert steps[-1].dtype == E4M3FN
        assert steps[0].format == E4M3FN


@pytest.mark.parametrize(("dtype", "expected"), [(E4M3FNUZ, NAN), (E5M2FNUZ, NAN), (E5M2, 0)])
def test_negative_zero_of_older_releases(dtype, expected):
    case = quantize(dtype, [-0.0, -1e-9, 1e-9])
    older = trace(case.graph, case.inputs, OrtCpu(version="1.19.2")).outputs["out"]
    equal(older, [0, expected, 0], dtype)
    equal(trace(case.graph, case.inputs, OrtCpu(version="1.20.0")).outputs["out"], [0, 0, 0], dtype)
