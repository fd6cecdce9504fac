"""A node with what is known of its tensors before anything is computed."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from qlab.case import Case
from qlab.graph import Node
from qlab.ops import operators
from qlab.qtypes import dtype_name
from qlab.report import Finding

SCALARS_ONLY = ("QLinearAdd", "QLinearMul")
Known = Mapping[str, tuple[str, tuple[int, ...] | None]]


RESULT_ZERO_POINTS = ("y_zero_point", "Y_zero_point", "C_zero_point")


def known_tensors(case: Case) -> Known:
    """Tensor → dtype and shape (None where it takes a computation to know it)."""
    known: dict[str, tuple[str, tuple[int, ...] | None]] = {
        name: (dtype_name(v.dtype), v.shape)
        for name, v in {**case.graph.constants, **case.inputs}.items()
    }
    for node in case.graph.nodes:
        first = known.get(node.inputs[0], ("", None)) if node.inputs else ("", None)
        operator = operators().get((node.domain, node.op_type))
        names = operator.names(len(node.inputs)) if operator else ()
        named = dict(zip(names, node.inputs, strict=False))
        dtype, shape = (
            first[0],
            first[1] if node.op_type in ("QuantizeLinear", "DequantizeLinear") else None,
        )
        zero_point = next((named[n] for n in RESULT_ZERO_POINTS if named.get(n)), "")
        if node.op_type == "QLinearWhere":
            zero_point = named.get("z_zero_point", "")
        if zero_point:
            dtype = known.get(zero_point, ("", None))[0]
        elif node.op_type == "DequantizeLinear":
            dtype = known.get(named.get("x_scale", ""), ("", None))[0]
        elif node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear"):
            dtype = "uint8" if not node.attributes.get("output_dtype") else ""
        elif node.op_type in ("MatMulInteger", "ConvInteger"):
            dtype = "int32"
        elif node.op_type in ("QGemm", "MatMulIntegerToFloat"):
            dtype = "float32"
        elif node.op_type == "Where":
            dtype = known.get(named.get("X", ""), ("", None))[0]
        elif node.op_type == "Cast" or operator is None:
            dtype = ""
        for output in node.outputs:
            known[output] = (dtype, shape)
    return known


@dataclasses.dataclass(frozen=True)
class Operand:
    """Codes with their scale and zero point: names in the graph, "" where absent, and the schema's prefix."""

    prefix: str
    codes: str
    scale: str
    zero_point: str


class CheckedNode:
    """One node of a case."""

    def __init__(self, case: Case, number: int, node: Node, known: Known) -> None:
        self.case = case
        self.number = number
        self.node = node
        self.known = known
        operator = operators().get((node.domain, node.op_type))
        self.names = operator.names(len(node.inputs)) if operator else ()
        self.named = dict(zip(self.names, node.inputs, strict=False))

    def finding(
        self,
        tensor: str,
        rule: str,
        found: str,
        nearest: str = "",
        fix: Callable[[], Case | None] | None = None,
    ) -> Finding:
        """A finding about one of the node's tensors; ``fix`` makes the case in the nearest form."""
        return Finding(self.number, tensor, rule, found, nearest, fix() if fix else None)

    def with_node(self, **changes: object) -> Case:
        """The case with this node changed."""
        nodes = list(self.case.graph.nodes)
        nodes[self.number] = dataclasses.replace(self.node, **changes)  # type: ignore[arg-type]
        graph = dataclasses.replace(self.case.graph, nodes=tuple(nodes))
        return dataclasses.replace(self.case, graph=graph, expected={})

    def operands(self) -> Iterator[Operand]:
        """Codes with a scale or a zero point, the result included."""
        lower = {name.lower(): tensor for name, tensor in self.named.items()}
        prefixes = dict.fromkeys(
            n.rsplit("_scale", 1)[0].rsplit("_zero_point", 1)[0]
            for n in self.names
            if n.endswith(("_scale", "_zero_point"))
        )
        for prefix in prefixes:
            codes = lower.get(prefix.lower(), self.node.outputs[0] if self.node.outputs else "")
            yield Operand(
                prefix,
                codes,
                self.named.get(f"{prefix}_scale", ""),
                self.named.get(f"{prefix}_zero_point", ""),
            )
