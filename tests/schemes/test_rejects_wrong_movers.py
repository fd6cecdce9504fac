"""The batteries of QLinearConcat and QLinearWhere can fail: wrong variants of ort_cpu are rejected by them."""

import numpy as np
import pytest

from qlab.batteries.conversions import concat_cases, where_cases
from qlab.kernels.numbers import f32
from qlab.qtypes import saturate
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import Step
from tests.schemes.test_rejects_wrong_emulators import rejected


class _Converts(OrtCpu):
    """scaled(codes less zero points, scale, target's scale) → codes."""

    def convert(self, q, target):
        same = (q.scale == target.scale) & (q.zero_point == target.zero_point)
        centered = q.codes - q.zero_point
        scaled = f32(self.scaled(f32(centered), f32(q.scale), f32(target.scale)))
        return (yield from self.to_codes(f32(np.where(same, centered, scaled)), target))

    def scaled(self, x, s, t):
        return f32(x * s) / t


class OneRounding(_Converts):
    def scaled(self, x, s, t):
        return x.astype(np.float64) * s / t


class ByTheRatio(_Converts):
    def scaled(self, x, s, t):
        return x * f32(s / t)


class ByTheReciprocal(_Converts):
    def scaled(self, x, s, t):
        return f32(x * s) * f32(1 / t)


class ZeroPointBeforeRounding(_Converts):
    def to_codes(self, scaled, target):
        total = np.nan_to_num(np.clip(np.rint(f32(scaled + f32(target.zero_point))), -999, 999), nan=-999)  # fmt: skip
        codes = saturate(total.astype(np.int64), target.dtype)
        yield Step("output", "", codes, tensor=target.tensor)
        return codes


class NeverCopies(_Converts):
    def convert(self, q, target):
        scaled = self.scaled(f32(q.codes - q.zero_point), f32(q.scale), f32(target.scale))
        return (yield from self.to_codes(f32(scaled), target))


WRONG = (OneRounding, ByTheRatio, ByTheReciprocal, ZeroPointBeforeRounding, NeverCopies)


@pytest.mark.parametrize("emulator", WRONG, ids=[e.__name__ for e in WRONG])
@pytest.mark.parametrize("cases", [concat_cases, where_cases], ids=["concat", "where"])
def test_a_wrong_emulator_is_rejected(emulator, cases):
    assert rejected(emulator, cases("int8", 1), "this")


@pytest.mark.parametrize("cases", [concat_cases, where_cases], ids=["concat", "where"])
def test_the_variants_differ_by_their_fault_only(cases):
    assert not rejected(_Converts, cases("int8", 1), "this")
