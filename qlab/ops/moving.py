"""What operators share that move values and change none: codes, float arrays and fractions alike."""

from qlab.errors import TraceError
from qlab.ops import Call
from qlab.qtypes import Array
from qlab.trace import Step


def of_one_type(call: Call, names: tuple[str, ...]) -> list[Array]:
    """Inputs that end up in one tensor, in one number system. Raises TraceError where their types differ.

    A real that another node made is one of the scheme's numbers, a fed or constant one is as it is stored.
    """
    dtypes: dict[str, str] = {}
    for name in names:
        dtypes.setdefault(call.dtype(name), name)
    if len(dtypes) > 1:
        (dtype, name), (other, second), *_ = dtypes.items()
        raise TraceError(f"{name} is {dtype} and {second} {other}; all must have one type")
    values = [call[name] for name in names]
    if len({v.dtype for v in values}) > 1:
        values = [call.scheme.real(v) for v in values]
    return values


def axis_of(axis: int, rank: int, name: str = "axis") -> int:
    """An axis as 0 … rank - 1. Raises TraceError where a tensor of that rank has none such."""
    if not -rank <= axis < rank:
        raise TraceError(f"{name} {axis} is outside a tensor of rank {rank}")
    return axis % rank


def integers(call: Call, name: str, *, since: int, of: str = "") -> tuple[int, ...] | None:
    """Whole numbers that are an input from opset ``since`` on and the attribute ``of`` before; None where absent."""
    if call.opset >= since:
        value = call.optional(name)
        return None if value is None else tuple(int(v) for v in value.reshape(-1))
    given = call.attribute(of or name)
    return None if given is None else tuple(int(v) for v in given)


def moved(call: Call, name: str, formula: str, value: Array) -> Step:
    """The only step: values of the input ``name`` in other places."""
    return Step("output", formula, value, tensor=call.output, dtype=call.dtype(name))
