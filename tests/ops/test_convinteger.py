"""ConvInteger: int32 sums; what pads holds the zero point of x."""

import numpy as np
import pytest

from qlab.engines.ort import run_ort
from qlab.errors import TraceError
from tests.ops.calls import call, equal, evaluated, everywhere, result, tensor
from tests.ops.geometries import GEOMETRIES


def conv(x, w, x_zero_point=None, w_zero_point=None, types=("uint8", "uint8"), **attributes):
    tensors = {"x": tensor(types[0], x), "w": tensor(types[1], w)}
    if x_zero_point is not None:
        tensors["x_zero_point"] = tensor(types[0], x_zero_point)
    if w_zero_point is not None:
        tensors["w_zero_point"] = tensor(types[1], w_zero_point)
    return call("ConvInteger", tensors, **attributes)


@pytest.mark.parametrize("types", [(a, b) for a in ("int8", "uint8") for b in ("int8", "uint8")])
def test_by_hand(types):
    x = [[[1, 2, 3, 4]]]
    everywhere(conv(x, [[[1, 10]]], types=types), [[[21, 32, 43]]], "int32")
    everywhere(conv(x, [[[1, 10]]], 1, 2, types, pads=(1, 0)), [[[0, 8, 15, 22]]], "int32")


def test_zero_points_of_channels():
    case = conv([[[1, 2]]], [[[3]], [[3]]], 0, [1, 2])
    equal(result(case), [[[2, 4], [1, 2]]])
    equal(result(case, "ort_cpu"), [[[2, 4], [1, 2]]])


@pytest.mark.parametrize("name", GEOMETRIES)
def test_every_geometry(name):
    x, w, attributes = GEOMETRIES[name]
    rng = np.random.default_rng(0)
    case = conv(rng.integers(0, 256, x), rng.integers(0, 256, w), 7, 200, **attributes)
    everywhere(case, result(case), "int32")
    equal(evaluated(case), result(case))


def test_the_weights_are_the_first_operand_of_the_kernel():
    # So uint8 weights with int8 x saturate in pairs, and the usual types do not.
    unusual = conv([[[127, 127]]], [[[255, 255]]], types=("int8", "uint8"))
    equal(result(unusual), [[[64_770]]])
    equal(result(unusual, "ort_cpu", "avx2"), [[[32_767]]])
    usual = conv([[[255, 255]]], [[[127, 127]]], types=("uint8", "int8"))
    equal(result(usual, "ort_cpu", "avx2"), [[[64_770]]])
    run = run_ort(unusual)
    equal(run.outputs["out"], result(unusual, "ort_cpu", run.cpu))


def test_the_order_of_the_pairs_is_channel_then_kernel():
    # Channels [255, 255] and [0, 0]: pairs within a channel saturate, pairs across would not.
    case = conv([[[127, 127], [0, 0]]], [[[255, 255], [255, 255]]], types=("int8", "uint8"))
    equal(result(case, "ort_cpu", "avx2"), [[[32_767]]])


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (conv([[[1]]], [[[1]]], 0, [1, 2, 3]), "w_zero_point has 3 entries; 1 or w's 1 output channels"),
        (conv([[[1]]], [[[1]]], [1, 2]), "x_zero_point has 2 entries; one for the whole tensor"),
        (conv([[[1]]], [[[1]]], types=("int32", "int8")), "x is int32; only integers of up to 16 bits"),
    ],
)  # fmt: skip
def test_what_does_not_fit(case, words):
    with pytest.raises(TraceError, match=rf"^ConvInteger \(out\): {words}"):
        result(case)
