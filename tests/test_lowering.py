"""Lowering: parameters along an axis, the geometry of a convolution, and the matrix product it becomes."""

import itertools

import numpy as np
import pytest

from qlab.errors import TraceError
from qlab.lowering import (
    along_axis,
    filters,
    patches,
    tap_positions,
    to_channels_first,
    window,
)

RNG = np.random.default_rng(0)


class TestAlongAxis:
    @pytest.mark.parametrize("shape", [(), (1,)])
    @pytest.mark.parametrize("tensor", [(), (0,), (4,), (2, 3)])
    def test_one_entry_is_for_the_whole_tensor(self, shape, tensor):
        assert along_axis(np.full(shape, 7), 1, tensor).shape == ()

    @pytest.mark.parametrize(
        ("axis", "expected"), [(0, (2, 1, 1)), (1, (1, 3, 1)), (-1, (1, 1, 4)), (-3, (2, 1, 1))]
    )
    def test_one_entry_for_each_along_the_axis(self, axis, expected):
        parameter = np.arange(expected[axis])
        spread = along_axis(parameter, axis, (2, 3, 4))
        assert spread.shape == expected
        assert spread.reshape(-1).tolist() == parameter.tolist()

    def test_blocks(self):
        spread = along_axis(np.array([[1, 2], [3, 4]]), 1, (2, 4), block_size=2)
        assert spread.tolist() == [[1, 1, 2, 2], [3, 3, 4, 4]]

    def test_the_last_block_may_be_short(self):
        spread = along_axis(np.array([[1, 2], [3, 4]]), -1, (2, 3), block_size=2)
        assert spread.tolist() == [[1, 1, 2], [3, 3, 4]]
        assert along_axis(np.array([[5], [6]]), 1, (2, 3), block_size=100).tolist() == [[5] * 3, [6] * 3]  # fmt: skip

    def test_blocks_along_the_first_axis_and_of_a_vector(self):
        assert along_axis(np.array([[1, 2]]), 0, (3, 2), block_size=4).tolist() == [[1, 2]] * 3
        assert along_axis(np.array([1, 2]), 0, (4,), block_size=3).tolist() == [1, 1, 1, 2]

    @pytest.mark.parametrize(
        ("shape", "axis", "tensor", "block_size", "words"),
        [
            ((3,), 2, (2, 3), 0, "axis 2 is outside a tensor of rank 2"),
            ((3,), -3, (2, 3), 0, "axis -3 is outside a tensor of rank 2"),
            ((3,), 1, (), 0, "axis 1 is outside a tensor of rank 0"),
            (
                (2,),
                1,
                (2, 3),
                0,
                r"2 entries does not fit axis 1 of the shape \[2, 3\], which has 3",
            ),
            ((0,), 0, (2,), 0, "0 entries does not fit axis 0"),
            ((2, 3), 1, (2, 3), 0, r"shape \[2, 3\] does not fit the tensor's \[2, 3\]$"),
            ((2, 2), 1, (2, 6), 2, r"does not fit the tensor's \[2, 6\] in blocks of 2$"),
            ((2, 2), 1, (2, 3), -1, r"does not fit the tensor's \[2, 3\] in blocks of -1$"),
        ],
    )
    def test_what_does_not_fit(self, shape, axis, tensor, block_size, words):
        with pytest.raises(TraceError, match=words):
            along_axis(np.zeros(shape), axis, tensor, block_size)


def geometry(x, w, **attributes):
    return window(attributes.get, x, w)


class TestWindow:
    def test_defaults(self):
        found = geometry((1, 3, 8, 9), (4, 3, 3, 2))
        assert (found.kernel, found.strides, found.dilations) == ((3, 2), (1, 1), (1, 1))
        assert (found.begins, found.output, found.group, found.taps) == ((0, 0), (6, 8), 1, 6)

    @pytest.mark.parametrize(
        ("size", "kernel", "attributes", "begin", "output"),
        [
            (7, 3, {"pads": (2, 1)}, 2, 8),
            (7, 3, {"strides": (2,)}, 0, 3),
            (8, 3, {"strides": (2,)}, 0, 3),
            (7, 3, {"dilations": (3,)}, 0, 1),
            (7, 3, {"auto_pad": "SAME_UPPER"}, 1, 7),
            (7, 2, {"auto_pad": "SAME_UPPER"}, 0, 7),
            (7, 2, {"auto_pad": "SAME_LOWER"}, 1, 7),
            (7, 4, {"auto_pad": "SAME_LOWER"}, 2, 7),
            (7, 4, {"auto_pad": "SAME_UPPER"}, 1, 7),
            (7, 3, {"auto_pad": "SAME_UPPER", "strides": (2,)}, 1, 4),
            (8, 3, {"auto_pad": "SAME_UPPER", "strides": (2,)}, 0, 4),
            (8, 3, {"auto_pad": "SAME_LOWER", "strides": (2,)}, 1, 4),
            (7, 3, {"auto_pad": "SAME_UPPER", "dilations": (2,)}, 2, 7),
            (7, 1, {"auto_pad": "SAME_UPPER", "strides": (3,)}, 0, 3),
            (7, 3, {"auto_pad": "VALID", "pads": (1, 1)}, 0, 5),
            (7, 7, {"auto_pad": "NOTSET"}, 0, 1),
        ],
    )
    def test_padding_and_size(self, size, kernel, attributes, begin, output):
        found = geometry((1, 1, size), (1, 1, kernel), **attributes)
        assert (found.begins, found.output) == ((begin,), (output,))

    @pytest.mark.parametrize(
        ("x", "w", "attributes", "words"),
        [
            ((1, 2), (1, 2), {}, "a convolution needs"),
            ((1, 1, 4), (1, 1, 2, 2), {}, "a convolution needs"),
            ((1, 3, 4), (2, 2, 1), {}, "x has 3 channels, w 2 × 2 and group is 1"),
            ((1, 4, 4), (3, 2, 1), {"group": 2}, "a multiple of group"),
            ((1, 4, 4), (4, 2, 1), {"group": 0}, "group is 0"),
            ((1, 1, 4), (1, 1, 2), {"kernel_shape": (3,)}, r"kernel_shape \[3\] is not w's \[2\]"),
            ((1, 1, 4), (1, 1, 2), {"strides": (0,)}, r"strides \[0\]"),
            ((1, 1, 4), (1, 1, 2), {"dilations": (-1,)}, r"dilations \[-1\]"),
            ((1, 1, 4), (1, 1, 2), {"strides": (1, 1)}, "strides has 2 entries, 1 are needed"),
            ((1, 1, 4), (1, 1, 2), {"pads": (1,)}, "pads has 1 entries, 2 are needed"),
            ((1, 1, 4), (1, 1, 2), {"pads": (-1, 0)}, "pads must be at least 0"),
            ((1, 1, 4), (1, 1, 0), {}, "the kernel 1"),
            ((1, 1, 4), (1, 1, 2), {"auto_pad": "SAME"}, "auto_pad 'SAME' is not NOTSET"),
            ((1, 1, 2), (1, 1, 3), {}, r"reaches over \[3\], more than x's \[2\]"),
            ((1, 1, 2), (1, 1, 3), {"strides": (2,)}, r"reaches over \[3\]"),
            ((1, 1, 4), (1, 1, 3), {"dilations": (2,), "strides": (3,)}, r"reaches over \[5\]"),
            ((1, 1, 0), (1, 1, 1), {}, r"more than x's \[0\]"),
            ((1, 1, 4), (1, 1, 2), {"pads": (10**9, 0)}, "of at most 20,000,000 is traced"),
        ],
    )
    def test_what_does_not_fit(self, x, w, attributes, words):
        with pytest.raises(TraceError, match=words):
            geometry(x, w, **attributes)


def convolve(x, w, fill, found):
    """The definition, one product at a time."""
    n, m = x.shape[0], w.shape[0]
    result = np.zeros((n, m, *found.output), np.int64)
    per_group = m // found.group
    for index in np.ndindex(*result.shape):
        image, channel, *at = index
        group = channel // per_group
        for c, *tap in np.ndindex(*w.shape[1:]):
            place = [
                p * s + t * d - b
                for p, s, t, d, b in zip(
                    at, found.strides, tap, found.dilations, found.begins, strict=True
                )
            ]
            inside = all(0 <= i < size for i, size in zip(place, x.shape[2:], strict=True))
            value = x[(image, group * w.shape[1] + c, *place)] if inside else fill
            result[index] += value * w[(channel, c, *tap)]
    return result


@pytest.mark.parametrize("channel_major", [True, False])
@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((2, 1, 5), (1, 1, 3), {}),
        ((1, 4, 7), (6, 2, 2), {"group": 2, "pads": (2, 1), "strides": (2,), "dilations": (2,)}),
        ((2, 3, 4, 5), (2, 3, 2, 3), {"pads": (0, 1, 2, 3), "strides": (2, 1)}),
        ((1, 3, 4, 4), (3, 1, 3, 3), {"group": 3, "auto_pad": "SAME_LOWER"}),
        ((1, 2, 3, 3, 3), (2, 2, 2, 1, 2), {"pads": (1, 0, 0, 0, 0, 1)}),
        ((0, 2, 3), (2, 2, 2), {}),
        ((1, 0, 3), (2, 0, 2), {}),
        ((1, 2, 3), (0, 2, 2), {}),
        ((1, 1, 1), (1, 1, 2), {"pads": (5, 5)}),
    ],
)
def test_a_convolution_as_a_matrix_product(x, w, attributes, channel_major):
    found = geometry(x, w, **attributes)
    x, w = RNG.integers(-9, 9, x), RNG.integers(-9, 9, w)
    rows = patches(x, np.asarray(5), found, channel_major=channel_major)
    columns = filters(w, found, channel_major=channel_major)
    result = to_channels_first(np.matmul(rows, columns), found)
    np.testing.assert_array_equal(result, convolve(x, w, 5, found))


@pytest.mark.parametrize(
    ("w", "channel_major", "names", "order"),
    [
        ((4, 2, 3), True, ("c", "k"), lambda c, k: (c, k)),
        ((4, 2, 3), False, ("k", "c"), lambda c, k: (k, c)),
        ((4, 2, 3, 2), True, ("c", "kh", "kw"), lambda c, *k: (c, *k)),
        ((4, 2, 3, 2), False, ("kh", "kw", "c"), lambda c, *k: (*k, c)),
        ((4, 2, 3, 2, 2), False, ("kd", "kh", "kw", "c"), lambda c, *k: (*k, c)),
        ((4, 2, 1, 2, 1, 2), True, ("c", "k0", "k1", "k2", "k3"), lambda c, *k: (c, *k)),
    ],
)
def test_tap_positions_name_the_columns_of_the_patches(w, channel_major, names, order):
    axes, positions = tap_positions(w, channel_major=channel_major)
    assert axes == names
    every = itertools.product(range(w[1]), *(range(k) for k in w[2:]))
    assert sorted(positions) == sorted(order(*place) for place in every)
    assert list(positions) == sorted(positions)
    # A patch of an input that holds its own position tells the same.
    x = np.arange(w[1] * np.prod(w[2:])).reshape(1, *w[1:])
    row = patches(x, np.asarray(0), geometry(x.shape, w), channel_major=channel_major).reshape(-1)
    at = [tuple(p) if channel_major else (p[-1], *p[:-1]) for p in positions]
    assert [int(x[(0, *p)]) for p in at] == row.tolist()
