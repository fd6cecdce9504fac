"""Is there such an operator, in this opset, with these inputs and attributes?"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import onnx

from qlab.case import Case
from qlab.errors import closest
from qlab.ops import operators
from qlab.qtypes import is_integer, saturate
from qlab.report import Finding
from qlab.rules.checked_node import CheckedNode

MICROSOFT_REQUIRED = {
    "QLinearAdd": ("A", "A_scale", "B", "B_scale", "C_scale"),
    "QLinearMul": ("A", "A_scale", "B", "B_scale", "C_scale"),
    "QGemm": ("A", "a_scale", "a_zero_point", "B", "b_scale", "b_zero_point"),
    "QLinearAveragePool": ("X", "x_scale", "y_scale"),
    "QLinearGlobalAveragePool": ("X", "x_scale", "x_zero_point", "y_scale", "y_zero_point"),
    "QLinearLeakyRelu": ("X", "X_scale", "Y_scale"),
    "QLinearSigmoid": ("X", "X_scale", "Y_scale"),
    "QLinearSoftmax": ("X", "X_scale", "y_scale", "y_zero_point"),
    "QLinearWhere": (
        *("condition", "X", "x_scale", "x_zero_point"),
        *("Y", "y_scale", "y_zero_point", "z_scale", "z_zero_point"),
    ),
    "MatMulIntegerToFloat": ("A", "B", "a_scale", "b_scale"),
    "DynamicQuantizeMatMul": ("A", "B", "b_scale"),
    "MatMulNBits": ("A", "B", "scales"),
}


def signature(check: CheckedNode) -> Iterator[Finding]:
    """Is there such an operator, in this opset, with these inputs and attributes?"""
    if check.node.domain:
        if check.names:
            yield from _missing(
                check,
                [n for n in check.names if n in MICROSOFT_REQUIRED.get(check.node.op_type, ())],
            )
        return
    opset = check.case.graph.opset.get("", 1)
    try:
        schema = onnx.defs.get_schema(check.node.op_type, opset, "")
    except onnx.defs.SchemaError:
        yield _no_schema(check, opset)
        return
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    yield from _missing(
        check,
        [i.name for i in schema.inputs if i.option == single],
        [i.name for i in schema.inputs],
    )
    for name in check.node.attributes:
        if name not in schema.attributes:
            kept = {k: v for k, v in check.node.attributes.items() if k != name}
            listed = ", ".join(sorted(schema.attributes))
            allowed = f"the attributes {listed}" if listed else "no attributes"
            yield check.finding(
                name,
                f"{check.node.op_type} of opset {opset} has {allowed}",
                f"The node has the attribute {name}",
                f"without {name}",
                lambda kept=kept: check.with_node(attributes=kept),  # type: ignore[misc]
            )


def _no_schema(check: CheckedNode, opset: int) -> Finding:
    op_type = check.node.op_type
    versions = [
        s
        for s in onnx.defs.get_all_schemas_with_history()
        if s.name == op_type and s.domain in ("", "ai.onnx")
    ]
    if versions:
        since = min(s.since_version for s in versions)

        def raised() -> Case:
            graph = dataclasses.replace(
                check.case.graph, opset={**check.case.graph.opset, "": since}
            )
            return dataclasses.replace(check.case, graph=graph)

        rule = f"{op_type} exists since opset {since} of ai.onnx"
        return check.finding("", rule, f"The case has opset {opset}", f"opset {since}", raised)
    if ("com.microsoft", op_type) in operators():
        return check.finding(
            "",
            f"{op_type} is an operator of the domain com.microsoft",
            "The node has no domain, which means ai.onnx",
            "domain com.microsoft",
            lambda: check.with_node(domain="com.microsoft"),
        )
    nearest = closest(op_type, (o for _, o in operators()))
    return check.finding(
        "",
        f"ai.onnx has no operator {op_type}",
        f"The node asks for {op_type}",
        nearest,
        (lambda: check.with_node(op_type=nearest)) if nearest else None,
    )


def _missing(
    check: CheckedNode, required: list[str], order: list[str] | None = None
) -> Iterator[Finding]:
    places = list(order or check.names)
    for name in required:
        position = places.index(name)
        if position < len(check.node.inputs) and check.node.inputs[position]:
            continue
        nearest, fix = "", None
        codes = check.named.get(name.removesuffix("_zero_point"), "")
        dtype = check.known.get(codes, ("", None))[0]
        if name.endswith("_zero_point") and is_integer(dtype or "float32"):
            nearest = f"{name} = 0"

            def fix(name: str = name, position: int = position, dtype: str = dtype) -> Case:
                inputs = [*check.node.inputs, *[""] * (position + 1 - len(check.node.inputs))]
                inputs[position] = f"{check.node.outputs[0]}_{name}"
                changed = check.with_node(inputs=tuple(inputs))
                constants = {
                    **changed.graph.constants,
                    inputs[position]: saturate(np.asarray(0), dtype),
                }
                graph = dataclasses.replace(changed.graph, constants=constants)
                return dataclasses.replace(changed, graph=graph)

        yield check.finding(
            name,
            f"{check.node.op_type} requires the input {name}",
            f"{name} is absent",
            nearest,
            fix,
        )
