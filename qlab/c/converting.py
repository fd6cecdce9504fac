"""QLinearConcat and QLinearWhere: codes of several scales and zero points as codes of one."""

from collections.abc import Callable

import numpy as np

from qlab.c import ort_cpu as ort_cpu_c
from qlab.c import specification as specification_c
from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.indexing import assignments, broadcast
from qlab.c.moving import numbered, read
from qlab.c.recorder import Primitive
from qlab.qtypes import Array


def specification(e: Emission, p: Primitive, codes: str, scale: str, zero_point: str) -> Function:
    """Saturate(round((q - zero_point) · scale / y_scale) + y_zero_point)."""
    lines, operands = _scaled(e, p, codes, scale, zero_point)
    return specification_c.to_codes(e, p, "convert", operands, lines)


def ort_cpu(e: Emission, p: Primitive, codes: str, scale: str, zero_point: str) -> Function | None:
    """The entry of ONNX Runtime's table: two roundings to float32; None where codes are copied."""
    target = p["target"]
    names = (scale, zero_point, target.scale_name, target.zero_point_name)
    computed = any(e.graph.producer(e.tensor(n)) is not None for n in names)
    same = (_value(e, scale) == target.scale) & (_value(e, zero_point) == target.zero_point)
    if same.all() and not computed:
        return None
    lines, operands = _scaled(e, p, codes, scale, zero_point)
    if computed:
        kinds = ("float", "int32_t") * 2
        read_as = [e.parameter(n, _value(e, n), k)[0] for n, k in zip(names, kinds, strict=True)]
        lines = [
            "if ({0} == {2} && {1} == {3}) {{".format(*read_as),
            f"    return {codes}; /* copied, not computed */",
            "}",
            *lines,
        ]
    return ort_cpu_c.to_codes(e, p, "convert", operands, lines)


def _scaled(
    e: Emission, p: Primitive, codes: str, scale: str, zero_point: str
) -> tuple[list[str], tuple[Operand, ...]]:
    """The lines down to ``scaled``, and what they read."""
    real, target = e.file.real, p["target"]
    own, scales = e.parameter(scale, _value(e, scale), real)
    zero, zeros = e.parameter(zero_point, _value(e, zero_point), "int32_t")
    divisor, divisors = e.parameter(target.scale_name, target.scale, real)
    lines = [
        line("int32_t", "centered", f"{codes} - {zero}", f"{codes} - {zero_point}"),
        line(real, "real", f"({real})centered * {own}", f"centered * {scale}"),
        line(real, "scaled", f"real / {divisor}", p.step("scaled").formula),
    ]
    return lines, (e.data(codes), *scales, *zeros, *divisors)


def _value(e: Emission, name: str) -> Array:
    """A scale or zero point of one entry when the file is written, shape ()."""
    return e.trace.tensors[e.tensor(name)].reshape(())


def _called(function: Function | None, codes: str) -> str:
    """The conversion of one code; scales and zero points that a node computes are read from their arrays."""
    if function is None:
        return codes
    more = (f"{o.array}[0]" for o in function.operands[1:])
    return f"{function.name}({', '.join((codes, *more))})"


def concat(e: Emission) -> list[str]:
    """QLinearConcat: each input into its part of the output."""
    count = (len(e.node.inputs) - 2) // 3
    names = [f"X{i}" for i in range(count)]
    m = np.concatenate(list(numbered(e, names).values()), axis=e.node.attributes.get("axis", 1))
    lines = []
    for name, place, source in read(e, m, names):
        function = e.emit("convert", name, f"{name}_scale", f"{name}_zero_point")
        x, out = e.data(name), e.output()
        if function is None:
            lines.append(f"    /* {name} has the scale and zero point of the output: copied */")
        lines += assignments(e.file, out, place, [(x, source)], lambda v, f=function: _called(f, v))
    return lines


def where(e: Emission) -> list[str]:
    """QLinearWhere: both inputs converted, one of them chosen, with broadcasting."""
    condition = e.data("condition")
    x, y = (
        e.emit("convert", n, f"{n.lower()}_scale", f"{n.lower()}_zero_point") for n in ("X", "Y")
    )
    out = e.output()

    def chosen(asked: str, of_x: str, of_y: str) -> str:
        return f"{asked} ? {_called(x, of_x)} : {_called(y, of_y)}"

    return broadcast(e.file, out, (condition, e.data("X"), e.data("Y")), chosen)


_MICROSOFT = "com.microsoft"
OPERATORS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {
    (_MICROSOFT, "QLinearConcat"): concat,
    (_MICROSOFT, "QLinearWhere"): where,
}
DATA = {"QLinearConcat": ("X{}",), "QLinearWhere": ("condition", "X", "Y")}
