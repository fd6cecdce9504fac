"""Prospects: cases on which arithmetics are likely to differ, each a pure function of a seed and a number.

Ties and their neighbours first: scales that are powers of two, scales near simple fractions of each other, and a scale
of the result that is solved for, so that one element lands as near to a tie as a float32 allows. Random ones after.
"""

import dataclasses

import numpy as np

from qlab.builder import build
from qlab.case import Case
from qlab.errors import TraceError
from qlab.forms import to_qdq
from qlab.probes import all_codes, drawn, varied
from qlab.qtypes import Array
from qlab.reductions.tensors import DATA, SCALE, ZERO_POINT, held, of_kind, result_scale
from qlab.schemes import schemes
from qlab.trace import Trace, trace

KINDS = ("powers of two", "solved", "near fractions", "random")
DIRECTED = 64  # prospects before the first random one
FARTHEST = 100  # steps from the zero point at which a tie is solved for


@dataclasses.dataclass(frozen=True)
class Quarry:
    """What is hunted in: an operator, its form and its types, as `qlab.build` has them."""

    operator: str
    form: str = "QOperator"
    dtype: str = "uint8"
    weight_dtype: str = "int8"

    def base(self) -> Case:
        """The case whose parameters and inputs are varied. Raises CaseError where there is none."""
        return build(
            self.operator, form=self.form, dtype=self.dtype, weight_dtype=self.weight_dtype
        )


def kind_of(number: int) -> str:
    """Which kind of parameters a prospect has."""
    kinds = KINDS[:-1] if number < DIRECTED else KINDS
    return kinds[number % len(kinds)]


def prospect(quarry: Quarry, seed: int, number: int) -> Case:
    """One case; where elements stand alone it has all codes, else data of the given shapes.

    A bias of a QDQ group has the scale x_scale · w_scale in three of four, and one of its own in the fourth: that an
    optimizer ignores it would hide all other differences.
    """
    rng = np.random.default_rng([seed, number])
    kind = kind_of(number)
    own_bias_scale = number % 4 == 3
    plain = dataclasses.replace(quarry, form="QOperator").base()
    case = quarry.base() if quarry.form == "QOperator" or own_bias_scale else plain
    case = _with_parameters(case, rng, kind)
    if quarry.form == "QDQ" and not own_bias_scale:
        case = to_qdq(case) or case
    whole = all_codes(case)
    if whole is None:
        for name in of_kind(case, DATA):
            case = case.with_tensor(name, _data(case, name, rng, number))
    if kind == "solved":
        case = _solved(case, rng)
        whole = all_codes(case)
    return dataclasses.replace(whole or case, title="", source="", note="")


def _with_parameters(case: Case, rng: np.random.Generator, kind: str) -> Case:
    for name in of_kind(case, SCALE):
        value = held(case, name)
        if kind == "random" and value.dtype == np.float32:
            mantissa = rng.random(value.shape) + 1
            case = case.with_tensor(
                name, np.asarray(mantissa * 2.0 ** rng.integers(-9, 1), np.float32)
            )
        else:
            case = case.with_tensor(name, varied(name, value, rng, exact=kind == KINDS[0]))
    for name in of_kind(case, ZERO_POINT):
        value = held(case, name)
        one = varied("zero_point", value.reshape(-1)[:1], rng, exact=True)
        case = case.with_tensor(name, np.full(value.shape, one[0], value.dtype))
    return case


def _data(case: Case, name: str, rng: np.random.Generator, number: int) -> Array:
    """Codes of any size; what is added to sums (int32) of their size mostly, so that it does not hide them."""
    value = held(case, name)
    if value.dtype != np.int32 or number % 16 == 15:
        return drawn(case, name, rng, number)
    most = 2 ** int(rng.integers(1, 20))
    return rng.integers(-most, most, value.shape).astype(np.int32)


def _solved(case: Case, rng: np.random.Generator) -> Case:
    """Another scale of the result, so that one element of it is as near to n + ½ as a float32 allows."""
    name = result_scale(case)
    if not name or held(case, name).size != 1:
        return case
    one = case
    whole = all_codes(case)
    if whole is not None:
        inputs = {n: rng.choice(v.reshape(-1), 1) for n, v in whole.inputs.items()}
        one = dataclasses.replace(case, inputs=inputs)
    try:
        scaled = _scaled(trace(one.graph, one.inputs, schemes()["exact"]))
    except TraceError:
        return case
    if scaled is None or not scaled.size:
        return case
    value = float(rng.choice(np.asarray(scaled, dtype=np.float64).reshape(-1)))
    if not np.isfinite(value) or not value:
        return case
    tie = min(max(abs(round(value)), 0), FARTHEST) + 0.5
    scale = held(case, name)
    solved = (scale.astype(np.float64) * (abs(value) / tie)).astype(scale.dtype)
    return case.with_tensor(name, solved) if solved > 0 and np.isfinite(solved).all() else case


def _scaled(exact: Trace) -> Array | None:
    """What the last rounding to codes rounds, before the zero point is added."""
    for node in reversed(exact.nodes):
        for step in node.steps:
            if step.name == "scaled" and step.value.dtype == object:
                return step.value
    return None
