"""One call per usual case: a quantized operator with small numbers of its own, to start from."""

import dataclasses

from qlab.case import Case
from qlab.errors import CaseError
from qlab.examples import examples
from qlab.forms import UNFUSED, to_qdq


@dataclasses.dataclass(frozen=True)
class Buildable:
    """An operator that `build` makes a case of.

    Attributes:
        forms: ``QOperator``, and ``QDQ`` where the operator has such a form.
        dtypes: of its activations. weight_dtypes: of its second operand; empty where that has the same type.
    """

    op_type: str
    forms: tuple[str, ...]
    dtypes: tuple[str, ...]
    weight_dtypes: tuple[str, ...]


def buildable() -> tuple[Buildable, ...]:
    """Every operator that `build` knows, in the order of their names."""
    return tuple(
        Buildable(
            name,
            ("QOperator", "QDQ") if name in UNFUSED else ("QOperator",),
            example.dtypes,
            example.weight_dtypes,
        )
        for name, example in examples().items()
    )


def build(
    op_type: str, *, form: str = "QOperator", dtype: str = "uint8", weight_dtype: str = "int8"
) -> Case:
    """A case of one operator: a few codes, scales that are no powers of two, zero points that are not 0.

    Args:
        op_type: one of `buildable`. form: ``QOperator`` or ``QDQ``.
        dtype: of activations and result. weight_dtype: of the second operand of a product.

    Raises:
        CaseError: an operator, form or type that there is not; the line says which there are.
    """
    known = {b.op_type: b for b in buildable()}
    if op_type not in known:
        raise CaseError(f"cannot build {op_type!r}; it can be {', '.join(known)}")
    wanted = known[op_type]
    for what, given, allowed in (("form", form, wanted.forms), ("dtype", dtype, wanted.dtypes)):
        if given not in allowed:
            raise CaseError(f"{op_type} has no {what} {given!r}; it can be {', '.join(allowed)}")
    if wanted.weight_dtypes and weight_dtype not in wanted.weight_dtypes:
        raise CaseError(
            f"{op_type} has no weight_dtype {weight_dtype!r}; it can be {', '.join(wanted.weight_dtypes)}"
        )
    case = examples()[op_type].make(dtype, weight_dtype if wanted.weight_dtypes else dtype)
    other = to_qdq(case) if form == "QDQ" else case
    assert other is not None  # the scales of the examples are constants
    types = f"{dtype} × {weight_dtype}" if wanted.weight_dtypes else dtype
    return dataclasses.replace(
        other, title=f"{op_type} of {types}" + (" as a QDQ group" if form == "QDQ" else "")
    )
