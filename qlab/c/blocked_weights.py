"""MatMulNBits as C: weights unpacked and dequantized where they are read; on ONNX Runtime also A in int8, by blocks."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from qlab.c.accumulation import Accumulation, Factors, in_order
from qlab.c.emission import Emission, indices, line, loops, position
from qlab.c.int8_blocks import accumulated, in_fours
from qlab.c.recorder import Primitive
from qlab.c.sgemm import contract
from qlab.c.weights import Weights
from qlab.kernels.matmulnbits import INT8, WIDTH
from qlab.operands import Affine, BlockedWeights


def matmul_nbits(e: Emission) -> list[str]:
    """MatMulNBits: the scheme writes how the products are added."""
    lines: list[str] = e.emit("multiply_blocks")
    return lines


def specification(e: Emission, p: Primitive) -> list[str]:
    """A · ((B - zero_points) · scales) + bias, added in the order of k."""
    made = contraction(p, None)
    return _of_reals(e, p, lambda factors: in_order(e, made, factors))


def ort_cpu(e: Emission, p: Primitive) -> list[str]:
    """The path that ONNX Runtime takes: `qlab.kernels.matmulnbits`."""
    cpu, w = e.file.scheme.cpu, p["weights"]
    if cpu == "sse" or "B" not in w.constant or (w.bits == 8 and p["accuracy_level"] != INT8):
        one = np.ones((), np.float32)
        made = contraction(p, None if p["bias"] is None else Affine(one, one, p["bias"]))
        return _of_reals(e, p, lambda factors: contract(e, made, factors), inside=True)
    if p["accuracy_level"] == INT8:
        return accumulated(e, p)
    return _of_reals(e, p, lambda factors: _in_lanes(e, w, factors))


def contraction(p: Primitive, affine: Affine | None) -> Primitive:
    """The matrix product with dequantized weights that the primitive has inside."""
    w: BlockedWeights = p["weights"]
    real = np.zeros((w.codes.shape[0], w.k), p["a"].dtype)
    arguments = {"contraction": w.contraction(p["a"], real), "affine": affine}
    return Primitive("contract", arguments, p.steps[1:-1], p.value)


def _of_reals(
    e: Emission, p: Primitive, adding: Callable[[Factors], Accumulation], *, inside: bool = False
) -> list[str]:
    """Loops over the result and over k.

    Args:
        inside: the bias is there before the first product, else added to the sum.
    """
    real, shape = e.file.real, e.shape()
    variables, a = indices(shape), e.data("A")
    w = Weights(e, p["weights"])
    at = position(a.shape, a.shape, [*variables[:-1], "k"])
    reading = [
        line(real, "a_k", f"{a.array}[{at}]"),
        line(real, "b_k", w.real(variables[-1], "k"), p.step("B_real").formula),
    ]
    bias = f"{e.data('bias').array}[{variables[-1]}]" if e.tensor("bias") else ""
    factors = Factors(("a_k", "b_k"), ("0", "0"), w.k, shape, variables, bias if inside else "")
    made = adding(factors)
    body = [*made.before, *loops((w.k,), ("k",), [*reading, *made.tap], 0), *made.after]
    value = made.result
    if bias and not inside:
        value = f"{value} + {'' if real == 'float' else f'({real})'}{bias}"
    return loops(shape, variables, [*body, _finished(e, value, variables)])


def _in_lanes(e: Emission, w: BlockedWeights, factors: Factors) -> Accumulation:
    """4 bits without int8: one row in lanes of a register, more rows as one chain over all of K."""
    (a, b), shape = factors.names, factors.shape
    if math.prod(shape[:-1]) != 1:
        before = ["float accumulator = 0.0f; /* sum of A * B */"]
        return Accumulation(before, [f"accumulator = fmaf({a}, {b}, accumulator);"])
    width = WIDTH[e.file.scheme.cpu]
    tail = (
        f"{e.file.use('in_pairs')}(lane)" if width == 8 else f"{e.file.use('in_halves')}(lane, 16)"
    )
    fold = in_fours(e, [], shape[-1], factors.variables[-1], width, tail)
    return Accumulation(
        [f"float lane[{width}] = {{0.0f}}; /* of every {width}th product each */"],
        [f"lane[k % {width}] = fmaf({a}, {b}, lane[k % {width}]);"],
        [line("float", "accumulator", fold)],
    )


def _finished(e: Emission, value: str, variables: Sequence[str]) -> str:
    """The line that stores an element of the result."""
    out, shape = e.output(), e.shape()
    cast = f"(float)({value})" if out.kind == "float" and e.file.real == "double" else value
    return f"{out.array}[{position(shape, shape, variables)}] = {cast};"


OPERATORS = {("com.microsoft", "MatMulNBits"): matmul_nbits}
DATA = {"MatMulNBits": ("A", "B", "scales", "zero_points", "bias")}
