"""QDQ groups: an operator on reals between DequantizeLinear and QuantizeLinear, as quantization tools write them."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES, Array, bounds
from tests.schemes.batteries import codes, scale, zero_point

Rng = np.random.Generator


@dataclasses.dataclass
class Builder:
    """A graph being written; every tensor that is not made by a node is a constant or the input."""

    rng: Rng
    dtype: str
    exact: bool  # powers of two as scales: no real is rounded, so every half is a tie
    nodes: list[Node] = dataclasses.field(default_factory=list)
    constants: dict[str, Array] = dataclasses.field(default_factory=dict)
    inputs: dict[str, Array] = dataclasses.field(default_factory=dict)

    def add(self, op_type: str, *inputs: str, **attributes: object) -> str:
        name = f"{op_type.lower()}{len(self.nodes)}"
        self.nodes.append(Node(op_type, inputs, (name,), attributes=attributes))
        return name

    def constant(self, name: str, value: Array) -> str:
        name = f"{name}{len(self.constants)}"
        self.constants[name] = value
        return name

    def scale(self, shape: tuple[int, ...] = (), low: int = -8, high: int = -3) -> Array:
        if self.exact:
            return np.asarray(2.0 ** self.rng.integers(low, high, shape)).astype(np.float32)
        return scale(self.rng, shape, low, high)

    def parameters(self, value: Array, zero: Array) -> tuple[str, str]:
        return self.constant("scale", value), self.constant("zero_point", zero)

    def quantize(self, x: str, value: Array, zero: Array) -> str:
        return self.add("QuantizeLinear", x, *self.parameters(value, zero))

    def activation(self, shape: tuple[int, ...], dtype: str = "") -> tuple[str, Array]:
        """A fed float tensor, quantized and dequantized; its name, and its scale."""
        dtype = dtype or self.dtype
        value, zero = self.scale(), zero_point(self.rng, dtype)
        real = (codes(self.rng, dtype, shape).astype(np.float32) - zero.astype(np.float32)) * value
        self.inputs[f"x{len(self.inputs)}"] = real.astype(np.float32)
        name = list(self.inputs)[-1]
        parameters = self.parameters(value, zero)
        q = self.add("QuantizeLinear", name, *parameters)
        return self.add("DequantizeLinear", q, *parameters), value

    def weight(
        self, shape: tuple[int, ...], dtype: str, axis: int | None, *, symmetric: bool = True
    ) -> tuple[str, Array]:
        """Constant codes, dequantized, per channel where ``axis`` is given."""
        of = () if axis is None else (shape[axis],)
        value = self.scale(of)
        zero = np.zeros(of, DTYPES[dtype]) if symmetric else zero_point(self.rng, dtype, of)
        q = self.constant("w", codes(self.rng, dtype, shape))
        attributes = {} if axis is None else {"axis": axis}
        return self.add("DequantizeLinear", q, *self.parameters(value, zero), **attributes), value

    def bias(self, x_scale: Array, w_scale: Array, m: int) -> str:
        """int32 codes in steps of x_scale · w_scale, as a fused operator takes them."""
        value = np.asarray(x_scale * w_scale).astype(np.float32)
        zero = np.zeros(value.shape, np.int32)
        q = self.constant("b", self.rng.integers(-9000, 9000, (m,)).astype(np.int32))
        attributes = {"axis": 0} if value.ndim else {}
        return self.add("DequantizeLinear", q, *self.parameters(value, zero), **attributes)

    def finish(self, name: str, step: float, dtype: str = "", *, then: str = "") -> Case:
        """Quantize with about ``step``, dequantize, and end."""
        dtype = dtype or self.dtype
        low, _ = bounds(dtype)
        step = float(2.0 ** np.rint(np.log2(step))) if self.exact else step
        zero = np.asarray(low, DTYPES[dtype]) if then else zero_point(self.rng, dtype)
        parameters = self.parameters(np.asarray(step, np.float32), zero)
        if then == "Relu":
            name = self.add("Relu", name)
        elif then == "Clip":
            limits = [self.constant("limit", np.float32(v)) for v in (0, step * 200)]
            name = self.add("Clip", name, *limits)
        q = self.add("QuantizeLinear", name, *parameters)
        out = self.add("DequantizeLinear", q, *parameters)
        opset = {"": 21, "com.microsoft": 1}
        graph = Graph(tuple(self.nodes), self.constants, tuple(self.inputs), (out,), opset)
        return Case(graph, self.inputs)


def reach(x_scale: Array, w_scale: Array, k: int) -> float:
    """A step with which sums of k products of codes fill most of the range."""
    return float(np.max(x_scale) * np.max(w_scale)) * 40 * k**0.5


def conv(
    rng: Rng, dtype: str, weight_dtype: str, *, per_channel: bool, with_bias: bool, exact: bool, then: str = "",
    depthwise: bool = False, spatial: Sequence[int] = (20, 21),
) -> Case:  # fmt: skip
    b = Builder(rng, dtype, exact)
    cin, m = (6, 6) if depthwise else (3, 8)
    kernel = (3,) * len(spatial)
    x, x_scale = b.activation((1, cin, *spatial))
    shape = (m, 1 if depthwise else cin, *kernel)
    w, w_scale = b.weight(shape, weight_dtype, 0 if per_channel else None)
    inputs = [x, w] + ([b.bias(x_scale, w_scale, m)] if with_bias else [])
    attributes = {"pads": (1,) * 2 * len(spatial), "kernel_shape": kernel, "group": 6 if depthwise else 1}  # fmt: skip
    y = b.add("Conv", *inputs, **attributes)
    return b.finish(y, reach(x_scale, w_scale, int(np.prod(shape[1:]))), then=then)


def matmul(
    rng: Rng, dtype: str, weight_dtype: str, *, per_channel: bool, exact: bool, then: str = "", quantized: bool = True,
    rows: int = 40, k: int = 24,
) -> Case:  # fmt: skip
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation((rows, k))
    w, w_scale = b.weight((k, 50), weight_dtype, 1 if per_channel else None)
    y = b.add("MatMul", x, w)
    if quantized:
        return b.finish(y, reach(x_scale, w_scale, k), then=then)
    graph = Graph(tuple(b.nodes), b.constants, tuple(b.inputs), (y,), {"": 21, "com.microsoft": 1})
    return Case(graph, b.inputs)


def gemm(
    rng: Rng, dtype: str, weight_dtype: str, *, per_channel: bool, with_bias: bool, exact: bool, then: str = "",
    trans_b: bool = False, rows: int = 40, k: int = 24,
) -> Case:  # fmt: skip
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation((rows, k))
    shape = (50, k) if trans_b else (k, 50)
    axis = (0 if trans_b else 1) if per_channel else None
    w, w_scale = b.weight(shape, weight_dtype, axis)
    inputs = [x, w] + ([b.bias(x_scale, w_scale, 50)] if with_bias else [])
    y = b.add("Gemm", *inputs, transB=int(trans_b))
    return b.finish(y, reach(x_scale, w_scale, k), then=then)


def binary(rng: Rng, op_type: str, dtype: str, *, exact: bool, then: str = "") -> Case:
    b = Builder(rng, dtype, exact)
    shapes = [((1, 4, 25, 20), (1, 4, 25, 20)), ((4, 25, 20), (25, 1)), ((7,), (300, 1))]
    one, other = shapes[int(rng.integers(len(shapes)))]
    (x, x_scale), (y, y_scale) = b.activation(one), b.activation(other)
    step = float(x_scale + y_scale) if op_type == "Add" else float(x_scale * y_scale) * 60
    return b.finish(b.add(op_type, x, y), step, then=then)


def moved(rng: Rng, dtype: str, *, exact: bool) -> Case:
    """A Conv with Transpose, Reshape, Flatten and Identity around, quantized between."""
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation((1, 12, 10, 3))
    x = b.add("Transpose", x, perm=(0, 3, 1, 2))
    zero = zero_point(rng, dtype)
    parameters = b.parameters(x_scale, zero)
    x = b.add("DequantizeLinear", b.add("QuantizeLinear", x, *parameters), *parameters)
    w, w_scale = b.weight((4, 3, 2, 2), "int8", 0)
    y = b.add("Conv", x, w)
    step = reach(x_scale, w_scale, 12)
    step = float(2.0 ** np.rint(np.log2(step))) if exact else step
    parameters = b.parameters(np.asarray(step, np.float32), zero_point(rng, dtype))
    y = b.add("DequantizeLinear", b.add("QuantizeLinear", y, *parameters), *parameters)
    y = b.add("Identity", b.add("Flatten", y))
    shape = b.constant("shape", np.array([4, 3, -1]))
    y = b.add("Transpose", b.add("Reshape", y, shape), perm=(0, 2, 1))
    return b.finish(y, step)


def groups(seed: int) -> Iterator[tuple[str, Case]]:
    """Name and case: every kind of group, exact and not, seeded."""
    rng = np.random.default_rng(seed)
    thens = ("", "Relu", "Clip")
    for exact in (True, False):
        for number in range(4):
            per_channel, with_bias = bool(number % 2), number >= 2
            then = thens[number % 3]
            for a, w in (("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")):
                options = {"per_channel": per_channel, "exact": exact, "then": then}
                yield f"Conv {a}×{w}", conv(rng, a, w, with_bias=with_bias, **options)
                yield f"MatMul {a}×{w}", matmul(rng, a, w, **options)
                yield f"Gemm {a}×{w}", gemm(rng, a, w, with_bias=with_bias, trans_b=number == 1, **options)  # fmt: skip
            plain = {"per_channel": per_channel, "exact": exact}
            one = {**plain, "rows": 1, "k": 70}  # as the last layer of a classifier
            yield "MatMul of a row", matmul(rng, "uint8", "int8", **one)
            yield "Gemm of a row", gemm(rng, "uint8", "int8", with_bias=with_bias, trans_b=number == 2, **one)  # fmt: skip
            yield "MatMul to float", matmul(rng, "uint8", "int8", quantized=False, **plain)
            yield "Conv depthwise", conv(rng, "uint8", "int8", with_bias=with_bias, depthwise=True, **options)  # fmt: skip
            yield "Conv 1-D", conv(rng, "uint8", "int8", with_bias=with_bias, spatial=(300,), **options)  # fmt: skip
            for dtype in ("uint8", "int8"):
                yield f"Add {dtype}", binary(rng, "Add", dtype, exact=exact, then=then)
                yield f"Mul {dtype}", binary(rng, "Mul", dtype, exact=exact, then=then)
                yield f"moved {dtype}", moved(rng, dtype, exact=exact)
