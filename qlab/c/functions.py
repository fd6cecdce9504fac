"""Functions of one real as C: Sigmoid of a code from a table, LeakyRelu computed, MLAS's Sigmoid of float32."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from qlab.c import ort_cpu, specification, text
from qlab.c.dequantized import (
    codes_of,
    reals,
    require_constant,
    require_decided,
    source,
    value_of,
)
from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.exact import piecewise
from qlab.c.recorder import Primitive
from qlab.errors import ExportError
from qlab.functions import apply
from qlab.kernels.functions import LOGISTIC_P, LOGISTIC_Q, LOGISTIC_RANGE


def table(e: Emission, p: Primitive) -> Function:
    """A code for each code, as the scheme has it: also ONNX Runtime computes such a table first."""
    q, function, target = p["q"], p["function"], p["target"]
    require_constant(e, q.scale_name, q.zero_point_name, target.scale_name, target.zero_point_name)
    x = e.data("X")
    codes = codes_of(x.kind)
    every = dataclasses.replace(q, codes=codes)
    values = value_of(e.file.scheme.lookup(every, function, target))
    name = function.name.lower()
    array = e.file.array(f"{name}_of_code", values, x.kind)
    lines = [
        f"/* real = {q.scale_name} * (X - {q.zero_point_name}), value = {text.plain(function.of('real'))}, the code is",
        f"   round(value / {target.scale_name}) + {target.zero_point_name}, as {e.file.scheme.name} computes it. */",
        f"return {array}[X - ({codes[0]})];" if codes[0] else f"return {array}[X];",
    ]
    return e.function(name, x.kind, (x,), lines)


def specification_lookup(e: Emission, p: Primitive) -> Function:
    """DequantizeLinear, the function, QuantizeLinear."""
    if p["function"].name != "LeakyRelu":
        return table(e, p)
    operands, lines = _leaky_relu_of_code(e, p)
    return specification.to_codes(e, p, "leaky_relu", operands, lines)


def ort_cpu_lookup(e: Emission, p: Primitive) -> Function:
    """The same in float32; of LeakyRelu what ONNX Runtime makes its table with."""
    if p["function"].name != "LeakyRelu":
        return table(e, p)
    operands, lines = _leaky_relu_of_code(e, p)
    return ort_cpu.to_codes(e, p, "leaky_relu", operands, lines)


def exact_lookup(e: Emission, p: Primitive) -> Function:
    """LeakyRelu as two ratios of whole numbers, one for each sign of real."""
    q, function = p["q"], p["function"]
    if function.name != "LeakyRelu":
        return table(e, p)
    zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
    slope = np.asarray(function.parameters["alpha"], np.float32)
    terms = [f"X > {zero} ? (int64_t)X - {zero} : 0", f"X < {zero} ? (int64_t)X - {zero} : 0"]
    factors = [(q.scale,), (q.scale, slope)]
    if q.scale < 0:
        factors.reverse()
    return piecewise(e, p, "leaky_relu", (e.data("X"), *zeros), factors, terms)


def _leaky_relu_of_code(e: Emission, p: Primitive) -> tuple[tuple[Operand, ...], list[str]]:
    """From the code to ``scaled``."""
    real, q, target = e.file.real, p["q"], p["target"]
    scale, scales = e.parameter(q.scale_name, q.scale, real)
    zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
    divisor, divisors = e.parameter(target.scale_name, target.scale, real)
    lines = [
        line(real, "real", f"{scale} * ({real})(X - {zero})", p.step("real").formula),
        line(real, "value", _leaky_relu(e, p, "real"), p.step("value").formula),
        line(real, "scaled", f"value {e.over(divisor)}", p.step("scaled").formula),
    ]
    return (e.data("X"), *scales, *zeros, *divisors), lines


def _leaky_relu(e: Emission, p: Primitive, x: str) -> str:
    """A product of two floats, rounded once, in every scheme."""
    slope = np.asarray(p["function"].parameters["alpha"], np.float32)
    return f"{x} < 0 ? {e.file.scalar('alpha', slope, e.file.real)} * {x} : {x}"


def leaky_relu(e: Emission, p: Primitive) -> Function:
    """LeakyRelu of a real."""
    real = e.file.real
    lines = [
        line(real, "real", f"({real})X"),
        f"return {_leaky_relu(e, p, 'real')}; /* NaN stays */",
    ]
    return e.function("leaky_relu", real, (e.data("X"),), lines)


def specification_evaluate(e: Emission, p: Primitive) -> Function:
    """LeakyRelu of any real; Sigmoid of those that stand for codes of 8 bits.

    In float32 it is computed in double, where that is proven to give the float32; in float64 read from a table.
    """
    function = p["function"]
    if function.name == "LeakyRelu":
        return leaky_relu(e, p)
    q = source(e, "X")
    values, real = reals(e, q), e.file.real
    if real == "float":
        require_decided(e, values, function.double, function.name)
        lines = [
            "/* Of all codes the result lies farther than 2^-46 of itself from the middle between two floats, */",
            "/* so that every C library's exp gives the same float. */",
            line("double", "small", "exp(-fabs((double)X))"),
            "return (float)((X >= 0 ? 1.0 : small) / (1.0 + small)); /* 1 / (1 + exp(-X)) */",
        ]
        return e.function("sigmoid", real, (e.data("X"),), lines)
    if q.scale == 0:
        raise ExportError("the scale is 0, so that no code can be found from its real in C")
    scale = e.file.scalar("X_scale", q.scale, real)
    results = apply(function.exact, values, function.double)
    array = e.file.array("sigmoid_of_code", results, real)
    lowest = int(q.codes[0] - q.zero_point)
    lines = [
        line("int", "centered", f"(int)(X / {scale})", "a whole number: X is its product with the scale"),
        f"return {array}[centered - ({lowest})]; /* 1 / (1 + exp(-X)) of each code */",
    ]  # fmt: skip
    return e.function("sigmoid", real, (e.data("X"),), lines)


def exact_evaluate(e: Emission, p: Primitive) -> Function:
    """LeakyRelu rounded once, as a float's product is. Raises ExportError for Sigmoid."""
    if p["function"].name != "LeakyRelu":
        raise ExportError(
            f"{p['function'].name} of any float32, rounded correctly, needs a library of many digits; "
            "in ort_cpu it is written in C"
        )
    return leaky_relu(e, p)


def ort_cpu_evaluate(e: Emission, p: Primitive) -> Function:
    """The function's float32 kernel."""
    if p["function"].name == "LeakyRelu":
        return leaky_relu(e, p)
    cpu = getattr(e.file.scheme, "cpu", "")
    end = text.number(LOGISTIC_RANGE, "float")
    lines = [
        line("float", "clamped", f"X < -{end} ? -{end} : X > {end} ? {end} : X", "clamp(X, -18, 18); NaN stays"),
        line("float", "square", "clamped * clamped"),
        *horner("p", "square", LOGISTIC_P, fused(e)),
        *horner("q", "square", LOGISTIC_Q, fused(e)),
        line("float", "value", "clamped * p / q + 0.5f"),
    ]  # fmt: skip
    if cpu in ("avx2", "vnni"):
        lines.append("return value < 0 ? 0 : value; /* these kernels do not clamp to 1 */")
    else:
        lines.append("return value < 0 ? 0 : value > 1 ? 1 : value; /* clamp(value, 0, 1) */")
    return e.function("sigmoid", "float", (e.data("X"),), lines)


def fused(e: Emission) -> bool:
    """True where the CPU's kernels have fused multiply-adds."""
    return getattr(e.file.scheme, "cpu", "") != "sse"


def horner(name: str, x: str, coefficients: Sequence[float], fma: bool) -> list[str]:
    """A polynomial in float, from the highest power on."""
    first, *rest = (np.float32(c) for c in coefficients)
    lines = [f"float {name} = {text.number(first, 'float')}; /* {first!s} */"]
    for c in rest:
        value = text.number(c, "float")
        step = f"fmaf({name}, {x}, {value})" if fma else f"{name} * {x} + {value}"
        lines.append(f"{name} = {step}; /* {c!s} */")
    return lines
