"""What AVX2's pairs of products lose: the columns that are looked at alone against all pairs added one by one."""

import numpy as np
import pytest

from qlab.kernels.qgemm import lost_in_pairs

CODES = {"uint8": (0, 256), "int8": (-128, 128)}


def plain(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    products = lhs.astype(np.int64)[..., :, None] * rhs.astype(np.int64)[..., None, :, :]
    if products.shape[-2] % 2:
        products = np.concatenate([products, np.zeros_like(products[..., :1, :])], -2)
    pairs = products[..., ::2, :] + products[..., 1::2, :]
    return (pairs - np.clip(pairs, -32768, 32767)).sum(-2)


@pytest.mark.parametrize(
    ("a", "b", "lost"),
    [
        ([255, 255], [127, 127], 64_770 - 32_767),
        ([255, 2], [127, 127], 0),  # 32,639
        ([255, 3], [127, 127], 0),  # 32,766
        ([255, 3], [127, 128 - 1], 0),
        ([255, 4], [127, 96], 2),  # 32,769
        ([255, 2], [127, 191], 0),  # 32,767: the last that fits
        ([255, 255], [-128, -128], -65_280 + 32_768),
        ([128, 128], [-128, -128], 0),  # -32,768: the last that fits
        ([129, 128], [-128, -128], -128),
        ([255, 255], [127, -128], 0),
        ([255, 255, 255], [127, 127, 127], 64_770 - 32_767),  # the third is alone
        ([255], [127], 0),
        ([255, 255, 255, 255], [127, 127, -128, -128], (64_770 - 32_767) - (65_280 - 32_768)),
    ],
)
def test_both_ends(a: list[int], b: list[int], lost: int):
    found = lost_in_pairs(np.array([a]), np.array([b]).T)
    assert found.item() == lost == plain(np.array([a]), np.array([b]).T).item()


@pytest.mark.parametrize("kind", CODES)
def test_random_codes_of_any_shape(kind: str):
    rng = np.random.default_rng(7)
    for batch, rows, k, columns in (
        ((), 5, 8, 6),
        ((2, 3), 4, 7, 3),
        ((1, 2), 1, 1, 1),
        ((), 3, 0, 2),
    ):
        lhs = rng.integers(*CODES[kind], (*batch, rows, k))
        rhs = rng.integers(-128, 128, (*batch[1:], k, columns))
        for weights in (rhs, np.where(rhs < 0, -128, 127), rhs // 2):
            found = lost_in_pairs(lhs.astype(np.int16), weights)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, plain(lhs, weights))
