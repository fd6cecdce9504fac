"""QLinearConv: codes by hand; channels last is channels first, transposed."""

import numpy as np
import pytest

from qlab.case import Case
from qlab.engines.ort import run_ort
from qlab.errors import TraceError
from qlab.graph import Graph
from tests.ops.calls import (
    SCHEMES,
    call,
    equal,
    evaluated,
    everywhere,
    f32,
    result,
    step,
    tensor,
    traced,
)
from tests.ops.geometries import GEOMETRIES

UNSIGNED = ("uint8", "uint8", "uint8")
SIGNED = ("int8", "int8", "int8")
MIXED = ("uint8", "int8", "uint8")


def conv(x, w, b=None, zero_points=(0, 0, 0), scales=(1, 1, 1), types=UNSIGNED, domain="", **attributes):  # fmt: skip
    tensors = {"x": tensor(types[0], x), "w": tensor(types[1], w)}
    for name, zero_point, scale, dtype in zip("xwy", zero_points, scales, types, strict=True):
        tensors[f"{name}_scale"] = f32(scale)
        tensors[f"{name}_zero_point"] = tensor(dtype, zero_point)
    if b is not None:
        tensors["B"] = tensor("int32", b)
    case = call("QLinearConv", tensors, domain=domain, **attributes)
    # Weights are constants, as in a model.
    constants = {"w": tensors["w"]}
    fed = {k: v for k, v in tensors.items() if k != "w"}
    return Case(Graph(case.graph.nodes, constants, tuple(fed), ("out",), case.graph.opset), fed)


def test_by_hand():
    x = [[[1, 2, 3, 4]]]
    everywhere(conv(x, [[[1, 10]]]), [[[21, 32, 43]]], "uint8")
    # Padding holds x's zero point, so it adds nothing.
    everywhere(conv(x, [[[1, 10]]], zero_points=(3, 2, 0), pads=(1, 0), types=SIGNED), [[[-16, -6, 1, 8]]], "int8")  # fmt: skip
    everywhere(conv(x, [[[1, 10]]], strides=(2,)), [[[21, 43]]])
    everywhere(conv(x, [[[1, 10]]], dilations=(2,)), [[[31, 42]]])
    everywhere(conv(x, [[[1, 10]]], auto_pad="SAME_UPPER"), [[[21, 32, 43, 4]]])
    everywhere(conv(x, [[[1, 10]]], auto_pad="SAME_LOWER"), [[[10, 21, 32, 43]]])
    everywhere(conv(x, [[[1, 10]]], auto_pad="VALID"), [[[21, 32, 43]]])
    everywhere(conv([[[1, 2], [3, 4]]], [[[1]], [[10]]], group=2), [[[1, 2], [30, 40]]])


@pytest.mark.parametrize(
    ("zero_point", "expected"), [(0, [0, 2, 2, 4]), (1, [1, 3, 3, 5]), (3, [3, 5, 5, 7])]
)
def test_ties_go_to_the_even_before_the_zero_point(zero_point, expected):
    case = conv([[[1, 3, 5, 7]]], [[[1]]], zero_points=(0, 0, zero_point), scales=(0.5, 1, 1))
    everywhere(case, [[expected]], "uint8")


@pytest.mark.parametrize("types", [UNSIGNED, SIGNED])
def test_saturates_at_both_ends(types):
    low, high = (0, 255) if types is UNSIGNED else (-128, 127)
    middle = (low + high + 1) // 2
    case = conv([[[low, high]]], [[[low]], [[high]]], zero_points=(middle,) * 3, types=types)
    everywhere(case, [[[high, low], [low, high]]], types[0])


def test_channels_have_scales_and_zero_points_of_their_own():
    case = conv([[[2, 6]]], [[[4]], [[5]], [[6]]], None, (0, (1, 2, 3), 1), (0.5, (1, 0.5, 0.25), 1), MIXED)  # fmt: skip
    # 3x/2, 3x/4, 3x/8 for x = 2 and 6: 3, 9; 1.5, 4.5 (ties); 0.75, 2.25
    everywhere(case, [[[4, 10], [3, 5], [2, 3]]], "uint8")


def test_the_bias_is_in_steps_of_the_product_of_the_scales():
    case = conv([[[2]]], [[[4]], [[5]]], [100, -3], scales=(0.5, (1, 0.5), 1))
    everywhere(case, [[[54], [2]]], "uint8")  # 108/2, 7/4
    assert step(case, "with_bias").reshape(-1).tolist() == [108, 7]


@pytest.mark.parametrize("types", [UNSIGNED, SIGNED, MIXED])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_every_geometry(name, types):
    x, w, attributes = GEOMETRIES[name]
    rng = np.random.default_rng(0)
    low = 0 if types is not SIGNED else -128
    small = (-64, 65) if types is MIXED else (low, low + 256)  # no pair saturates
    case = conv(
        rng.integers(low, low + 256, x),
        rng.integers(*small, w),
        rng.integers(-999, 999, w[0]),
        (low + 100, 0 if types is MIXED else low + 77, low + 128),
        (1, rng.choice([0.5, 0.25, 1], w[0]), 256),
        types,
        **attributes,
    )
    everywhere(case, result(case), types[0], ort=len(x) < 5)
    if name in ("one by one", "pads", "strides"):
        # The reference evaluator cannot do scales of channels (onnx 1.23.2).
        plain = conv(rng.integers(0, 256, x), rng.integers(0, 256, w), None, (100, 77, 128), (1, 1, 300), **attributes)  # fmt: skip
        equal(evaluated(plain), result(plain))


@pytest.mark.parametrize("name", GEOMETRIES)
def test_channels_last_is_channels_first_transposed(name):
    x, w, attributes = GEOMETRIES[name]
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 256, x), rng.integers(-128, 128, w)
    m = w.shape[0]
    rest = (rng.integers(-999, 999, m), (100, rng.integers(-9, 9, m), 3), (1, rng.choice([0.5, 1], m), 99), MIXED)  # fmt: skip
    first = conv(x, w, *rest, **attributes)
    last = conv(np.moveaxis(x, 1, -1), w, *rest, "com.microsoft", channels_last=1, **attributes)
    for scheme in SCHEMES:
        equal(np.moveaxis(result(last, scheme), -1, 1), result(first, scheme), "uint8")
    end = traced(last).element("out", (0,) * x.ndim)
    begin = traced(first).element("out", (0,) * x.ndim)
    assert [s.value for s in end] == [s.value for s in begin]
    assert end[0].taps.positions == begin[0].taps.positions
    assert end[0].taps.a.tolist() == begin[0].taps.a.tolist()


class TestPairs:
    """uint8 × int8 on AVX2: kernel position first, channel innermost."""

    def sums(self, x, w, **attributes):
        case = conv(x, w, None, types=MIXED, scales=(1, 1, 1), **attributes)
        run = run_ort(case)
        equal(run.outputs["out"], result(case, "ort_cpu", run.cpu))
        return step(case, "accumulator", "ort_cpu", "avx2").reshape(-1).tolist()

    def test_two_channels_are_a_pair(self):
        assert self.sums([[[255, 0], [255, 0]]], [[[127, 0], [127, 0]]]) == [32_767]

    def test_two_positions_of_one_of_two_channels_are_not(self):
        assert self.sums([[[255, 255], [0, 0]]], [[[127, 127], [0, 0]]]) == [64_770]

    def test_an_odd_number_of_channels_pairs_across_positions(self):
        assert self.sums([[[255, 255]]], [[[127, 127]], [[127, 127]]]) == [32_767] * 2

    def test_one_channel_to_one_is_depthwise(self):
        assert self.sums([[[255, 255]]], [[[127, 127]]]) == [64_770]

    def test_depthwise_does_not_saturate(self):
        x, w = np.full((1, 2, 2), 255), np.full((2, 1, 2), 127)
        assert self.sums(x, w, group=2) == [64_770, 64_770]

    def test_depthwise_with_zero_points_that_differ_does(self):
        x, w = np.full((1, 2, 2), 255), np.full((2, 1, 2), 127)
        case = conv(x, w, None, (0, (0, 1), 0), (1, (1, 1), 1), MIXED, group=2)
        sums = step(case, "accumulator", "ort_cpu", "avx2").reshape(-1).tolist()
        assert sums == [32_767, 32_767 - 510]
        same = conv(x, w, None, (0, (1, 1), 0), (1, (1, 1), 1), MIXED, group=2)
        sums = step(same, "accumulator", "ort_cpu", "avx2").reshape(-1).tolist()
        assert sums == [64_770 - 510] * 2

    def test_padding_takes_part_with_the_code_of_its_zero_point(self):
        case = conv([[[0]]], [[[127, 127, 127]]], None, (255, 0, 0), types=MIXED, pads=(1, 1))
        assert step(case, "accumulator").item() == -255 * 127
        raw = 255 * 127 + 255 * 127  # pair (pad, 0), then the pad alone
        assert step(case, "raw_sum", "ort_cpu", "avx2").item() == raw
        wide = conv([[[0]]], [[[127, 127, 127]]], None, (255, 0, 0), types=MIXED, pads=(0, 2))
        assert step(wide, "raw_sum", "ort_cpu", "avx2").item() == raw


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (conv([[[1]]], [[[1]]], [1, 2, 3]), r"B has the shape \[3\]; it must be \[1\]"),
        (conv([[[1]]], [[[1]], [[2]]], [1]), r"B has the shape \[1\]; it must be \[2\]"),
        (conv([[[1]]], [[[1]]], scales=(1, (1, 2), 1)), "w_scale has 2 entries; 1 or w's 1 output channels"),
        (conv([[[1]]], [[[1]]], zero_points=(0, (1, 2), 0)), "w_zero_point has 2 entries; 1 or w's 1"),
        (conv([[[1]]], [[[1]]], scales=((1, 2), 1, 1)), "x_scale has 2 entries; one for the whole tensor"),
        (conv([[[1]]], [[[1]]], scales=(1, 1, ())), "y_scale has 0 entries; one for the whole tensor"),
        (conv([[[1]]], [[[1]]], zero_points=(0, 0, (1, 2))), "y_zero_point has 2 entries; one for the whole tensor"),
    ],
)  # fmt: skip
def test_what_does_not_fit(case, words):
    with pytest.raises(TraceError, match=rf"^QLinearConv \(out\): {words}"):
        result(case)


def test_parameters_of_channels_in_any_shape():
    column = conv([[[2]]], [[[4]], [[5]]], None, (0, ((1,), (2,)), 0), (1, ((1,), (2,)), 1))
    equal(result(column), [[[6], [12]]])
    last = conv([[[2], [2]]], [[[4]], [[5]]], None, (0, ((1,), (2,)), 0), (1, ((1,), (2,)), 1), UNSIGNED,
                "com.microsoft", channels_last=1)  # fmt: skip
    equal(result(last), [[[6, 12], [6, 12]]])
