"""discover finds every public value of a package once, in the order of its modules."""

import qlab.ops
import qlab.schemes
from qlab.ops import Operator
from qlab.registry import discover
from qlab.schemes import Scheme


def test_operators_in_the_order_of_their_files():
    found = discover(qlab.ops, Operator)
    modules = [operator.steps.__module__ for operator in found]
    assert modules == sorted(modules)
    assert len({(o.domain, o.op_type) for o in found}) == len(found)


def test_a_class_with_all_members_of_a_protocol_is_no_value():
    found = discover(qlab.schemes, Scheme)
    names = sorted(scheme.name for scheme in found)
    assert names == ["cmsis_nn", "exact", "fbgemm", "float32", "float64", "gemmlowp", "ort_cpu", "qnnpack", "tflite", "xnnpack"]  # fmt: skip
    assert not any(isinstance(scheme, type) for scheme in found)


def test_nothing_of_another_kind():
    assert discover(qlab.schemes, Operator) == []
