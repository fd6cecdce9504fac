"""Pad: the modes by hand, negative pads, axes, codes and reals; what does not fit is one line."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import SCHEMES, call, equal, everywhere, f32, result, tensor

X = tensor("uint8", [1, 2, 3])


def pad(data, pads, fill=None, axes=None, opset=21, **attributes):
    tensors = {"data": data, "pads": np.array(pads, np.int64)}
    if fill is not None:
        tensors["constant_value"] = fill
    if axes is not None:
        tensors["axes"] = np.array(axes, np.int64)
    return call("Pad", tensors, opset=opset, **attributes)


@pytest.mark.parametrize(
    ("mode", "pads", "expected"),
    [
        ("constant", (2, 1), [0, 0, 1, 2, 3, 0]),
        ("edge", (2, 1), [1, 1, 1, 2, 3, 3]),
        ("reflect", (2, 1), [3, 2, 1, 2, 3, 2]),
        ("wrap", (2, 1), [2, 3, 1, 2, 3, 1]),
        ("constant", (-1, 2), [2, 3, 0, 0]),
    ],
)
def test_modes(mode, pads, expected):
    everywhere(pad(X, pads, mode=mode), expected, "uint8")
    everywhere(pad(X.astype(np.float32), pads, mode=mode), expected, "float32")


def test_the_constant():
    everywhere(pad(X, (1, 1), tensor("uint8", 9)), [9, 1, 2, 3, 9], "uint8")
    everywhere(pad(f32([[1], [2]]), (0, 1, 1, 0), f32(-0.5)), [[-0.5, 1], [-0.5, 2], [-0.5, -0.5]])


def test_axes():
    everywhere(pad(tensor("int8", [[1, 2]]), (1, 1), axes=(-1,)), [[0, 1, 2, 0]], "int8")


def test_a_real_of_another_node_keeps_its_value():
    for name in SCHEMES:
        equal(result(pad(f32([0.1]), (1, 0)), name), f32([0, 0.1]), "float32")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (pad(X, (1,)), "pads has 1 entries for 1 axes; two for each axis are needed"),
        (pad(X, (1, 1, 1, 1), axes=(0, 0)), "pads has 4 entries for 2 axes"),
        (pad(X, (3, 0), mode="reflect"), "reflect pads of 3 and 0 are more than the 3 entries allow"),
        (pad(X, (-2, -2)), "take more than the 3 entries of an axis"),
        (pad(X, (1, 1), mode="mirror"), "mode 'mirror' is not constant, reflect, edge or wrap"),
        (pad(X, (1, 1), f32(1)), "data is uint8 and constant_value float32"),
        (pad(X, (1, 1), axes=(4,)), "axes 4 is outside a tensor of rank 1"),
    ],
)  # fmt: skip
def test_what_does_not_fit(case, words):
    with pytest.raises(TraceError, match=words):
        result(case)
