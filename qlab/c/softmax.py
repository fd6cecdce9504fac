"""Softmax and QLinearSoftmax as C: a function on one row, which the scheme writes, and the loops over all rows."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qlab.c import specification, text
from qlab.c.dequantized import codes_of, reals, require_constant, require_decided, source
from qlab.c.emission import Emission, Operand, line, loops, position
from qlab.c.functions import fused, horner
from qlab.c.recorder import Primitive
from qlab.errors import ExportError
from qlab.functions import apply, exp_or_limit
from qlab.kernels import softmax as kernel
from qlab.lowering import Rows
from qlab.qtypes import Array
from qlab.schemes import Quantized


def rows_of(primitive: str, name: str) -> Callable[[Emission], list[str]]:
    """An operator that is one primitive on each row of its input ``name``."""

    def write(e: Emission) -> list[str]:
        row = e.emit(primitive)
        x, out, rows = e.data(name), e.output(), e.primitive(primitive)["rows"]
        spread = (math.prod(rows.shape[: rows.axis]), rows.length, stride(rows))
        variables = ["0" if n == 1 else v for n, v in zip(spread, "ikj", strict=True)]
        first = position(spread, spread, [variables[0], "0", variables[2]])
        call = f"{row}({x.array} + {first}, {out.array} + {first});"
        return loops((spread[0], spread[2]), [variables[0], variables[2]], [call])

    return write


OPERATORS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {
    ("", "Softmax"): rows_of("softmax", "input"),
    ("com.microsoft", "QLinearSoftmax"): rows_of("quantized_softmax", "X"),
}


def stride(rows: Rows) -> int:
    """How far the entries of a row lie apart."""
    return 1 if rows.flat else math.prod(rows.shape[rows.axis + 1 :])


def entry(array: str, rows: Rows, k: str = "k") -> str:
    """The k-th entry of a row."""
    return f"{array}[{k}]" if stride(rows) == 1 else f"{array}[{k} * {stride(rows)}]"


def row_function(e: Emission, kinds: tuple[str, str], lines: Sequence[str]) -> str:
    """Define the function on one row ``x``, which writes ``y``; its name."""
    name = e.file.names.new("softmax_row")
    body = "\n".join(f"    {item}" for item in lines)
    head = f"static void {name}(const {kinds[0]} *x, {kinds[1]} *y)"
    e.file.definitions.append(f"{head}\n{{\n{body}\n}}")
    return name


def for_row(rows: Rows, *body: str, first: int = 0) -> list[str]:
    """A loop over the entries of a row."""
    head = f"for (size_t k = {first}; k < {rows.length}; k++) {{"
    return [head, *(f"    {item}" for item in body), "}"]


def specification_softmax(e: Emission, p: Primitive) -> str:
    """exp(x - maximum) / sum of exp(x - maximum), of reals that stand for codes of 8 bits."""
    q = source(e, "input")
    exponential = _exponential(e, q, reals(e, q))
    real, rows, out = e.file.real, p["rows"], e.output()
    cast = "(float)" if out.kind != real else ""
    value = f"{cast}({exponential}({entry('x', rows)} - maximum) / total)"
    body = _sums(real, rows, entry("x", rows), entry("x", rows, "0"), exponential)
    return row_function(
        e,
        (e.data("input").kind, out.kind),
        [*body, *for_row(rows, f"{entry('y', rows)} = {value}; /* exponential / total */")],
    )


def specification_quantized(e: Emission, p: Primitive) -> str:
    """DequantizeLinear, Softmax, QuantizeLinear."""
    q, target, rows, real = p["q"], p["target"], p["rows"], e.file.real
    require_constant(e, q.scale_name, q.zero_point_name, target.scale_name, target.zero_point_name)
    x = e.data("X")
    every = Quantized("x", codes_of(x.kind), q.scale, q.zero_point)
    exponential = _exponential(e, every, reals(e, every))
    scale, _ = e.parameter(q.scale_name, q.scale, real)
    zero, _ = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
    value = f"return {scale} * ({real})(X - {zero}); /* {text.plain(p.step('real').formula)} */"
    function = e.function("real_of", real, (x,), [value]).name
    divisor, _ = e.parameter(target.scale_name, target.scale, real)
    scaled = line(real, "scaled", f"probability {e.over(divisor)}", p.step("scaled").formula)
    given = Operand(real, "probability", "", ())
    quantize = specification.to_codes(e, p, "quantize", (given,), [scaled]).name
    at, first = (f"{function}({entry('x', rows, k)})" for k in ("k", "0"))
    body = _sums(real, rows, at, first, exponential)
    last = f"{entry('y', rows)} = {quantize}({exponential}({at} - maximum) / total);"
    return row_function(e, (x.kind, x.kind), [*body, *for_row(rows, last)])


def exact_softmax(e: Emission, p: Primitive) -> str:
    """Raises ExportError: the exponentials of any float32 are in no table."""
    raise ExportError(
        "Softmax of any float32, rounded correctly, needs a library of many digits; QLinearSoftmax is written in "
        "exact C, and Softmax in ort_cpu"
    )


def _sums(real: str, rows: Rows, at: str, first: str, exponential: str) -> list[str]:
    """The maximum of a row, and the sum of the exponentials, entry by entry."""
    return [
        f"{real} maximum = {first};",
        *for_row(rows, f"maximum = {at} > maximum ? {at} : maximum;", first=1),
        f"{real} total = {exponential}({first} - maximum);",
        *for_row(rows, f"total += {exponential}({at} - maximum);", first=1),
    ]


def _exponential(e: Emission, q: Quantized, values: Array) -> str:
    """Define exp of a difference of two of these reals; its name.

    In float32 it is computed in double, where that is proven to give the float32; in float64 read from a table of
    the multiples of the scale, which a double holds without loss.
    """
    given = Operand(e.file.real, "shifted", "", ())
    if e.file.real == "float":
        differences = np.unique(values[:, None] - values[None, :])
        require_decided(e, differences[differences <= 0], math.exp, "exp")
        lines = [
            "/* Between any two codes it lies farther than 2^-46 of itself from the middle between two floats, so that */",
            "/* every C library's exp gives the same float. */",
            "return (float)exp((double)shifted);",
        ]
        return e.function("exponential", "float", (given,), lines).name
    if q.scale == 0:
        raise ExportError("the scale is 0, so that no code can be found from its real in C")
    step = np.asarray(abs(q.scale.astype(np.float64)))
    powers = apply(exp_or_limit, -step * np.arange(len(q.codes)), math.exp)
    table = e.file.array("exponentials", powers, "double")
    name = e.file.scalar("negative_scale", -step, "double")
    lines = [
        line("int", "steps", f"(int)(shifted / {name})", "a whole number: shifted is its product with the scale"),
        f"return {table}[steps]; /* exp(shifted) */",
    ]  # fmt: skip
    return e.function("exponential", "double", (given,), lines).name


def ort_cpu_softmax(e: Emission, p: Primitive) -> str:
    """MlasComputeSoftmax: as many sums as a register has lanes, then times the reciprocal. NaN is not modelled."""
    scheme, rows = e.file.scheme, p["rows"]
    cpu, wide = getattr(scheme, "cpu", ""), bool(getattr(scheme, "wide", False))
    exponential = ort_cpu_exponential(e, wide)
    lanes = 16 if wide else 4 if cpu == "sse" else 8
    whole = rows.length // 4 * 4 if lanes == 4 else rows.length
    x, y = entry("x", rows), entry("y", rows)
    pairs = ["lane[0]", "lane[1]", "lane[2]", "lane[3]"]
    lines = [
        "float maximum = -FLT_MAX; /* x has no NaN: which lane it erases depends on the kernel's order */",
        *for_row(rows, f"maximum = {x} > maximum ? {x} : maximum;"),
        f"float lane[{lanes}] = {{0.0f}};",
        *for_row(rows, f"{y} = {exponential}({x} - maximum);"),
        f"for (size_t k = 0; k < {whole}; k++) {{",
        f"    lane[k % {lanes}] += {y};",
        "}",
    ]
    if whole == 0:
        lines = [item for item in lines[:-3] if "lane[" not in item]
        pairs = []
    elif lanes == 4:
        pairs = ["(lane[0] + lane[2])", "(lane[1] + lane[3])"]
    elif lanes == 16:
        pairs = [f"(lane[{i}] + lane[{i + 8}])" for i in range(8)]
    else:
        pairs = [f"lane[{i}]" for i in range(8)]
    while len(pairs) > 1:
        pairs = [f"({a} + {b})" for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
    total = pairs[0][1:-1] if pairs else "0.0f"
    if whole < rows.length:
        lines += [f"float total = {total};", *for_row(rows, f"total += {y};", first=whole)]
    else:
        lines.append(f"const float total = {total};")
    lines += [
        line("float", "reciprocal", "1.0f / total"),
        *for_row(rows, f"{y} *= reciprocal;"),
    ]
    return row_function(e, (e.data("input").kind, e.output().kind), lines)


def ort_cpu_exponential(e: Emission, wide: bool) -> str:
    """Define exp of x ≤ 0 as the kernels of Softmax have it: 2^m · polynomial(x - m · ln 2); its name."""
    fma = fused(e)

    def number(value: "np.floating[Any]") -> str:
        return text.number(value, "float")

    def step(a: str, b: str, c: str) -> str:
        return f"fmaf({a}, {b}, {c})" if fma else f"{a} * {b} + {c}"

    cut = kernel.CUT_AVX512 if wide else kernel.CUT
    bias, reciprocal = number(kernel.ROUNDING_BIAS), number(kernel.LOG2_RECIPROCAL)
    high, low = number(kernel.LN2_HIGH), number(kernel.LN2_LOW)
    lines = [
        line("float", "x", f"shifted < {number(cut)} ? {number(cut)} : shifted", f"max(shifted, {cut!s}); NaN stays"),
        line("float", "biased", step("x", reciprocal, bias), "x / ln 2 + 1.5 * 2^23: rounded to a whole number"),
        line("float", "m", f"biased - {bias}"),
        line("float", "part", step("m", high, "x"), "x - m * ln 2, in two parts"),
        line("float", "rest", step("m", low, "part")),
        *horner("p", "rest", kernel.POLYNOMIAL, fma),
    ]  # fmt: skip
    if wide:
        lines.append(
            "return m == m ? (float)ldexp((double)p, (int)m) : m; /* p * 2^m, rounded once: VSCALEFPS */"
        )
    else:
        lines += [
            "uint32_t bits; /* 2^m: m moved to the exponent, plus that of 1.0; 0 for -127 */",
            "memcpy(&bits, &biased, sizeof bits);",
            "bits = (bits << 23) + 0x3F800000u;",
            "float scale;",
            "memcpy(&scale, &bits, sizeof scale);",
            "return p * scale;",
        ]
    given = Operand("float", "shifted", "", ())
    return e.function("exponential", "float", (given,), lines).name
