"""The other form of a case: QDQ group → QOperator, as a fusing runtime makes it, and back."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from qlab.case import Case
from qlab.graph import AttributeValue, Graph, Node
from qlab.qtypes import Array, bounds, is_integer

FUSED = {
    "Conv": ("", "QLinearConv"),
    "MatMul": ("", "QLinearMatMul"),
    "Gemm": ("com.microsoft", "QGemm"),
    "Add": ("com.microsoft", "QLinearAdd"),
    "Mul": ("com.microsoft", "QLinearMul"),
    "AveragePool": ("com.microsoft", "QLinearAveragePool"),
    "GlobalAveragePool": ("com.microsoft", "QLinearGlobalAveragePool"),
    "LeakyRelu": ("com.microsoft", "QLinearLeakyRelu"),
    "Sigmoid": ("com.microsoft", "QLinearSigmoid"),
    "Softmax": ("com.microsoft", "QLinearSoftmax"),
    "Concat": ("com.microsoft", "QLinearConcat"),
    "Where": ("com.microsoft", "QLinearWhere"),
}
UNFUSED = {fused: op_type for op_type, (_, fused) in FUSED.items()}
WEIGHT_AXIS = {"Conv": 0, "MatMul": 1, "Gemm": 1}
UNARY = ("AveragePool", "GlobalAveragePool", "LeakyRelu", "Sigmoid", "Softmax")
QGEMM_ATTRIBUTES = ("alpha", "transA", "transB")


def to_qoperator(case: Case) -> Case | None:
    """Every QDQ group as the one quantized operator that a fusing runtime puts in its place.

    A bias keeps its codes and loses its own scale and zero point, as in such a fusion. None where there is no group.
    """
    editor = _Editor(case)
    for node in case.graph.nodes:
        group = _Group.find(editor.graph, node)
        if group is not None:
            editor.fuse(group)
    return editor.case() if editor.changed else None


def to_qdq(case: Case) -> Case | None:
    """Every quantized operator as DequantizeLinear → float operator → QuantizeLinear.

    The bias of a QLinearConv or QGemm gets the scale that these assume, x_scale · w_scale rounded to float32.
    None where there is no such operator, or its scales are not constants where they have to be multiplied.
    """
    editor = _Editor(case)
    for node in case.graph.nodes:
        if UNFUSED.get(node.op_type) and not editor.unfuse(node):
            return None
    return editor.case() if editor.changed else None


@dataclasses.dataclass(frozen=True)
class _Group:
    """A float operator between DequantizeLinear and QuantizeLinear nodes; ``quantize`` None: it stays float."""

    node: Node
    operands: tuple[Node, ...]
    quantize: Node | None

    @classmethod
    def find(cls, graph: Graph, node: Node) -> "_Group | None":
        if node.op_type not in FUSED or node.domain or not node.inputs:
            return None
        quantized = node.inputs[1:] if node.op_type == "Where" else node.inputs
        operands = [graph.producer(name) for name in quantized if name]
        found = tuple(n for n in operands if n is not None and _is(n, "DequantizeLinear"))
        fewest = 1 if node.op_type in (*UNARY, "Concat") else 2
        if len(found) < max(len(operands), fewest):
            return None
        quantize = _quantize_after(graph, node)
        if quantize is not None and quantize.inputs[1] not in graph.constants:
            return None
        fusable = quantize is not None or node.op_type == "Gemm"
        if not fusable or not _same_meaning(graph, node, found):
            return None
        return cls(node, found, quantize)


def _is(node: Node, op_type: str) -> bool:
    """True for a Q or DQ node of ai.onnx that has a scale."""
    return node.op_type == op_type and not node.domain and bool(node.input(0) and node.input(1))


def _quantize_after(graph: Graph, node: Node) -> Node | None:
    """The QuantizeLinear that takes the node's result, through a Relu that its zero point makes redundant."""
    output = node.outputs[0]
    consumers = graph.consumers(output)
    if len(consumers) != 1 or output in graph.outputs:
        return None
    after = consumers[0]
    if after.op_type == "Relu":
        quantize = _quantize_after(graph, after)
        zero_point = graph.constants.get(quantize.input(2)) if quantize else None
        lowest = (
            zero_point is not None
            and is_integer(zero_point.dtype)
            and bool((zero_point.astype(np.int64) == bounds(zero_point.dtype)[0]).all())
        )
        return quantize if lowest else None
    return after if _is(after, "QuantizeLinear") else None


def _same_meaning(graph: Graph, node: Node, operands: tuple[Node, ...]) -> bool:
    """False where the quantized operator has no place for what the group has: blocks, another axis, beta."""
    for position, operand in enumerate(operands):
        scale = graph.constants.get(operand.inputs[1])
        if operand.attributes.get("block_size", 0) or scale is None:
            return False
        axis = WEIGHT_AXIS.get(node.op_type)
        if node.op_type == "Gemm" and node.attributes.get("transB", 0):
            axis = 0
        if scale.size == 1:
            continue
        is_bias = axis is not None and position > 1
        if position == 0 or (operand.attributes.get("axis", 1) != axis and not is_bias):
            return False
    return bool(node.attributes.get("beta", 1.0) == 1.0)


class _Editor:
    """A graph being rewritten, one group at a time."""

    def __init__(self, case: Case) -> None:
        self.original = case
        self.graph = case.graph
        self.changed = False

    def case(self) -> Case:
        graph = _without_unused(self.graph)
        return dataclasses.replace(self.original, graph=graph, expected={})

    def fuse(self, group: _Group) -> None:
        domain, op_type = FUSED[group.node.op_type]
        operands = [[n.inputs[0], n.inputs[1], self._zero_point(n)] for n in group.operands]
        result: list[str] = []
        output = group.node.outputs[0]
        if group.quantize is not None:
            result = [group.quantize.inputs[1], self._zero_point(group.quantize)]
            output = group.quantize.outputs[0]
        attributes = group.node.attributes
        if op_type == "QLinearConcat":
            inputs = [*result, *(name for operand in operands for name in operand)]
        elif op_type == "QLinearWhere":
            inputs = [group.node.inputs[0], *operands[0], *operands[1], *result]
        elif group.node.op_type in UNARY:
            inputs = [*operands[0], *result]
        else:
            bias = [operands[2][0]] if len(operands) > 2 else []
            inputs = [*operands[0], *operands[1], *result, *bias]
            if op_type == "QGemm":
                inputs = [
                    *operands[0],
                    *operands[1],
                    *(bias or [""] * bool(result)),
                    *result,
                ]
                attributes = {k: v for k, v in attributes.items() if k in QGEMM_ATTRIBUTES}
        if op_type == "QLinearSoftmax":
            attributes = {**attributes, "opset": self.graph.opset.get("", 1)}
        node = Node(op_type, tuple(inputs), (output,), domain, attributes)
        gone = [group.node] + [n for n in (group.quantize,) if n is not None]
        if group.quantize is not None and group.quantize.inputs[0] != group.node.outputs[0]:
            gone += [n for n in self.graph.nodes if n.outputs[0] == group.quantize.inputs[0]]
        self._replace(gone, [node])

    def unfuse(self, node: Node) -> bool:
        slots = _slots(node)
        if slots is None or node.attributes.get("channels_last", 0):
            return False
        op_type = UNFUSED[node.op_type]
        nodes: list[Node] = []
        reals: list[str] = [node.inputs[0]] if op_type == "Where" else []
        attributes: Mapping[str, AttributeValue] = node.attributes
        if op_type == "Softmax":
            attributes = {k: v for k, v in attributes.items() if k != "opset"}
            if not _softmax_stays(node, self.graph.opset.get("", 1)):
                return False
        for position, (codes, scale, zero_point) in enumerate(slots.operands):
            axis = WEIGHT_AXIS.get(op_type, 1)
            if op_type == "Gemm" and attributes.get("transB", 0):
                axis = 0
            given = {"axis": axis} if position == 1 and op_type in WEIGHT_AXIS else {}
            reals.append(self._new(f"{codes}_real"))
            inputs = (codes, scale, zero_point) if zero_point else (codes, scale)
            nodes.append(Node("DequantizeLinear", inputs, (reals[-1],), "", given))
        if slots.bias:
            scales = [self.graph.constants.get(s) for _, s, _ in slots.operands]
            if scales[0] is None or scales[1] is None or scales[0].size != 1 or not scales[1].size:
                return False
            assumed = (scales[0].reshape(-1) * scales[1].reshape(-1)).astype(np.float32)
            scale = self._constant(
                f"{slots.bias}_scale", assumed if assumed.size > 1 else assumed.reshape(())
            )
            reals.append(self._new(f"{slots.bias}_real"))
            axis_of_bias = {"axis": 0} if assumed.size > 1 else {}
            nodes.append(
                Node("DequantizeLinear", (slots.bias, scale), (reals[-1],), "", axis_of_bias)
            )
        output = node.outputs[0]
        made = self._new(f"{output}_real") if slots.result else output
        nodes.append(Node(op_type, tuple(reals), (made,), "", attributes))
        if slots.result:
            nodes.append(Node("QuantizeLinear", (made, *slots.result), (output,)))
        self._replace([node], nodes)
        return True

    def _replace(self, gone: list[Node], made: list[Node]) -> None:
        position = max(i for i, n in enumerate(self.graph.nodes) if any(n is g for g in gone))
        nodes = list(self.graph.nodes)
        nodes[position + 1 : position + 1] = made
        kept = tuple(n for n in nodes if not any(n is g for g in gone))
        opset = dict(self.graph.opset)
        if any(n.domain == "com.microsoft" for n in made):
            opset.setdefault("com.microsoft", 1)
        if any(n.op_type in ("DequantizeLinear", "QuantizeLinear") for n in made):
            opset[""] = max(opset.get("", 1), 13)  # the first version with an axis
        self.graph = dataclasses.replace(self.graph, nodes=kept, opset=opset)
        self.changed = True

    def _zero_point(self, node: Node) -> str:
        """The zero point of a Q or DQ node; a zero of the codes' type where it is absent."""
        if len(node.inputs) > 2 and node.inputs[2]:
            return node.inputs[2]
        scale = self.graph.constants[node.inputs[1]]
        name = node.inputs[0] if node.op_type == "DequantizeLinear" else node.outputs[0]
        codes = self.original.tensor(name)
        dtype = codes.dtype if codes is not None else np.dtype(np.uint8)
        return self._constant(f"{name}_zero_point", np.zeros(scale.shape, dtype))

    def _constant(self, name: str, value: Array) -> str:
        new = self._new(name)
        self.graph = dataclasses.replace(self.graph, constants={**self.graph.constants, new: value})
        return new

    def _new(self, name: str) -> str:
        taken = {
            *self.graph.constants,
            *self.graph.inputs,
            *(o for n in self.graph.nodes for o in n.outputs),
        }
        while name in taken:
            name += "_"
        return name


@dataclasses.dataclass(frozen=True)
class _Slots:
    operands: tuple[tuple[str, str, str], ...]
    result: tuple[str, ...]
    bias: str


def _slots(node: Node) -> _Slots | None:
    """The inputs of a quantized operator by what they are; None where too few are there."""
    names = [*node.inputs, *[""] * 9]
    bias, result = "", tuple(names[6:8])
    places: tuple[int, ...] = (0, 3)
    if node.op_type == "QLinearConv":
        bias = names[8]
    elif node.op_type == "QGemm":
        bias, result = names[6], tuple(names[7:9])
    elif node.op_type == "QLinearConcat":
        places, result = tuple(range(2, len(node.inputs), 3)), tuple(names[:2])
    elif node.op_type == "QLinearWhere":
        places, result = (1, 4), tuple(names[7:9])
    elif UNFUSED[node.op_type] in UNARY:
        places, result = (0,), tuple(names[3:5])
    operands = tuple((names[k], names[k + 1], names[k + 2]) for k in places)
    if not operands or not all(codes and scale for codes, scale, _ in operands):
        return None
    if not result[0]:
        return _Slots(operands, (), bias) if node.op_type == "QGemm" else None
    return _Slots(operands, tuple(n for n in result if n), bias)


SOFTMAX_OF_AN_AXIS = 13  # before this opset Softmax takes all axes from the given one on as one


def _softmax_stays(node: Node, opset: int) -> bool:
    """True where Softmax of the graph's opset, which a Q or DQ node raises to 13, means what the node's own says."""
    return int(node.attributes.get("opset", opset)) >= SOFTMAX_OF_AN_AXIS


def _without_unused(graph: Graph) -> Graph:
    """Without nodes and constants that nothing reads any more."""
    nodes = list(graph.nodes)
    while True:
        read = {name for n in nodes for name in n.inputs} | set(graph.outputs)
        kept = [n for n in nodes if any(o in read for o in n.outputs)]
        if len(kept) == len(nodes):
            break
        nodes = kept
    constants = {k: v for k, v in graph.constants.items() if k in read}
    return dataclasses.replace(graph, nodes=tuple(nodes), constants=constants)
