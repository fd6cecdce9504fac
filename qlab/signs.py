"""int8 ↔ uint8: codes and zero points moved together to the type of the other sign, so that no real value changes."""

import dataclasses

import numpy as np

from qlab.case import Case
from qlab.ops import operators
from qlab.qtypes import DTYPES, bounds, dtype_name, is_integer


@dataclasses.dataclass(frozen=True)
class TypeGroup:
    """Tensors of codes that must share one type: codes and zero points.

    Attributes:
        tensors: names of constants and inputs, the codes first.
        dtype: their type now. other: the type of the other sign that they can take.
    """

    tensors: tuple[str, ...]
    dtype: str
    other: str


OTHER_SIGN = {
    "int8": "uint8", "uint8": "int8", "int16": "uint16", "uint16": "int16", "int4": "uint4", "uint4": "int4",
}  # fmt: skip
MOVING = ("Transpose", "Reshape", "Flatten", "Identity")


def switchable_types(case: Case) -> tuple[TypeGroup, ...]:
    """The groups of code tensors whose sign can be switched without changing a real value.

    Every group has a zero point in each place that can hold one, so that codes and zero points move together.
    """
    links: dict[str, set[str]] = {}
    fixed: set[str] = set()

    def link(*names: str) -> None:
        joined = {n for n in names if n}.union(*(links.get(n, set()) for n in names))
        for name in joined:
            links[name] = joined

    for node in case.graph.nodes:
        operator = operators().get((node.domain, node.op_type))
        names = operator.names(len(node.inputs)) if operator else ()
        named = dict(zip(names, node.inputs, strict=False))
        letters = {name.lower(): tensor for name, tensor in named.items()}
        zero_points = [n for n in named if n.endswith("_zero_point") and named[n]]
        if node.op_type in MOVING:
            link(node.input(0), node.outputs[0])
        elif operator is None or not zero_points:
            # Codes that an operator takes as plain integers would change their meaning.
            fixed.update(n for n in (*node.inputs, *node.outputs) if n)
        of_codes = []
        for name in names:
            if name.endswith("_zero_point"):
                codes = letters.get(name.removesuffix("_zero_point").lower(), node.outputs[0])
                of_codes.append(codes)
                if named.get(name):
                    link(codes, named[name])
                else:
                    fixed.add(codes)
        if operator is not None and operator.one_type:
            link(*of_codes)
    groups = []
    for joined in {id(g): g for g in links.values()}.values():
        held = {
            n: v
            for n in sorted(joined)
            if (v := case.tensor(n)) is not None and is_integer(v.dtype)
        }
        types = {dtype_name(v.dtype) for v in held.values()}
        if len(types) == 1 and not joined & fixed and (dtype := types.pop()) in OTHER_SIGN:
            ordered = sorted(held, key=lambda n: (n.endswith("zero_point"), n))
            groups.append(TypeGroup(tuple(ordered), dtype, OTHER_SIGN[dtype]))
    return tuple(sorted(groups, key=lambda g: g.tensors))


def with_other_sign(case: Case, group: TypeGroup) -> Case:
    """The case with a group's codes and zero points moved to the type of the other sign: the reals stay."""
    low, _ = bounds(group.dtype)
    shift = bounds(group.other)[0] - low
    for name in group.tensors:
        value = case.tensor(name)
        assert value is not None
        moved = value.astype(np.int64) + shift
        case = case.with_tensor(name, moved.astype(DTYPES[group.other]))
    return case
