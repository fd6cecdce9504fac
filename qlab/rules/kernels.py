"""What ONNX Runtime's kernels do not take though the specification does, and operands that do not fit each other."""

from collections.abc import Iterator

from qlab.report import Finding
from qlab.rules.checked_node import SCALARS_ONLY, CheckedNode
from qlab.signs import switchable_types, with_other_sign

# Where the second operand stands among the inputs; the kernels take no int8 × uint8.
SAME_SIGN = {"QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3, "MatMulIntegerToFloat": 1}


def kernels(check: CheckedNode) -> Iterator[Finding]:
    """Combinations of types without a kernel."""
    if check.node.op_type not in SAME_SIGN:
        return
    place = SAME_SIGN[check.node.op_type]
    first, second = (check.known.get(check.node.input(i), ("", None))[0] for i in (0, place))
    if (first, second) == ("int8", "uint8"):
        yield _wrong_sign(
            check,
            check.node.inputs[place],
            "ONNX Runtime's CPU kernels take uint8 × uint8, uint8 × int8 and int8 × int8",
            f"{check.node.inputs[0]} is int8 and {check.node.inputs[place]} is uint8",
            "int8 × int8",
        )
    output = check.known.get(check.node.outputs[0], ("", None))[0] if check.node.outputs else ""
    zero_point = check.named.get("y_zero_point", "")
    if zero_point and first and output and output != first:
        yield _wrong_sign(
            check,
            zero_point,
            f"The specification allows any 8-bit y; ONNX Runtime's CPU kernels give y the type of {check.names[0]}",
            f"{check.names[0]} is {first}, {zero_point} is {output}",
            f"y as {first}",
        )


def _wrong_sign(check: CheckedNode, tensor: str, rule: str, found: str, nearest: str) -> Finding:
    group = next((g for g in switchable_types(check.case) if tensor in g.tensors), None)
    if group is None:
        return check.finding(tensor, rule, found, nearest)
    words = f"{nearest}, codes and zero point moved by 128"
    return check.finding(tensor, rule, found, words, lambda: with_other_sign(check.case, group))


def shapes(check: CheckedNode) -> Iterator[Finding]:
    """Operands that do not fit each other."""
    op_type = check.node.op_type
    at = [
        check.known.get(n, ("", None))[1]
        for n in (check.named.get(k, "") for k in ("a", "A", "b", "B"))
    ]
    a, b = at[0] or at[1], at[2] or at[3]
    if op_type in ("QLinearMatMul", "MatMulInteger", "MatMul") and a and b:
        inner = b[-2] if len(b) > 1 else b[0]
        if a[-1] != inner:
            first = check.node.inputs[0]
            second = check.named.get("b") or check.named.get("B", "")
            rule = "The last axis of the first operand must be as long as the last but one of the second"
            found = f"{first} has the shape {list(a)}, {second} {list(b)}"
            yield check.finding(first, rule, found)
    if op_type in ("QLinearConv", "ConvInteger"):
        yield from _convolution(check)
    if op_type in SCALARS_ONLY and not _broadcast(at[1], at[3]):
        rule = "Two axes of A and B, counted from the last, must be equally long, or one of them 1"
        found = f"A has the shape {_list(at[1])}, B {_list(at[3])}"
        yield check.finding(check.named["B"], rule, found)


def _broadcast(a: tuple[int, ...] | None, b: tuple[int, ...] | None) -> bool:
    """True where two shapes broadcast, or one is not known."""
    pairs = zip(reversed(a or ()), reversed(b or ()), strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


def _list(shape: tuple[int, ...] | None) -> str:
    return str(list(shape or ()))


def _convolution(check: CheckedNode) -> Iterator[Finding]:
    x, w = (check.known.get(check.named.get(n, ""), ("", None))[1] for n in ("x", "w"))
    group = check.node.attributes.get("group", 1)
    if x is None or w is None or len(x) < 3 or len(w) < 3 or not isinstance(group, int):
        return
    if not check.node.attributes.get("channels_last", 0) and x[1] != w[1] * group:
        rule = "x must have as many channels as w has for each group, times group"
        yield check.finding(check.node.inputs[0], rule, f"x has {x[1]:,}, w has {w[1]:,} × {group}")
    bias = check.case.tensor(check.named.get("B", ""))
    if bias is not None and bias.shape != (w[0],):
        rule = f"The bias B has one entry for each output channel ({w[0]:,})"
        yield check.finding(
            check.named["B"], rule, f"{check.named['B']} has the shape {list(bias.shape)}"
        )
