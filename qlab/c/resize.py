"""Resize as C: tables of indices and weights along each axis, made when the file is written, and loops over the result.

All that depends on lengths and scales only is in the tables, as the scheme computes it; what is left at run time is
reading the nearest entry, or a sum of products over the corners of a cell.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from qlab.arithmetic import EXACT, FLOAT32
from qlab.c import text
from qlab.c.emission import Emission, Operand, indices, line, loops, position
from qlab.c.recorder import Primitive
from qlab.errors import ExportError
from qlab.interpolation import Neighbours, Resampling, neighbours, outside
from qlab.kernels.resize import ONE, with_weights
from qlab.qtypes import Array, bounds, is_integer
from qlab.schemes.specification import Specification

Around = Mapping[int, Neighbours]
MOST_AXES = 4  # of a sum over the corners of a cell: 16 products
SUM_BITS = 63


def resize(e: Emission) -> list[str]:
    """The body of a Resize, in any scheme: as its steps have it."""
    p = e.primitive("resize")
    x, out, shape = e.data("X"), e.output(), e.shape()
    how: Resampling = p["how"]
    places = {a: s.value.reshape(-1) for a in range(len(shape)) if (s := p.find(f"position{a}"))}
    variables = indices(shape)
    place = f"{out.array}[{position(shape, shape, variables)}]"
    cast = f"({out.kind})" if out.kind != x.kind else ""
    if how.mode == "nearest" or not places:
        sources = dict(enumerate(variables))
        for axis in places:
            index = p.find(f"index{axis}")
            if index is not None and how.sizes[axis] > 1:
                table = e.file.array(f"index{axis}", index.value.reshape(-1), "int32_t")
                sources[axis] = f"{table}[{variables[axis]}]"
        body = [f"{place} = {cast}{_entry(x, sources)};"]
    elif p.find("total"):
        body = _in_1024ths(e, p, places, variables, place)
    elif e.file.scheme.name == "exact":
        body = _in_fractions(e, p, places, variables, place)
    else:
        body = _in_reals(e, p, places, variables, place)
    return loops(shape, variables, [*body, *_extrapolated(e, how, places, variables, place)])


OPERATORS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {("", "Resize"): resize}


def _entry(x: Operand, sources: Mapping[int, str]) -> str:
    """The entry of X at these indices."""
    return f"{x.array}[{position(x.shape, x.shape, [sources[a] for a in range(len(x.shape))])}]"


def _extrapolated(
    e: Emission, how: Resampling, places: Mapping[int, Array], variables: Sequence[str], place: str
) -> list[str]:
    """The extrapolation value where a position lies outside."""
    found = beyond(e, how, places, variables)
    if not found:
        return []
    out, fill = e.output(), np.asarray(how.extrapolation, np.float32)
    if out.kind not in ("float", "double"):
        fill = np.trunc(fill).astype(e.trace.tensors[e.node.outputs[0]].dtype)
    value = text.number(fill[()], out.kind)
    return [
        f"if ({found}) {{",
        f"    {place} = {value}; /* extrapolation_value */",
        "}",
    ]


def beyond(
    e: Emission, how: Resampling, places: Mapping[int, Array], variables: Sequence[str]
) -> str:
    """The condition under which an element is the extrapolation value; "" where none is."""
    found = []
    for axis, where in places.items() if how.extrapolates else ():
        where_outside = outside(where, how.sizes[axis])
        if where_outside.any():
            table = e.file.array(f"outside{axis}", where_outside.astype(np.int64), "uint8_t")
            found.append(f"{table}[{variables[axis]}]")
    return " || ".join(found)


def corners(
    e: Emission, around: Around, variables: Sequence[str], kind: str
) -> tuple[list[str], list[tuple[str, str]]]:
    """Lines that read indices and weights; the weight and the entry of X at each corner, the last axis the fastest.

    ``kind``: the C type of a weight.
    """
    if len(around) > MOST_AXES:
        raise ExportError(
            f"linear Resize of {len(around)} axes is a sum of {2 ** len(around)} products; "
            f"in C up to {MOST_AXES} axes are written"
        )
    x, lines = e.data("X"), []
    for axis, n in around.items():
        tables = {"lower_weight": n.lower_weight, "upper_weight": n.upper_weight}
        if x.shape[axis] > 1:
            tables = {"lower": n.lower, "upper": n.upper, **tables}
        for name, values in tables.items():
            of = kind if "weight" in name else "int32_t"
            table = e.file.array(f"{name}{axis}_of", values, of)
            lines.append(line(of, f"{name}{axis}", f"{table}[{variables[axis]}]"))
    found = []
    for corner in itertools.product(("lower", "upper"), repeat=len(around)):
        chosen = dict(zip(around, corner, strict=True))
        sources = dict(enumerate(variables)) | {a: f"{side}{a}" for a, side in chosen.items()}
        weights = [f"{side}_weight{a}" for a, side in reversed(chosen.items())]
        found.append((" * ".join(weights), _entry(x, sources)))
    return lines, found


def _summed(
    e: Emission, around: Around, variables: Sequence[str], kind: str, name: str, cast: str = ""
) -> list[str]:
    """Products over the corners added one by one. ``cast``: of an entry of X."""
    lines, found = corners(e, around, variables, kind)
    for i, (weight, entry) in enumerate(found):
        lines.append(line(kind, f"corner{i}", f"{weight} * {cast}{entry}"))
    return [*lines, line(kind, name, " + ".join(f"corner{i}" for i in range(len(found))))]


def _in_reals(
    e: Emission, p: Primitive, places: Mapping[int, Array], variables: Sequence[str], place: str
) -> list[str]:
    """Weights and sums in the scheme's reals; codes are truncated."""
    how, scheme, real, out = p["how"], e.file.scheme, e.file.real, e.output()
    around = {}
    for axis, where in places.items():
        if isinstance(scheme, Specification):
            around[axis] = neighbours(scheme.arithmetic, where, how.sizes[axis])
        else:
            around[axis] = with_weights(where, how.sizes[axis])
    body = _summed(e, around, variables, real, "interpolated", f"({real})")
    return [*body, f"{place} = ({out.kind})interpolated;{_truncating(e, p)}"]


def _truncating(e: Emission, p: Primitive) -> str:
    """Raises ExportError for codes whose truncation may not fit."""
    if not is_integer(p["dtype"]):
        return ""
    if bounds(p["dtype"])[1] > 2**16:
        raise ExportError(
            f"linear Resize of {p['dtype']} is not written in C: a rounded sum may not fit; of 8 and 16 bits it is"
        )
    return " /* towards zero */"


def _in_1024ths(
    e: Emission, p: Primitive, places: Mapping[int, Array], variables: Sequence[str], place: str
) -> list[str]:
    """ONNX Runtime's bytes in NHWC: whole weights, exact sums."""
    around = {}
    for axis, where in places.items():
        n = neighbours(FLOAT32, where, p["how"].sizes[axis])
        upper = p.step(f"weight{axis}").value.reshape(-1)
        around[axis] = Neighbours(n.lower, n.upper, ONE - upper, upper)
    body = _summed(e, around, variables, "int32_t", "total")
    return [*body, f"{place} = ({e.output().kind})(total / {ONE**2}); /* towards zero */"]


def _in_fractions(
    e: Emission, p: Primitive, places: Mapping[int, Array], variables: Sequence[str], place: str
) -> list[str]:
    """Codes between codes, exactly: weights as whole numbers over one denominator for each axis.

    Raises:
        ExportError: X is real, or the sum does not fit 64 bits.
    """
    how = p["how"]
    if not is_integer(p["dtype"]):
        raise ExportError(
            "linear Resize of float32 in exact is not written in C; of codes it is, and in float32, float64 and ort_cpu"
        )
    around, denominator = whole_weights(how, places)
    largest = max(abs(v) for v in bounds(p["dtype"]))
    require_short(denominator * largest, denominator)
    body = _summed(e, around, variables, "int64_t", "total")
    value = f"total / INT64_C({denominator})"
    return [*body, f"{place} = ({e.output().kind})({value}); /* towards zero */"]


def whole_weights(
    how: Resampling, places: Mapping[int, Array]
) -> tuple[dict[int, Neighbours], int]:
    """Exact weights as whole numbers over one denominator for each axis, and the product of these denominators."""
    around, denominator = {}, 1
    for axis, where in places.items():
        n = neighbours(EXACT, where, how.sizes[axis])
        common = math.lcm(*(Fraction(v).denominator for v in n.upper_weight))
        weights = (
            np.array([int(v * common) for v in side], object)
            for side in (n.lower_weight, n.upper_weight)
        )
        around[axis] = Neighbours(n.lower, n.upper, *weights)
        denominator *= common
    return around, denominator


def require_short(largest: int, denominator: int) -> None:
    """Raises ExportError where such a sum of weights does not fit 64 bits."""
    if largest.bit_length() > SUM_BITS:
        raise ExportError(
            f"the weights of this Resize have the denominator {denominator}: their sum does not fit 64 bits; "
            "give sizes, not scales, or take float64"
        )
