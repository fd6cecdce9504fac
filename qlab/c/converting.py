"""QLinearConcat and QLinearWhere: codes of several scales and zero points as codes of one."""

import functools
from collections.abc import Callable

import numpy as np

from qlab.c import exact as exact_c
from qlab.c import ort_cpu as ort_cpu_c
from qlab.c import specification as specification_c
from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.indexing import assignments, broadcast
from qlab.c.moving import numbered, read
from qlab.c.recorder import Primitive

Conversion = tuple[Function, tuple[str, ...]]
"""The function on one code, and the C expressions of its further arguments."""


def specification(e: Emission, p: Primitive, codes: str, scale: str, zero_point: str) -> Conversion:
    """Saturate(round((q - zero_point) · scale / y_scale) + y_zero_point)."""
    if not e.functions:
        lines, operands = _scaled(e, p, codes)
        specification_c.to_codes(e, p, "convert", operands, lines)
    return e.functions[0], _arguments(e, scale, zero_point)


def ort_cpu(e: Emission, p: Primitive, codes: str, scale: str, zero_point: str) -> Conversion:
    """The entry of ONNX Runtime's table: two roundings to float32, or the code itself."""
    target = p["target"]
    if not e.functions:
        lines, operands = _scaled(e, p, codes)
        zero, _ = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
        divisor, _ = e.parameter(target.scale_name, target.scale, "float")
        copied = [
            f"if (X_scale == {divisor} && X_zero_point == {zero}) {{",
            "    return X; /* codes of equal scale and zero point are copied, not computed */",
            "}",
        ]
        ort_cpu_c.to_codes(e, p, "convert", operands, [*copied, *lines])
    return e.functions[0], _arguments(e, scale, zero_point)


def exact(e: Emission, p: Primitive, codes: str, scale: str, zero_point: str) -> Conversion:
    """A function for each scale: its ratio to that of the result is a whole number of many digits."""
    function = exact_c.convert(e, p, codes, scale, zero_point)
    return function, tuple(f"{o.array}[0]" for o in function.operands[1:])


def _scaled(e: Emission, p: Primitive, codes: str) -> tuple[list[str], tuple[Operand, ...]]:
    """The lines down to ``scaled``, and their operands: a code, its scale and its zero point."""
    real, target = e.file.real, p["target"]
    divisor, divisors = e.parameter(target.scale_name, target.scale, real)
    lines = [
        line("int32_t", "centered", "X - X_zero_point"),
        line(real, "real", f"({real})centered * X_scale", "centered * X_scale"),
        line(real, "scaled", f"real {e.over(divisor)}", p.step("scaled").formula),
    ]
    code = Operand(e.kind(e.tensor(codes)), "X", "", ())
    own = (Operand(real, "X_scale", "", ()), Operand("int32_t", "X_zero_point", "", ()))
    return lines, (code, *own, *divisors)


def _arguments(e: Emission, scale: str, zero_point: str) -> tuple[str, ...]:
    """Scale and zero point of one operand, then what a node computes of the result's."""
    found = []
    for name, kind in ((scale, e.file.real), (zero_point, "int32_t")):
        value = e.trace.tensors[e.tensor(name)].reshape(())
        expression, computed = e.parameter(name, value, kind)
        found.append(f"{computed[0].array}[0]" if computed else expression)
    return (*found, *(f"{o.array}[0]" for o in e.functions[0].operands[3:]))


def _called(conversion: Conversion, code: str) -> str:
    function, arguments = conversion
    return f"{function.name}({', '.join((code, *arguments))})"


def concat(e: Emission) -> list[str]:
    """QLinearConcat: each input into its part of the output."""
    count = (len(e.node.inputs) - 2) // 3
    names = [f"X{i}" for i in range(count)]
    m = np.concatenate(list(numbered(e, names).values()), axis=e.node.attributes.get("axis", 1))
    lines = []
    for name, place, source in read(e, m, names):
        x = e.data(name)
        converted = e.emit("convert", name, f"{name}_scale", f"{name}_zero_point")
        value = functools.partial(_called, converted)
        lines += assignments(e.file, e.output(), place, [(x, source)], value)
    return lines


def where(e: Emission) -> list[str]:
    """QLinearWhere: both inputs converted, one of them chosen, with broadcasting."""
    operands = [e.data(name) for name in ("condition", "X", "Y")]
    x = e.emit("convert", "X", "x_scale", "x_zero_point")
    y = e.emit("convert", "Y", "y_scale", "y_zero_point")

    def chosen(asked: str, of_x: str, of_y: str) -> str:
        return f"{asked} ? {_called(x, of_x)} : {_called(y, of_y)}"

    return broadcast(e.file, e.output(), operands, chosen)


_MICROSOFT = "com.microsoft"
OPERATORS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {
    (_MICROSOFT, "QLinearConcat"): concat,
    (_MICROSOFT, "QLinearWhere"): where,
}
DATA = {"QLinearConcat": ("X{}",), "QLinearWhere": ("condition", "X", "Y")}
