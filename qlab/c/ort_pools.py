"""ONNX Runtime's pools as C: in which order its kernels add or compare, and its means of codes."""

from collections.abc import Callable, Sequence

from qlab.c import ort_cpu
from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.pooling import Result, largest_code
from qlab.c.pools import Windows
from qlab.c.recorder import Primitive
from qlab.c.specification import COUNT, SUM
from qlab.c.text import plain
from qlab.kernels.pooling import adds_columns, is_global
from qlab.qtypes import is_integer

Fold = Callable[[str, str], str]
"""Expressions of two values → one of their sum or of the larger one."""


def average_pool(e: Emission, p: Primitive, w: Windows) -> Result:
    """The sum of each window in the kernel's order, divided by the count."""
    said = plain(p.step("sum").formula)
    if w.pool.mlas and is_global(w.pool):
        lines = [*w.start(), *_lanes(e, w, "0.0f", _sum, _sum, "sum", said)]
    elif w.pool.mlas and adds_columns(w.pool):
        lines = [*w.start(), *_columns(w, said)]
    else:
        tap = w.where_inside([f"sum += {w.element};"])
        lines = [f"float sum = 0.0f; /* {said} */", *w.start(), *w.loop(w.axes, tap)]
    divisor = "count"
    if (p.step("count").value == 0).any():
        divisor = "(count > 0 ? count : 1)"  # a window without an element of X is not divided
    return [*lines, line("float", "mean", f"sum / (float){divisor}", "f32(sum / count)")], "mean"


def max_pool(e: Emission, p: Primitive, w: Windows) -> Result:
    """The largest of each window; where NaN is among them the order of the kernel decides."""
    if is_integer(p["x"].dtype):
        return largest_code(p, w)

    def vector(a: str, b: str) -> str:
        return f"{e.file.use('fmax_arm64' if e.file.scheme.cpu == 'arm64' else 'maxps')}({a}, {b})"

    def scalar(a: str, b: str) -> str:
        return f"{e.file.use('std_max')}({a}, {b})"

    if not w.pool.mlas:
        return _first_larger(w), "maximum"
    if is_global(w.pool):
        said = "the largest of X, in lanes"
        return _lanes(e, w, "-FLT_MAX", vector, scalar, "maximum", said), "maximum"
    if adds_columns(w.pool):
        return _max_columns(w, vector, scalar), "maximum"
    tap = [f"maximum = {scalar('maximum', w.element)};"]
    lines = ["float maximum = -FLT_MAX;", *w.loop(w.axes, w.where_inside(tap))]
    return lines, "maximum"


def _sum(a: str, b: str) -> str:
    return f"{a} + {b}"


def _lanes(
    e: Emission, w: Windows, start: str, vector: Fold, scalar: Fold, name: str, said: str
) -> list[str]:
    """Four lanes over the image, put together, then the elements that are left over."""
    body = w.size // 4 * 4
    halves = ((0, 1), (2, 3)) if e.file.scheme.cpu == "arm64" else ((0, 2), (1, 3))
    one, other = (vector(f"lane[{a}]", f"lane[{b}]") for a, b in halves)
    if vector is _sum:
        one, other = f"({one})", f"({other})"
    lines = [f"float lane[4] = {{{', '.join([start] * 4)}}}; /* {said} */"]
    if body:
        lines += [
            f"for (size_t k = 0; k < {body}; k++) {{",
            f"    lane[k % 4] = {vector('lane[k % 4]', w.element_of_image('k'))};",
            "}",
        ]
    lines.append(f"float {name} = {vector(one, other)};")
    if body < w.size:
        lines += [
            f"for (size_t k = {body}; k < {w.size}; k++) {{",
            f"    {name} = {scalar(name, w.element_of_image('k'))};",
            "}",
        ]
    return lines


def _columns(w: Windows, said: str) -> list[str]:
    """The sum of each column of the window, then of those; a column of padding is 0."""
    *others, last = w.axes
    start = "-0.0f" if len(others) == 1 else "0.0f"
    tap = [f"column += {w.element};", *(["inside = 1;"] if w.inside else [])]
    column = [
        f"float column = {start};",
        *(["int inside = 0;"] if w.inside else []),
        *w.loop(others, w.where_inside(tap)),
        f"sum += {'inside ? column : 0.0f' if w.inside else 'column'};",
    ]
    first = f"float sum = -0.0f; /* {said}; -0.0 + x is x, of either zero too */"
    return [first, *w.loop([last], column)]


def _max_columns(w: Windows, vector: Fold, scalar: Fold) -> list[str]:
    """The largest of each column, four columns of X at a time and the last ones singly; then of those."""
    *others, last = w.axes
    width = w.pool.shape[-1]
    body = width // 4 * 4
    folded = (scalar if body == 0 else vector)("column", "x_k")
    if 0 < body < width:
        folded = f"{w.place(last)} < {body} ? {folded} : {scalar('column', 'x_k')}"
    tap = [line("float", "x_k", w.element)]
    begun = len(others) == 1  # in two dimensions a column begins with its first element
    if begun:
        tap += [f"column = !begun ? x_k : {folded};", "begun = 1;"]
    else:
        tap.append(f"column = {folded};")
    column = [
        "float column = -FLT_MAX;",
        *(["int begun = 0;"] if begun else []),
        *w.loop(others, w.where_inside(tap)),
        f"maximum = first ? column : {vector('maximum', 'column')};",
        "first = 0;",
    ]
    return ["float maximum = -FLT_MAX;", "int first = 1;", *w.loop([last], column)]


def _first_larger(w: Windows) -> list[str]:
    """The first element, then each that is larger."""
    tap = [
        line("float", "x_k", w.element),
        "maximum = !begun || x_k > maximum ? x_k : maximum;",
        "begun = 1;",
    ]
    lines = ["float maximum = -FLT_MAX;", "int begun = 0;"]
    return [*lines, *w.loop(w.axes, w.where_inside(tap))]


def mean(e: Emission, p: Primitive) -> Function:
    """The mean of codes: of integers where the window is the image, else of reals."""
    q, target = p["x"], p["target"]
    y_scale, y_scales = e.parameter(target.scale_name, target.scale, "float")
    if p["pool"].whole:
        x_scale, x_scales = e.parameter(q.scale_name, q.scale, "float")
        wrap32 = e.file.use("wrap32")
        lines = [
            line("int32_t", "accumulator", f"{wrap32}(sum)", p.step("accumulator").formula),
            line("float", "area", f"{y_scale} * (float)count"),
            line("float", "multiplier", f"{x_scale} / area", p.step("multiplier").formula),
            line("float", "scaled", "(float)accumulator * multiplier", p.step("scaled").formula),
        ]
        operands: Sequence[Operand] = (SUM, COUNT, *x_scales, *y_scales)
        return ort_cpu.to_codes(e, p, "quantized_mean", operands, lines)
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    lines = [
        line("float", "mean", "real_sum / (float)count", p.step("mean").formula),
        line("float", "scaled", f"mean / {y_scale}", p.step("scaled").formula),
        line("float", "sum", f"scaled + (float){zero}", p.step("sum").formula),
    ]
    operands = (Operand("float", "real_sum", "", ()), COUNT, *y_scales, *zeros)
    return ort_cpu.sum_to_codes(e, p, "quantized_mean", operands, lines)


def real_of_code(e: Emission, p: Primitive) -> Function:
    """What a code stands for: the kernel has a table of it for all 256 codes."""
    q = p["x"]
    scale, scales = e.parameter(q.scale_name, q.scale, "float")
    zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
    x = e.data("X")
    lines = [f"return (float)((int32_t)x - {zero}) * {scale};"]
    operands = (Operand(x.kind, "x", "", ()), *zeros, *scales)
    return e.function("real_of_code", "float", operands, lines)
