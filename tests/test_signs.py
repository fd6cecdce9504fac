"""int8 ↔ uint8: codes and zero points move together, and no real value changes."""

import numpy as np
import pytest

from qlab.builder import build, buildable
from qlab.gallery import gallery_case
from qlab.schemes import schemes
from qlab.signs import switchable_types, with_other_sign
from qlab.trace import trace

BUILT = [
    (b.op_type, form, dtype) for b in buildable() for form in b.forms for dtype in b.dtypes[:2]
]


@pytest.mark.parametrize(("op_type", "form", "dtype"), BUILT)
def test_the_reals_stay(op_type, form, dtype):
    case = build(op_type, form=form, dtype=dtype)
    before = trace(case.graph, case.inputs, schemes()["exact"])
    for group in switchable_types(case):
        other = with_other_sign(case, group)
        after = trace(other.graph, other.inputs, schemes()["exact"])
        for name, value in before.outputs.items():
            moved = after.outputs[name].astype(np.float64) - value.astype(np.float64)
            if value.dtype == after.outputs[name].dtype:
                assert not moved.any()
            else:
                assert np.unique(np.abs(moved)).tolist() == [2.0 ** (8 * value.dtype.itemsize - 1)]


def test_there_and_back():
    case = gallery_case("qgemm-u8s8-saturates")
    for group in switchable_types(case):
        other = with_other_sign(case, group)
        back = next(g for g in switchable_types(other) if set(g.tensors) == set(group.tensors))
        again = with_other_sign(other, back)
        for name in group.tensors:
            assert again.tensor(name).tolist() == case.tensor(name).tolist()


def test_all_operands_of_qlinearadd_move_together():
    (group,) = switchable_types(gallery_case("qlinearadd-off-by-one"))
    assert set(group.tensors) == {"A", "A_zero_point", "B", "B_zero_point", "C_zero_point"}
    assert (group.dtype, group.other) == ("int8", "uint8")


def test_codes_without_a_zero_point_stay():
    case = gallery_case("dynamicquantizelinear-tie")
    assert switchable_types(case) == ()
