"""Matrix products and convolutions as C: loops over the result, a loop over the taps, and what follows the sum."""

import dataclasses
import math
from collections.abc import Sequence

from qlab.c import rational
from qlab.c.accumulation import Accumulation, Factors, activated
from qlab.c.emission import Emission, Function, Operand, indices, line, loops, position
from qlab.lowering import window
from qlab.schemes import Contraction
from qlab.trace import Index


@dataclasses.dataclass(frozen=True)
class _Sum:
    """The taps of one sum: loops and the lines that read the two factors of a tap."""

    sizes: Index
    variables: Sequence[str]
    reading: Sequence[str]
    factors: Factors


@dataclasses.dataclass(frozen=True)
class _Result:
    """The tensor: its shape, loop variables, and the sum of one of its elements."""

    shape: Index
    variables: Sequence[str]
    loop_shape: Index
    loop_variables: Sequence[str]
    taps: _Sum
    bias: str


def matrix_product(e: Emission, left: Operand | None = None) -> list[str]:
    """QLinearMatMul, MatMulInteger, QGemm, MatMulIntegerToFloat, MatMul, Gemm.

    Args:
        left: what stands for the first operand; None is the node's own input.
    """
    kind = "contract" if e.has("contract") else "accumulate"
    c: Contraction = e.primitive(kind)["contraction"]
    shape = c.result_shape
    variables = indices(shape, "n")
    variables[-2:] = [v if v == "0" else n for v, n in zip(variables[-2:], "ij", strict=True)]
    a, b = (e.data(name) for name in c.names)
    a = left or a
    row, column = variables[-2:]
    at_left: list[str] = [*variables[:-2], row, "k"] if len(a.shape) > 1 else ["k"]
    at_right: list[str] = [*variables[:-2], "k", column] if len(b.shape) > 1 else ["k"]
    for order, attribute in ((at_left, "transA"), (at_right, "transB")):
        if e.node.attributes.get(attribute, 0):
            order[-2:] = order[:-3:-1]
    names = (f"{c.names[0].lower()}_k", f"{c.names[1].lower()}_k")
    integer = "int64_t" if kind == "accumulate" else e.file.real
    k = c.lhs.shape[-1]
    reading = [
        f"const {integer} {name} = {item.array}[{position(item.shape, (), order)}];"
        for name, item, order in zip(names, (a, b), (at_left, at_right), strict=True)
    ]
    zero_points = ("0", "0")
    if kind == "accumulate":
        zero_points = (
            _zero_point(e, c, 0, shape, variables),
            _zero_point(e, c, 1, shape, variables),
        )
    dropped = {len(shape) - 2} if len(a.shape) == 1 else set()
    dropped |= {len(shape) - 1} if len(b.shape) == 1 else set()
    kept = [i for i in range(len(shape)) if i not in dropped]
    total = tuple(shape[i] for i in kept)
    kept_variables = [variables[i] for i in kept]
    bias = e.data("C").at(total, kept_variables) if e.tensor("C") else ""
    addend, bias = (bias, "") if kind == "contract" else ("", bias)
    factors = Factors(names, zero_points, k, total, kept_variables, addend)
    taps = _Sum((k,), ("k",), reading, factors)
    result = _Result(total, kept_variables, shape, variables, taps, bias)
    return _write(e, result, unused=(a.array, b.array, *zero_points) if k == 0 else ())


def convolution(e: Emission) -> list[str]:
    """QLinearConv, ConvInteger, Conv: any rank, strides, dilations, pads, groups, channels_last."""
    kind = "contract" if e.has("contract") else "accumulate"
    c: Contraction = e.primitive(kind)["contraction"]
    x, w = (e.data(name) for name in c.names)
    last = bool(e.node.attributes.get("channels_last", 0))
    first_shape = (x.shape[0], x.shape[-1], *x.shape[1:-1]) if last else x.shape
    g = window(e.node.attributes.get, first_shape, w.shape)
    m, channels = w.shape[:2]
    spatial = [f"o{i}" if n > 1 else "0" for i, n in enumerate(g.output)]
    n_name, m_name = ("n" if x.shape[0] > 1 else "0"), ("m" if m > 1 else "0")
    shape: Index = (x.shape[0], *g.output, m) if last else (x.shape[0], m, *g.output)
    variables = [n_name, *spatial, m_name] if last else [n_name, m_name, *spatial]
    integer = "int64_t" if kind == "accumulate" else e.file.real
    zero_points = ("nothing", "0") if integer == "whole" else ("0", "0")
    if kind == "accumulate":
        zero, operands = e.parameter("x_zero_point", c.lhs_zero_point, "int32_t")
        fill = operands[0].at((), ()) if operands else zero
        zero_points = (fill, _channel_zero_point(e, c, m, m_name))
    reading = []
    for i, size in enumerate(g.kernel):
        tap = f" + (int64_t)k{i} * {g.dilations[i]}" if size > 1 else ""
        start = f"(int64_t){spatial[i]} * {g.strides[i]}" if spatial[i] != "0" else "0"
        reading.append(f"const int64_t p{i} = {start}{tap} - {g.begins[i]};")
    inside = " && ".join(f"p{i} >= 0 && p{i} < {n}" for i, n in enumerate(first_shape[2:]))
    group = f"{m_name} / {m // g.group}" if m_name != "0" and g.group > 1 else "0"
    channel = "c" if channels > 1 else "0"
    if group != "0":
        channel = f"({group} * {channels} + {channel})" if channels > 1 else f"({group})"
    places = [f"(size_t)p{i}" for i in range(len(g.kernel))]
    order = [n_name, *places, channel] if last else [n_name, channel, *places]
    names = (f"{c.names[0].lower()}_k", f"{c.names[1].lower()}_k")
    fill = zero_points[0]
    cast = "" if integer == "whole" else f"({integer})"
    at_x = position(x.shape, (), order)
    kernel = [f"k{i}" if n > 1 else "0" for i, n in enumerate(g.kernel)]
    at_w = position(w.shape, (), [m_name, "c" if channels > 1 else "0", *kernel])
    reading += [
        f"const {integer} {names[0]} = {inside} ? {cast}{x.array}[{at_x}] : {cast}{fill};",
        f"const {integer} {names[1]} = {w.array}[{at_w}];",
    ]
    sizes = {"c": channels, **{f"k{i}": n for i, n in enumerate(g.kernel)}}
    inner = [f"k{i}" for i in range(len(g.kernel))]
    taps_order = ["c", *inner] if c.axes[0] == "c" else [*inner, "c"]
    used = [v if sizes[v] > 1 else "0" for v in taps_order]
    count = channels * math.prod(g.kernel)
    taps = _Sum(
        tuple(sizes[v] for v in taps_order),
        used,
        reading,
        Factors(names, zero_points, count, shape, variables),
    )
    bias = e.data("B").at((m,), (m_name,)) if e.tensor("B") else ""
    result = _Result(shape, variables, shape, variables, taps, bias)
    return _write(e, result)


def _zero_point(
    e: Emission, c: Contraction, side: int, shape: Index, variables: Sequence[str]
) -> str:
    value = (c.lhs_zero_point, c.rhs_zero_point)[side]
    name = f"{c.names[side].lower()}_zero_point"
    if name not in e.operator.inputs:
        return name  # the node's function has computed it
    name, operands = e.parameter(name, value, "int32_t")
    return operands[0].at(shape, variables) if operands else name


def _channel_zero_point(e: Emission, c: Contraction, m: int, variable: str) -> str:
    value = c.rhs_zero_point.reshape(-1)
    name, operands = e.parameter("w_zero_point", value, "int32_t")
    return operands[0].at((m,), (variable,)) if operands else name


def _write(e: Emission, result: _Result, unused: Sequence[str] = ()) -> list[str]:
    """The loops of a product, with what follows each sum."""
    p = e.primitive("contract" if e.has("contract") else "accumulate")
    t = result.taps
    accumulation: Accumulation = e.emit(p.name, t.factors)
    tap = [*t.reading, *accumulation.tap]
    body = [*accumulation.before]
    if t.factors.taps and any(v != "0" for v in t.variables):
        body += loops(t.sizes, t.variables, tap, 0)
    elif t.factors.taps:  # one tap needs no loop, but its names a block
        body += ["{", *(f"    {x}" for x in tap), "}"]
    body += [*accumulation.after, *_finish(e, result, accumulation.result)]
    body = [*(f"(void){name};" for name in unused), *body]
    return loops(result.loop_shape, result.loop_variables, body)


def _finish(e: Emission, result: _Result, value: str) -> list[str]:
    """From the sum to the element of the result: the bias, then codes, reals or the sum itself."""
    lines, real = [], e.file.real
    if real == "whole" and e.has("contract"):
        return rational.finished(e, result.shape, result.variables, value, result.bias)
    kind = real if e.has("contract") else "int64_t"
    if result.bias:
        biased = f"{value} + {f'({kind})' if e.has('contract') else ''}{result.bias}"
        lines, value = [line(kind, "with_bias", biased, "accumulator + bias")], "with_bias"
    if e.has("contract"):
        more, value = activated(e, value)
        lines += more
    for finish in ("requantize", "rescale", "rescale_with_bias"):
        if e.has(finish):
            function: Function = e.emit(finish)
            value = function.call(result.shape, result.variables, accumulator=value)
    out = e.output()
    if out.kind == "float" and real == "double":
        value = f"(float)({value})"
    elif kind == "int64_t" and out.kind == "int32_t" and not e.has("requantize"):
        value = f"{e.file.use('wrap32')}({value})"
    at = position(result.shape, result.shape, result.variables)
    return [*lines, f"{out.array}[{at}] = {value};"]
