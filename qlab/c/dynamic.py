"""DynamicQuantizeLinear as C: scale and zero point from the range of x, then every element."""

from collections.abc import Sequence

import numpy as np

from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.ort_cpu import clamped_lines
from qlab.c.recorder import Primitive
from qlab.c.roundings import code_lines, rounded
from qlab.c.specification import saturated


def specification(
    e: Emission, p: Primitive, source: str = "x", prefix: str = ""
) -> tuple[list[str], Function]:
    """The function body of DynamicQuantizeLinear in float32 or float64.

    Args:
        source: the input that is quantized. prefix: of the names of its scale and zero point.
    """
    real = e.file.real
    scale, zero_point = f"{prefix}scale", f"{prefix}zero_point"
    to_integer, clamp = e.file.use("to_integer"), e.file.use("clamp")
    lines = [
        *_range(e, real, source),
        line(real, scale, "(maximum - minimum) / 255", "y_scale"),
        line(real, "real_zero_point", f"0 - minimum / {scale}", "NaN where x is 0 everywhere"),
        line(
            "int32_t",
            zero_point,
            f"(int32_t){clamp}({to_integer}({rounded(e, 'real_zero_point')}), 0, 255)",
            "saturate(round(real_zero_point))",
        ),
    ]
    more, integer = code_lines(e, zero_point, zero_point, before=False)
    body = [
        line(real, "scaled", f"({real}){source} {e.over(scale)}", f"{source} {e.over(scale)}"),
        *more,
        saturated(e, integer, "uint8"),
    ]
    return _both(e, real, lines, body, source, prefix)


def ort_cpu(
    e: Emission, p: Primitive, source: str = "x", prefix: str = ""
) -> tuple[list[str], Function]:
    """GetQuantizationParameter and MlasQuantizeLinear. NaN in x is not modelled; arguments as `specification` has them."""
    scale, zero_point = f"{prefix}scale", f"{prefix}zero_point"
    lines = [
        *_range(e, "float", source),
        line("float", scale, "maximum != minimum ? (maximum - minimum) / 255.0f : 1.0f", "y_scale"),
        line("float", "real_zero_point", f"0.0f - minimum / {scale}"),
        line("float", "below", "real_zero_point < 255.0f ? real_zero_point : 255.0f"),
        line("float", "clamped", "below > 0.0f ? below : 0.0f", "clamp(real_zero_point, 0, 255)"),
        line("int32_t", zero_point, "(int32_t)rintf(clamped)", "rint(clamped)"),
    ]
    body = [
        line("float", "scaled", f"{source} / {scale}", f"f32({source} / {scale})"),
        *clamped_lines("uint8", zero_point),
    ]
    return _both(e, "float", lines, body, source, prefix)


def _range(e: Emission, real: str, source: str) -> list[str]:
    x = e.data(source)
    size = int(np.prod(x.shape))
    return [
        f"{real} minimum = 0; /* min(0, min({source})) */",
        f"{real} maximum = 0; /* max(0, max({source})) */",
        f"for (size_t i = 0; i < {size}; i++) {{",
        f"    minimum = {x.array}[i] < minimum ? {x.array}[i] : minimum;",
        f"    maximum = {x.array}[i] > maximum ? {x.array}[i] : maximum;",
        "}",
    ]


def _both(
    e: Emission, real: str, lines: list[str], body: Sequence[str], source: str, prefix: str
) -> tuple[list[str], Function]:
    if not prefix:  # DynamicQuantizeLinear has them as outputs
        e.output(0, "y")
        scale, zero = e.output(1, "y_scale"), e.output(2, "y_zero_point")
        if scale.array:
            cast = "(float)" if scale.kind == "float" and real == "double" else ""
            lines.append(f"y_scale[0] = {cast}scale;")
        if zero.array:
            lines.append("y_zero_point[0] = (uint8_t)zero_point;")
    operands = (
        e.data(source),
        Operand(real, f"{prefix}scale", "", ()),
        Operand("int32_t", f"{prefix}zero_point", "", ()),
    )
    return [f"    {item}" for item in lines], e.function("quantize", "uint8_t", operands, body)
