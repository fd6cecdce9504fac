"""One call per usual case: a quantized operator with small numbers of its own, to start from."""

import dataclasses
from typing import Any

import numpy as np

from qlab.case import Case
from qlab.errors import CaseError
from qlab.forms import UNFUSED, to_qdq
from qlab.graph import Graph, Node
from qlab.ops import operators
from qlab.qtypes import DTYPES, Array, bounds

EIGHT_BITS = ("uint8", "int8")
ALL_CODES = ("uint8", "int8", "uint16", "int16", "uint4", "int4")


@dataclasses.dataclass(frozen=True)
class Buildable:
    """An operator that `build` makes a case of.

    Attributes:
        forms: ``QOperator``, and ``QDQ`` where the operator has such a form.
        dtypes: of its activations. weight_dtypes: of its second operand; empty where that has the same type.
    """

    op_type: str
    forms: tuple[str, ...]
    dtypes: tuple[str, ...]
    weight_dtypes: tuple[str, ...]


def buildable() -> tuple[Buildable, ...]:
    """Every operator that `build` knows, in the order of their names."""
    return tuple(
        Buildable(
            name,
            ("QOperator", "QDQ") if name in UNFUSED else ("QOperator",),
            _dtypes(name),
            EIGHT_BITS
            if name in ("QLinearConv", "QLinearMatMul", "QGemm", "MatMulInteger", "ConvInteger")
            else (),
        )
        for name in sorted(_NODES)
    )


def build(
    op_type: str, *, form: str = "QOperator", dtype: str = "uint8", weight_dtype: str = "int8"
) -> Case:
    """A case of one operator: a few codes, scales that are no powers of two, zero points that are not 0.

    Args:
        op_type: one of `buildable`. form: ``QOperator`` or ``QDQ``.
        dtype: of activations and result. weight_dtype: of the second operand of a product.

    Raises:
        CaseError: an operator, form or type that there is not; the line says which there are.
    """
    known = {b.op_type: b for b in buildable()}
    if op_type not in known:
        raise CaseError(f"cannot build {op_type!r}; it can be {', '.join(known)}")
    wanted = known[op_type]
    for what, given, allowed in (("form", form, wanted.forms), ("dtype", dtype, wanted.dtypes)):
        if given not in allowed:
            raise CaseError(f"{op_type} has no {what} {given!r}; it can be {', '.join(allowed)}")
    if wanted.weight_dtypes and weight_dtype not in wanted.weight_dtypes:
        raise CaseError(
            f"{op_type} has no weight_dtype {weight_dtype!r}; it can be {', '.join(wanted.weight_dtypes)}"
        )
    case = _NODES[op_type](dtype, weight_dtype if wanted.weight_dtypes else dtype)
    other = to_qdq(case) if form == "QDQ" else case
    assert other is not None  # the scales above are constants
    types = f"{dtype} × {weight_dtype}" if wanted.weight_dtypes else dtype
    return dataclasses.replace(
        other, title=f"{op_type} of {types}" + (" as a QDQ group" if form == "QDQ" else "")
    )


def _dtypes(op_type: str) -> tuple[str, ...]:
    if op_type in ("QuantizeLinear", "DequantizeLinear"):
        return ALL_CODES
    return ("uint8",) if op_type == "DynamicQuantizeLinear" else EIGHT_BITS


def _scale(value: float) -> Array:
    return np.asarray(value, np.float32)


def _zero_point(dtype: str, above_middle: int = 0) -> Array:
    """The middle of the type's range, or a few codes above."""
    low, high = bounds(dtype)
    return np.asarray((low + high + 1) // 2 + above_middle, np.int64).astype(DTYPES[dtype])


def _codes(dtype: str, *steps: Any) -> Array:
    """Codes that many steps above the middle of the type's range."""
    low, high = bounds(dtype)
    middle = (low + high + 1) // 2
    return np.asarray(np.clip(np.asarray(steps) + middle, low, high).astype(DTYPES[dtype]))


def _case(
    op_type: str, inputs: dict[str, Array], constants: dict[str, Array], **attributes: Any
) -> Case:
    """A graph of one node whose tensors have the schema's names."""
    domain = (
        ""
        if ("", op_type) in operators() and op_type not in ("QLinearAdd", "QLinearMul")
        else "com.microsoft"
    )
    operator = operators()[domain, op_type]
    tensors = {**inputs, **constants}
    names = [n if n in tensors else "" for n in operator.inputs]
    while names and not names[-1]:
        names.pop()
    outputs: dict[str, tuple[str, ...]] = {
        "QLinearAdd": ("C",),
        "QLinearMul": ("C",),
        "QGemm": ("Y",),
        "MatMulInteger": ("Y",),
    }
    outputs["DynamicQuantizeLinear"] = ("y", "y_scale", "y_zero_point")
    made = outputs.get(op_type, ("y",))
    opset = {"": 21 if op_type in ("QuantizeLinear", "DequantizeLinear") else 13}
    if domain:
        opset[domain] = 1
    node = Node(op_type, tuple(names), made, domain, attributes)
    return Case(Graph((node,), constants, tuple(inputs), made, opset), inputs)


def _elementwise(op_type: str, c_scale: float) -> Any:
    def make(dtype: str, _: str) -> Case:
        return _case(
            op_type,
            {"A": _codes(dtype, -90, -1, 4, 100), "B": _codes(dtype, 77, 3, -2, 50)},
            {
                "A_scale": _scale(0.02),
                "A_zero_point": _zero_point(dtype, 3),
                "B_scale": _scale(0.03),
                "B_zero_point": _zero_point(dtype, -5),
                "C_scale": _scale(c_scale),
                "C_zero_point": _zero_point(dtype, 1),
            },
        )

    return make


A = ((10, -20, 70), (127, 90, -3))
B = ((90, -7), (-81, 30), (100, 5))


def _product(op_type: str) -> Any:
    """A matrix product of 2 × 3 and 3 × 2, the second operand constant."""
    upper = op_type in ("MatMulInteger", "QGemm")

    def make(dtype: str, weight_dtype: str) -> Case:
        a, b = ("A", "B") if upper else ("a", "b")
        constants = {b: _codes(weight_dtype, *B), "a_zero_point": _zero_point(dtype)}
        constants["b_zero_point"] = _zero_point(weight_dtype)
        if op_type != "MatMulInteger":
            constants |= {"a_scale": _scale(0.02), "b_scale": _scale(0.01), "y_scale": _scale(0.03)}
            constants |= {"y_zero_point": _zero_point(dtype, 1)}
        if op_type == "QGemm":
            constants["C"] = np.asarray([500, -300], np.int32)
        return _case(op_type, {a: _codes(dtype, *A)}, constants)

    return make


IMAGE = (((10, -20, 70, 3), (127, 90, -3, 8), (-50, 40, 25, -9), (6, 2, -1, 60)),)
KERNEL = ((((90, -7), (-81, 30)),), (((5, 100), (12, -64)),))


def _convolution(op_type: str) -> Any:
    """A 1 × 1 × 4 × 4 image and two 2 × 2 kernels, which are constant."""

    def make(dtype: str, weight_dtype: str) -> Case:
        constants = {"w": _codes(weight_dtype, *KERNEL), "x_zero_point": _zero_point(dtype)}
        constants["w_zero_point"] = _zero_point(weight_dtype)
        if op_type == "QLinearConv":
            constants |= {"x_scale": _scale(0.02), "w_scale": np.asarray([0.01, 0.015], np.float32)}
            constants["w_zero_point"] = np.repeat(_zero_point(weight_dtype), 2)
            constants |= {"y_scale": _scale(0.04), "y_zero_point": _zero_point(dtype, 1)}
            constants["B"] = np.asarray([500, -300], np.int32)
        return _case(op_type, {"x": _codes(dtype, *IMAGE)[None]}, constants)

    return make


def _quantize(dtype: str, _: str) -> Case:
    x = np.asarray([-1.0, -0.05, 0.0, 0.05, 0.15, 2.55, 1000.0], np.float32)
    return _case(
        "QuantizeLinear", {"x": x}, {"y_scale": _scale(0.1), "y_zero_point": _zero_point(dtype)}
    )


def _dequantize(dtype: str, _: str) -> Case:
    x = _codes(dtype, -100, -3, 0, 1, 5, 100)
    return _case(
        "DequantizeLinear", {"x": x}, {"x_scale": _scale(0.1), "x_zero_point": _zero_point(dtype)}
    )


def _dynamic(_: str, __: str) -> Case:
    x = np.asarray([-1.0, 0.0, 0.3, 2.0, 3.1], np.float32)
    return _case("DynamicQuantizeLinear", {"x": x}, {})


_NODES: dict[str, Any] = {
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic,
    "QLinearConv": _convolution("QLinearConv"),
    "ConvInteger": _convolution("ConvInteger"),
    "QLinearMatMul": _product("QLinearMatMul"),
    "MatMulInteger": _product("MatMulInteger"),
    "QGemm": _product("QGemm"),
    "QLinearAdd": _elementwise("QLinearAdd", 0.04),
    "QLinearMul": _elementwise("QLinearMul", 0.05),
}
