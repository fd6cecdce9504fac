"""What a tensor is to the nodes that read it: data, a scale or a zero point; and the code that stands for nothing."""

import numpy as np

from qlab.axes import consumer_names, schema_names
from qlab.case import Case
from qlab.notation import show
from qlab.qtypes import Array, is_float, is_integer

SCALE, ZERO_POINT, DATA, OTHER = "scale", "zero_point", "data", "other"


def held(case: Case, name: str) -> Array:
    """The value of an input or constant."""
    value = case.tensor(name)
    assert value is not None, name
    return value


def kind(case: Case, name: str) -> str:
    """``scale``, ``zero_point``, ``data``; ``other`` for shapes, axes, indices, and what is no number."""
    for read in consumer_names(case.graph, name):
        if read.endswith(("scale", "scales")):
            return SCALE
        if read.endswith(("zero_point", "zero_points")):
            return ZERO_POINT
    value = held(case, name)
    number = is_integer(value.dtype) or is_float(value.dtype)
    return DATA if number and value.dtype != np.int64 else OTHER


def of_kind(case: Case, *kinds: str) -> tuple[str, ...]:
    """The inputs and constants of these kinds, the inputs first."""
    return tuple(n for n in (*case.inputs, *case.graph.constants) if kind(case, n) in kinds)


def zero_point_of(case: Case, name: str) -> str:
    """The constant or input that is the zero point of a tensor; "" where it has none."""
    for node in case.graph.consumers(name):
        read = schema_names(node)
        for own in (n for n, tensor in read.items() if tensor == name):
            found = read.get(f"{own}_zero_point", "")
            if found and case.tensor(found) is not None:
                return found
    return ""


def rest(case: Case, name: str) -> Array:
    """The value that stands for nothing, shape (): the zero point, where there is one for all entries, else 0."""
    value = held(case, name)
    zero_point = case.tensor(zero_point_of(case, name))
    if zero_point is not None and zero_point.size == 1 and zero_point.dtype == value.dtype:
        return zero_point.reshape(())
    return np.zeros((), value.dtype)


def moving(case: Case, name: str) -> Array:
    """Flat positions of the entries that do not rest."""
    value = held(case, name)
    flat, still = value.reshape(-1), rest(case, name)
    if is_integer(value.dtype):
        return np.flatnonzero(flat.astype(np.int64) != still.astype(np.int64))
    return np.flatnonzero(flat != still)


def with_entries(case: Case, name: str, positions: Array, to: Array) -> Case:
    """The case with some entries of a tensor, by flat position, set to values."""
    value = held(case, name)
    changed = value.reshape(-1).copy()
    changed[positions] = to
    return case.with_tensor(name, changed.reshape(value.shape))


def changes(before: Array, after: Array) -> str:
    """The first entries that differ, each with what it was: ``1 instead of 0.0131``."""
    one, other = before.reshape(-1), after.reshape(-1)
    changed = [k for k in range(one.size) if one[k] != other[k]]
    words = [f"{show(other[k])} instead of {show(one[k])}" for k in changed[:3]]
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return ", ".join(words) + more


def result_scale(case: Case) -> str:
    """The constant scale of the last quantized result; "" where there is none."""
    for node in reversed(case.graph.nodes):
        of = schema_names(node)
        for name in ("y_scale", "c_scale"):
            found = of.get(name, "")
            if found in case.graph.constants and is_float(held(case, found).dtype):
                return found
    return ""
