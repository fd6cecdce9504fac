"""GlobalAveragePool."""

import numpy as np
import pytest

from qlab.errors import TraceError
from tests.ops.calls import call, equal, everywhere, f32, result, returned


def pool(x, opset=17):
    return call("GlobalAveragePool", {"X": f32(x)}, opset=opset)


@pytest.mark.parametrize("opset", [1, 22])
def test_by_hand(opset):
    everywhere(pool([[[1, 2, 3, 6]]], opset), f32([[[3]]]), ort=opset > 1)
    everywhere(pool([[[[1, 2], [3, 6]], [[0, 0], [0, 1]]]], opset), f32([[[[3]], [[0.25]]]]), ort=opset > 1)  # fmt: skip
    everywhere(pool(np.arange(8).reshape(1, 1, 2, 2, 2), opset), f32([[[[[3.5]]]]]), ort=opset > 1)


def test_four_lanes():
    """Lane 0 is added to lane 2 first on x86-64, to lane 1 on ARM64; the fifth element comes last."""
    case = pool([[[1e8, 1, -1e8, 1, 3]]])
    assert result(case, "ort_cpu").item() == 1
    assert result(case, "ort_cpu", "arm64").item() == f32(3 / 5)
    equal(returned(case), result(case, "ort_cpu"))
    assert result(case).item() == 1


def test_an_empty_image():
    with pytest.raises(TraceError, match=r"X has the shape \[1, 2, 0\]; a mean needs at least one"):
        result(pool(np.ones((1, 2, 0))))
