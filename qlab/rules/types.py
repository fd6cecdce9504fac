"""Is each input of a type that the schema allows, and do those of one type parameter agree?"""

import functools
from collections.abc import Iterator

import numpy as np
import onnx

from qlab.case import Case
from qlab.qtypes import ALIASES, DTYPES, is_float, is_integer, saturate
from qlab.report import Finding
from qlab.rules.checked_node import SCALARS_ONLY, CheckedNode


def _dtype(kind: str) -> str:
    """``tensor(float)`` → ``float32``."""
    name = kind.removeprefix("tensor(").removesuffix(")").replace("float8e", "float8_e")
    return ALIASES.get(name, name)


def types(check: CheckedNode) -> Iterator[Finding]:
    """Is each input of a type that the schema allows, and do those of one type parameter agree?"""
    if check.node.domain:
        yield from _microsoft_types(check)
        return
    schema = onnx.defs.get_schema(check.node.op_type, check.case.graph.opset.get("", 1), "")
    bound: dict[str, tuple[str, str]] = {}
    for parameter, tensor in zip(schema.inputs, check.node.inputs, strict=False):
        dtype = check.known.get(tensor, ("", None))[0]
        if not dtype:
            continue
        allowed = sorted(_dtype(t) for t in parameter.types)
        if dtype not in allowed:
            rule = f"{check.node.op_type} takes {parameter.name} as {', '.join(allowed)} (opset {schema.since_version})"
            yield _not_allowed(check, rule, tensor, dtype, allowed)
            continue
        other = bound.setdefault(parameter.type_str, (parameter.name, dtype))
        if other[1] != dtype:
            yield from _two_types(check, other, parameter.name, tensor, dtype)


def _microsoft_types(check: CheckedNode) -> Iterator[Finding]:
    bound: tuple[str, str] | None = None
    for name, tensor in check.named.items():
        dtype = check.known.get(tensor, ("", None))[0]
        if not dtype:
            continue
        if name.endswith("_scale") and dtype != "float32":
            rule = f"{check.node.op_type} takes {name} as float32"
            yield _not_allowed(check, rule, tensor, dtype, ["float32"])
        elif (check.node.op_type, name) == ("QGemm", "C") and dtype != "int32":
            yield _not_allowed(
                check, "QGemm takes C as int32, in steps of a_scale · b_scale", tensor, dtype, []
            )
        elif check.node.op_type in SCALARS_ONLY and not name.endswith("_scale"):
            bound = bound or (name, dtype)
            if bound[1] != dtype:
                yield from _two_types(check, bound, name, tensor, dtype)


def _not_allowed(
    check: CheckedNode, rule: str, tensor: str, dtype: str, allowed: list[str]
) -> Finding:
    """A type that the schema does not list; the nearest is one that holds every value of the tensor."""
    value = check.case.tensor(tensor)
    wanted = "float32" if is_float(dtype) else "int8" if dtype == "int4" else "uint8"
    holds = is_float(dtype) or dtype in ("int4", "uint4")
    if value is None or wanted not in allowed or not holds:
        return check.finding(tensor, rule, f"{tensor} is {dtype}")
    cast = functools.partial(check.case.with_tensor, tensor, value.astype(DTYPES[wanted]))
    return check.finding(tensor, rule, f"{tensor} is {dtype}", f"{tensor} as {wanted}", cast)


def _two_types(
    check: CheckedNode, first: tuple[str, str], name: str, tensor: str, dtype: str
) -> Iterator[Finding]:
    value = check.case.tensor(tensor)
    nearest, fix = "", None
    if value is not None and is_integer(first[1]) and is_integer(dtype):
        nearest = f"{name} as {first[1]}"

        def fix() -> Case:
            return check.case.with_tensor(tensor, saturate(value.astype(np.int64), first[1]))

    rule = f"{check.node.op_type} wants {name} and {first[0]} in one type"
    yield check.finding(tensor, rule, f"{first[0]} is {first[1]}, {name} is {dtype}", nearest, fix)
