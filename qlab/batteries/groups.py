"""Writing QDQ groups: operators on reals between DequantizeLinear and QuantizeLinear, as quantization tools write them."""

import dataclasses
from collections.abc import Iterator

import numpy as np

from qlab.batteries.inputs import codes, scale, zero_point
from qlab.case import Case
from qlab.graph import AttributeValue, Graph, Node
from qlab.qtypes import DTYPES, Array, bounds

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

    def add(self, op_type: str, *inputs: str, **attributes: AttributeValue) -> str:
        """A node of one output; the output's name."""
        name = f"{op_type.lower()}{len(self.nodes)}"
        self.nodes.append(Node(op_type, inputs, (name,), attributes=attributes))
        return name

    def constant(self, name: str, value: Array) -> str:
        """A constant; its name."""
        name = f"{name}{len(self.constants)}"
        self.constants[name] = value
        return name

    def scale(self, shape: tuple[int, ...] = (), low: int = -8, high: int = -3) -> Array:
        """Scales as the group has them."""
        if self.exact:
            return np.asarray(2.0 ** self.rng.integers(low, high, shape)).astype(np.float32)
        return scale(self.rng, shape, low, high)

    def parameters(self, value: Array, zero: Array) -> tuple[str, str]:
        """A scale and a zero point as constants; their names."""
        return self.constant("scale", value), self.constant("zero_point", zero)

    def quantize(self, x: str, value: Array, zero: Array) -> str:
        """QuantizeLinear; the name of the codes."""
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

    def finish_alike(self, name: str) -> Case:
        """Quantize with the parameters of the first input, dequantize, and end: what only moves codes is not needed."""
        given = next(n for n in self.nodes if n.op_type == "QuantizeLinear").inputs[1:]
        out = self.add("DequantizeLinear", self.add("QuantizeLinear", name, *given), *given)
        opset = {"": 21, "com.microsoft": 1}
        graph = Graph(tuple(self.nodes), self.constants, tuple(self.inputs), (out,), opset)
        return Case(graph, self.inputs)

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
            limits = [self.constant("limit", np.asarray(v, np.float32)) for v in (0, step * 200)]
            name = self.add("Clip", name, *limits)
        q = self.add("QuantizeLinear", name, *parameters)
        out = self.add("DequantizeLinear", q, *parameters)
        opset = {"": 21, "com.microsoft": 1}
        graph = Graph(tuple(self.nodes), self.constants, tuple(self.inputs), (out,), opset)
        return Case(graph, self.inputs)


THENS = ("", "Relu", "Clip")
LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")


def variants(seed: int) -> Iterator[tuple[Rng, int, bool]]:
    """A generator, a number and whether scales are powers of two: eight times, seeded."""
    rng = np.random.default_rng(seed)
    for exact in (True, False):
        for number in range(4):
            yield rng, number, exact
