"""Conv, and FusedConv with its activation."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, evaluated, everywhere, f32, result, returned
from tests.ops.geometries import GEOMETRIES


def conv(x, w, b=None, **attributes):
    tensors = {"X": f32(x), "W": f32(w)} | ({} if b is None else {"B": f32(b)})
    return call("Conv", tensors, **attributes)


def test_by_hand():
    x = [[[1, 2, 3, 4]]]
    everywhere(conv(x, [[[1, 10, 100]]]), f32([[[321, 432]]]))
    everywhere(conv(x, [[[1, 10, 100]]], [0.5]), f32([[[321.5, 432.5]]]))
    everywhere(conv(x, [[[1, 10, 100]]], pads=(1, 1)), f32([[[210, 321, 432, 43]]]))
    everywhere(conv(x, [[[1, 10]]], strides=(2,)), f32([[[21, 43]]]))
    everywhere(conv(x, [[[1, 10]]], dilations=(2,)), f32([[[31, 42]]]))
    everywhere(conv(x, [[[1, 10]]], auto_pad="SAME_UPPER"), f32([[[21, 32, 43, 4]]]))
    everywhere(conv(x, [[[1, 10]]], auto_pad="SAME_LOWER"), f32([[[10, 21, 32, 43]]]))
    everywhere(conv(x, [[[1, 10]]], auto_pad="VALID"), f32([[[21, 32, 43]]]))
    two = [[[1, 2], [3, 4]]]
    everywhere(conv(two, [[[1]], [[10]]], group=2), f32([[[1, 2], [30, 40]]]))
    everywhere(conv(two, [[[1], [10]]], [-1]), f32([[[30, 41]]]))


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("bias", [False, True])
def test_every_geometry(name, bias):
    x, w, attributes = GEOMETRIES[name]
    rng = np.random.default_rng(0)
    # Quarters, so that no sum is rounded and the order of adding does not matter.
    x, w, b = (rng.integers(-9, 9, shape) / 4 for shape in (x, w, (w[0],)))
    case = conv(x, w, b if bias else None, **attributes)
    expected = result(case)
    everywhere(case, expected, "float32")
    equal(evaluated(case), expected)


def test_fused_conv():
    def fused(activation, *limits):
        tensors = {"X": f32([[[1, 2, 3]]]), "W": f32([[[-1, 1]]]), "B": f32([-1.5])}
        attributes = {"activation_params": limits} if limits else {}
        return call("FusedConv", tensors, domain="com.microsoft", activation=activation, **attributes)  # fmt: skip

    everywhere(fused("Relu"), f32([[[0, 0]]]))
    everywhere(fused("Clip", -0.25, 6.0), f32([[[-0.25, -0.25]]]))
    with pytest.raises(TraceError, match="the fused activation 'Sigmoid'"):
        result(fused("Sigmoid"))


def test_fused_conv_that_adds_another_tensor():
    tensors = {"X": f32([[[1]]]), "W": f32([[[1]]]), "Z": f32([[[1]]])}
    with pytest.raises(TraceError, match="a FusedConv that adds Z has no arithmetic here"):
        result(call("FusedConv", tensors, domain="com.microsoft"))


@pytest.mark.parametrize(
    ("x", "w"), [((0, 2, 3), (2, 2, 2)), ((1, 0, 3), (2, 0, 2)), ((1, 2, 3), (0, 2, 2))]
)
def test_empty(x, w):
    case = conv(np.ones(x), np.ones(w))
    equal(returned(case), result(case, "ort_cpu"))
    equal(result(case), np.zeros((x[0], w[0], 2)))


@pytest.mark.parametrize("b", [[1], [1, 2, 3], [[1, 2]]])
def test_the_bias_has_one_entry_for_each_channel(b):
    with pytest.raises(TraceError, match=r"^Conv \(out\): B has the shape .*; it must be \[2\]"):
        result(conv([[[1]]], [[[1]], [[2]]], b))
