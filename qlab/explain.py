"""Where two results part, and one sentence why."""

import dataclasses
from fractions import Fraction

import numpy as np

from qlab.arithmetic import round_to, to_float
from qlab.graph import Graph, Node
from qlab.notation import integer, show
from qlab.qtypes import Array, dtype_name, is_float
from qlab.reals import Reals
from qlab.trace import ElementStep, Index, Taps, Trace

INT32 = 2**31


@dataclasses.dataclass(frozen=True)
class Parting:
    """The first step at which two traces of one graph part.

    Attributes:
        node: index in the graph. tensor, index: the element looked at, the node's first that differs.
        step: name of the step; "output" where no earlier step tells.
    """

    node: int
    tensor: str
    index: Index
    step: str
    why: str

    @property
    def label(self) -> str:
        """``C:sum``."""
        return f"{self.tensor}:{self.step}"


def part(expected: Trace, actual: Trace, at: tuple[str, Index] | None = None) -> Parting | None:
    """The first step at which two traces of the same graph part; None where no code differs.

    Args:
        at: a tensor and an element to look at, None where it is equal in both; else the first differing element
            of the first differing tensor.
    """
    for position, one in enumerate(expected.nodes):
        for tensor in one.node.outputs:
            if not tensor or (at and at[0] != tensor):
                continue
            if tensor not in expected.tensors or tensor not in actual.tensors:
                continue  # an output that the node does not have
            e, a = expected.tensors[tensor], actual.tensors[tensor]
            if at is None:
                index = first_difference(e, a)
            else:
                index = at[1] if _differs(np.asarray(e[at[1]]), np.asarray(a[at[1]])) else None
            if index is not None:
                return _part_element(expected, actual, position, tensor, index)
    return None


def first_difference(expected: Array, actual: Array) -> Index | None:
    """The first element whose codes differ, or whose reals differ by more than rounding explains."""
    if expected.shape != actual.shape:
        return None
    wrong = np.argwhere(_differs(expected, actual))
    return tuple(int(i) for i in wrong[0]) if len(wrong) else None


def _differs(expected: Array, actual: Array) -> Array:
    real = any(a.dtype == object or is_float(a.dtype) for a in (expected, actual))
    if not real:
        return np.asarray(expected != actual)
    e, a = (
        v.nearly() if isinstance(v, Reals) else to_float(v, np.float64) for v in (expected, actual)
    )
    finite = np.isfinite(e) & np.isfinite(a)
    with np.errstate(invalid="ignore"):
        # Float32 rounding of sums stays far below 2^-14 of the largest value; another meaning does not.
        largest = max((float(np.abs(v[finite]).max()) for v in (e, a) if finite.any()), default=0.0)
        far = np.abs(e - a) > largest * 2.0**-14
        same = (e == a) | (np.isnan(e) & np.isnan(a))
    return np.asarray(np.where(finite, far, ~same))


def _part_element(
    expected: Trace, actual: Trace, position: int, tensor: str, index: Index
) -> Parting:
    theirs = {step.name: step for step in expected.element(tensor, index)}
    names = expected.scheme, actual.scheme
    before: ElementStep | None = None
    for step in actual.element(tensor, index):
        if step.name == "wrapped" and before is not None and before.value != step.value:
            why = f"the sum {_number(before)} does not fit int32 and wraps to {_number(step)}"
            return Parting(position, tensor, index, step.name, why)
        before = step if _is_integer(step.value) else before
        reference = theirs.get(step.name)
        if reference is None or not _parts(reference, step):
            continue
        why = _sentence(reference, step, theirs, actual.element(tensor, index), names)
        return Parting(position, tensor, index, step.name, why)
    return Parting(position, tensor, index, "output", "")


def _parts(expected: ElementStep, actual: ElementStep) -> bool:
    e, a = expected.value, actual.value
    if _is_integer(e) and _is_integer(a):
        return int(e) != int(a)
    if expected.decides and actual.decides:
        return not _same(_rounded(expected), _rounded(actual))
    e64, a64 = _as_float(e), _as_float(a)
    if not (np.isfinite(e64) and np.isfinite(a64)):
        return not (e64 == a64 or (np.isnan(e64) and np.isnan(a64)))
    return abs(e64 - a64) > max(abs(e64), abs(a64)) * 2.0**-14


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) or (
        isinstance(value, np.generic) and not is_float(value.dtype)
    )


def _as_float(value: object) -> float:
    return float(round_to(value, np.float64)) if isinstance(value, Fraction) else float(value)  # type: ignore[arg-type]


def _rounded(step: ElementStep) -> float | int:
    """The integer, or the number of the step's float8 type, that a deciding value rounds to."""
    value = step.value
    if step.format:
        return float(round_to(_fraction_or_float(value), step.format))
    if isinstance(value, Fraction):
        return round(value)
    return float(np.rint(float(value)))


def _fraction_or_float(value: object) -> Fraction | float:
    return value if isinstance(value, Fraction) else float(value)  # type: ignore[arg-type]


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


def _number(step: ElementStep) -> str:
    value = step.value
    return integer(value) if _is_integer(value) else show(value)


def is_tie(value: object) -> bool:
    """True for a real exactly between two integers."""
    if isinstance(value, Fraction):
        return value.denominator == 2
    number = float(value)  # type: ignore[arg-type]
    return bool(np.isfinite(number)) and abs(number - np.floor(number)) == 0.5


def _sentence(
    expected: ElementStep,
    actual: ElementStep,
    theirs: dict[str, ElementStep],
    ours: tuple[ElementStep, ...],
    names: tuple[str, str],
) -> str:
    right = scheme_words(names[0])
    if actual.taps is not None and (lost := saturated_pair(actual.taps)):
        return lost
    if _is_integer(actual.value) and _is_integer(expected.value):
        if abs(int(expected.value)) >= INT32 and abs(int(actual.value)) <= INT32:
            return f"the sum {_number(expected)} does not fit int32 and wraps to {_number(actual)}"
        if actual.note and "away from zero" in actual.note:
            return f"{actual.note}: {_number(actual)}, where {right} has {_number(expected)}"
        return f"{actual.name} is {_number(actual)}, where it should be {_number(expected)}"
    if expected.decides and actual.decides:
        return _rounding_sentence(expected, actual, theirs, ours, names)
    if actual.note:
        return f"{actual.name} is {_number(actual)}, {actual.note}; {right} has {_number(expected)}"
    return f"{actual.name} is {_number(actual)} ({actual.formula}), where it should be {_number(expected)}"


def scheme_words(name: str) -> str:
    """How a sentence names a scheme's arithmetic."""
    return {"exact": "exact arithmetic", "ort_cpu": "float32"}.get(name, name)


def _rounding_sentence(
    expected: ElementStep,
    actual: ElementStep,
    theirs: dict[str, ElementStep],
    ours: tuple[ElementStep, ...],
    names: tuple[str, str],
) -> str:
    right, words = map(scheme_words, names)
    e, a = _as_float(expected.value), _as_float(actual.value)
    if not (np.isfinite(e) and np.isfinite(a)):
        return f"{actual.name} is {_number(actual)} in {words}, {_number(expected)} in {right}"
    if actual.format:
        return f"{_number(expected)} rounds to {show(_rounded(expected))}; {words} has {_number(actual)}, which rounds to {show(_rounded(actual))}"
    to, instead = integer(int(_rounded(actual))), integer(int(_rounded(expected)))
    lossy = next((s for s in ours if s.name == "accumulator"), None)
    exact_sum = theirs.get("accumulator")
    prefix = ""
    if lossy is not None and exact_sum is not None and _is_integer(lossy.value):
        total = int(lossy.value)
        if int(np.float32(total)) != total:
            stored = integer(int(np.float32(total)))
            prefix = f"the accumulator {integer(total)} becomes {stored} in float32; "
    if is_tie(actual.value):
        return f"{prefix}{words} rounds {_number(expected)} to {_number(actual)}; a tie goes to the even {to}"
    if is_tie(expected.value):
        return (
            f"{prefix}{_number(expected)} is exactly a tie and goes to the even {instead}; "
            f"{words} has {_number(actual)}, which rounds to {to}"
        )
    return f"{prefix}{_number(expected)} rounds to {instead}; {words} has {_number(actual)}, which rounds to {to}"


def saturated_pair(taps: Taps) -> str:
    """The first pair of products that saturated, in numbers; "" where none did."""
    where = np.flatnonzero(taps.lost)
    if not len(where):
        return ""
    second = int(where[0])
    pair = range(second - second % 2, second + 1)
    terms = " + ".join(f"{integer(int(taps.a[k]))}·{integer(int(taps.b[k]))}" for k in pair)
    total = sum(int(taps.products[k]) for k in pair)
    kept = total - int(taps.lost[second])
    more = (
        f" (and {len(where) - 1:,} more pairs)"
        if len(where) > 2
        else " (and one more pair)"
        if len(where) == 2
        else ""
    )
    return f"{terms} = {integer(total)} saturates to {integer(kept)}{more}"


def ignored_bias(given: Graph, ran: Graph) -> tuple[Node, str] | None:
    """A fused node that takes the codes of a bias whose own scale or zero point the fusion dropped.

    Returns the fused node and one sentence; None where every fused bias has the scale that is assumed.
    """
    for node in ran.nodes:
        name = {"QLinearConv": 8, "QGemm": 6}.get(node.op_type)
        if name is None or len(node.inputs) <= name or not node.inputs[name]:
            continue
        dequantize = next(
            (
                n
                for n in given.nodes
                if n.op_type == "DequantizeLinear"
                and n.inputs[0] == _origin(node.inputs[name], given, ran)
            ),
            None,
        )
        x_scale, w_scale = (ran.constants.get(node.inputs[i]) for i in ((1, 4)))
        if dequantize is None or x_scale is None or w_scale is None:
            continue
        own = given.constants.get(dequantize.inputs[1])
        if own is None:
            continue
        assumed = (x_scale.astype(np.float32) * w_scale.astype(np.float32)).reshape(-1)
        pairs = [
            np.broadcast_to(
                v.reshape(-1), np.broadcast_shapes(own.reshape(-1).shape, assumed.shape)
            )
            for v in (own, assumed)
        ]
        different = np.flatnonzero(pairs[0] != pairs[1])
        if not len(different):
            continue
        channel = int(different[0])
        kind = "Gemm" if node.op_type == "QGemm" else "Conv"
        names = "a_scale·b_scale" if kind == "Gemm" else "x_scale·w_scale"
        shown = [show(float(f"{float(v[channel]):.6g}")) for v in pairs]
        where = f" in channel {channel}" if assumed.size > 1 else ""
        return node, (
            f"the bias scale {shown[0]} is ignored: this {kind} is fused into {node.op_type}, "
            f"and a fused bias has the scale {names} = {shown[1]}{where}"
        )
    return None


def _origin(name: str, given: Graph, ran: Graph) -> str:
    """The given graph's name of a constant that the rewriting may have renamed: the one with the same values."""
    if name in given.constants:
        return name
    value = ran.constants.get(name)
    for other, candidate in given.constants.items():
        if (
            value is not None
            and dtype_name(candidate.dtype) == dtype_name(value.dtype)
            and np.array_equal(candidate, value)
        ):
            return other
    return name
