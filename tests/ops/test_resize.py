"""Resize: where each element lies, which entry is the nearest, what lies between two; positions in float32 in the kernel."""

import numpy as np
import pytest

from qlab.errors import TraceError
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.ops.calls import (
    SCHEMES,
    call,
    equal,
    everywhere,
    f32,
    result,
    returned,
    step,
    tensor,
)


def resize(x, dtype="float32", *, opset=19, roi=None, scales=None, sizes=None, **attributes):
    tensors = {"X": tensor(dtype, x)}
    tensors |= {} if roi is None else {"roi": f32(roi)}
    tensors |= {} if scales is None else {"scales": f32(scales)}
    tensors |= {} if sizes is None else {"sizes": np.array(sizes, np.int64)}
    return call("Resize", tensors, opset=opset, **attributes)


def nearest(x, sizes, coordinates, mode="round_prefer_floor", **more):
    return resize(x, "int8", sizes=sizes, coordinate_transformation_mode=coordinates, nearest_mode=mode, **more)  # fmt: skip


@pytest.mark.parametrize(
    ("coordinates", "mode", "expected"),
    [
        # 2 entries to 4: positions -0.25, 0.25, 0.75, 1.25.
        ("half_pixel", "round_prefer_floor", [1, 1, 2, 2]),
        ("half_pixel", "ceil", [1, 2, 2, 2]),
        ("half_pixel", "floor", [1, 1, 1, 2]),
        ("pytorch_half_pixel", "floor", [1, 1, 1, 2]),
        ("half_pixel_symmetric", "floor", [1, 1, 1, 2]),
        # 0, 0.5, 1, 1.5.
        ("asymmetric", "round_prefer_floor", [1, 1, 2, 2]),
        ("asymmetric", "round_prefer_ceil", [1, 2, 2, 2]),
        # 0, 1/3, 2/3, 1.
        ("align_corners", "round_prefer_ceil", [1, 1, 2, 2]),
        ("align_corners", "ceil", [1, 2, 2, 2]),
    ],
)
def test_nearest(coordinates, mode, expected):
    everywhere(nearest([1, 2], [4], coordinates, mode), expected, "int8")


def test_nearest_of_opset_11():
    empty = np.zeros(0)
    case = nearest([1, 2], [4], "tf_half_pixel_for_nn", "floor", opset=11, roi=empty, scales=empty)
    everywhere(case, [1, 1, 2, 2], "int8")  # 0.25, 0.75, 1.25, 1.75


@pytest.mark.parametrize(
    ("coordinates", "expected"),
    [
        ("half_pixel", [8, 10, 14, 16]),
        ("asymmetric", [8, 12, 16, 16]),
        ("align_corners", [8, 12, 16]),
    ],
)
def test_linear(coordinates, expected):
    case = resize(
        [[8, 16]],
        sizes=[1, len(expected)],
        mode="linear",
        coordinate_transformation_mode=coordinates,
    )
    everywhere(case, f32([expected]), "float32")


def test_linear_of_both_axes():
    case = resize([[0, 8], [16, 24]], sizes=[4, 4], mode="linear")
    rows = np.array([[0, 2, 6, 8], [4, 6, 10, 12], [12, 14, 18, 20], [16, 18, 22, 24]])
    everywhere(case, rows, "float32")
    image = resize(np.array([[0, 8], [16, 24]])[None, None], scales=[1, 1, 2, 2], mode="linear")
    everywhere(image, rows[None, None], "float32")


def test_interpolated_codes_are_truncated():
    """Towards zero in every scheme, so that negative codes move up: the mean of -1 and -2 becomes -1, of 1 and 2, 1."""
    case = resize([[-1, -2], [1, 2]], "int8", sizes=[2, 3], mode="linear", coordinate_transformation_mode="align_corners")  # fmt: skip
    everywhere(case, [[-1, -1, -2], [1, 1, 2]], "int8")


def test_bytes_with_the_channels_last_are_interpolated_in_whole_1024ths():
    """At 1/3: weights 683 and 341 of 1024, so 3 · 341 / 1024 is 0.999 and becomes 0; exactly it is 1."""
    x = np.array([0, 3])[None, :, None, None]
    x = np.broadcast_to(x, (1, 2, 2, 1))
    case = resize(x, "uint8", sizes=[1, 4, 2, 1], mode="linear", coordinate_transformation_mode="align_corners")  # fmt: skip
    for name, expected in (("exact", [0, 1, 2, 3]), ("ort_cpu", [0, 0, 1, 3])):
        equal(result(case, name)[0, :, 0, 0], expected, "uint8")
    equal(returned(case), result(case, "ort_cpu"))


def test_extrapolates():
    more = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    # From -1/2 to 1 of the length 2: positions -1, 0, 1, 2.
    case = resize([1, 2, 3], sizes=[4], roi=[-0.5, 1], **more)
    everywhere(case, f32([7, 1, 2, 3]), "float32")
    case = resize([[1, 2, 3]], sizes=[1, 4], roi=[0, -0.5, 1, 1], mode="linear", **more)
    everywhere(case, f32([[7, 1, 2, 3]]), "float32")


def test_some_axes():
    case = resize([[1, 2], [3, 4]], "uint8", sizes=[4], axes=(1,))
    everywhere(case, [[1, 1, 2, 2], [3, 3, 4, 4]], "uint8")
    case = resize([[1, 2], [3, 4]], "uint8", scales=[2], axes=(-1,))
    equal(result(case), [[1, 1, 2, 2], [3, 3, 4, 4]], "uint8")


def test_nothing_is_moved_where_no_length_changes():
    """The kernel copies, though a scale of 1.2 has positions of its own."""
    case = resize([1, 2, 3], scales=[1.2], coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    equal(result(case), [1, 1, 2], "float32")
    equal(result(case, "ort_cpu"), [1, 2, 3])
    equal(returned(case), [1, 2, 3])


FLOAT32_MISSES = nearest(np.arange(20), [6], "half_pixel", "round_prefer_ceil")


def test_a_half_that_float32_misses():
    """(4 + 0.5) · 20 / 6 - 0.5 = 14.5; in float32 less. From 1.27.0 on what is near a half is one."""
    assert step(FLOAT32_MISSES, "position0")[4] == 14.5
    assert step(FLOAT32_MISSES, "position0", "ort_cpu")[4] < 14.5
    for name in ("exact", "ort_cpu"):
        assert result(FLOAT32_MISSES, name)[4] == 15
    for version, expected in (("1.26.0", 14), ("1.27.0", 15), ("1.32.0", 15)):
        scheme = OrtCpu(version=version)
        outputs = trace(FLOAT32_MISSES.graph, FLOAT32_MISSES.inputs, scheme).outputs
        assert outputs["out"][4] == expected
    equal(returned(FLOAT32_MISSES), result(FLOAT32_MISSES, "ort_cpu"))


def test_empty():
    for name in SCHEMES:
        assert result(resize(np.zeros((2, 0)), sizes=[3, 0]), name).shape == (3, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "one of scales and sizes is needed, and not both"),
        ({"scales": [1], "sizes": [2]}, "one of scales and sizes is needed, and not both"),
        ({"sizes": [2, 2]}, "sizes has 2 entries; 1 are needed"),
        ({"sizes": [-1]}, r"sizes \[-1\] cannot be made of \[3\]"),
        ({"scales": [0]}, "each must be above 0 and finite"),
        ({"sizes": [2], "axes": (1,)}, "axes 1 is outside a tensor of rank 1"),
        ({"sizes": [2], "mode": "cubic"}, "mode 'cubic' is not modelled; nearest, linear are"),
        ({"sizes": [2], "antialias": 1}, "antialias is not modelled"),
        ({"sizes": [2], "keep_aspect_ratio_policy": "not_larger"}, "'not_larger' is not modelled"),
        ({"sizes": [2], "nearest_mode": "round"}, "nearest_mode 'round' is not modelled"),
        ({"sizes": [2], "opset": 10}, "opset 10 is not modelled"),
        ({"sizes": [2], "coordinate_transformation_mode": "tf_crop_and_resize"}, "roi of 2 entries"),
    ],
)  # fmt: skip
def test_bad_calls(changes, message):
    with pytest.raises(TraceError, match=rf"^Resize \(out\): .*{message}"):
        result(resize([1, 2, 3], **changes))


def test_what_has_no_kernel_or_no_model():
    with pytest.raises(TraceError, match="has no kernel in ort_cpu"):
        result(resize([1, 2], sizes=[4], mode="linear"), "ort_cpu")
    with pytest.raises(TraceError, match="linear Resize of int32 is not modelled"):
        result(resize([[1, 2]], "int32", sizes=[1, 4], mode="linear"), "ort_cpu")
    with pytest.raises(TraceError, match="on ARM64 is not modelled"):
        result(resize([[1, 2]], sizes=[1, 4], mode="linear"), "ort_cpu", "arm64")
    with pytest.raises(TraceError, match="X has no axis to resize"):
        result(resize(1, sizes=[1]))
