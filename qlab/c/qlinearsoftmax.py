"""QLinearSoftmax as C: ONNX Runtime's table of exponentials and its quotient, release for release; exact in whole numbers."""

from fractions import Fraction

import numpy as np

from qlab.c import text
from qlab.c.dequantized import codes_of, require_constant
from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.exact import STEP_BITS
from qlab.c.recorder import Primitive
from qlab.c.roundings import is_before, round_sum
from qlab.c.softmax import entry, for_row, row_function
from qlab.c.specification import saturated
from qlab.c.text import ctype
from qlab.errors import ExportError
from qlab.functions import exp
from qlab.kernels.qlinearsoftmax import exponentials
from qlab.qtypes import bounds
from qlab.schemes.ort_cpu import OrtCpu

SMALLER = 62  # bits of y_scale's numerator and denominator


def ort_cpu(e: Emission, p: Primitive) -> str:
    """The sum in float32; the quotient in double from 1.32 on, in float32 before."""
    scheme, q, target, rows = e.file.scheme, p["q"], p["target"], p["rows"]
    assert isinstance(scheme, OrtCpu)
    require_constant(e, q.scale_name, target.scale_name, target.zero_point_name)
    x, x_scale = e.data("X"), float(scheme.real(q.scale))
    powers = exponentials(x_scale, rows.length, in_double=scheme.before((1, 16)))
    formula = f"exp((i - 255) * {q.scale_name} + shift), the shift so that a row's sum fills the range of float"
    e.file.definitions.append(text.comment(formula))
    table = e.file.array("exponential", powers, "float")
    factor = e.file.scalar("factor", p.step("factor").value, "float")
    quantize = _quantize(e, p, scheme, factor).name
    at = entry("x", rows)
    lines = [
        f"int maximum = {entry('x', rows, '0')};",
        *for_row(rows, f"maximum = {at} > maximum ? {at} : maximum;", first=1),
        f"float total = {table}[{entry('x', rows, '0')} - maximum + 255];",
        *for_row(rows, f"total += {table}[{at} - maximum + 255];", first=1),
        *for_row(rows, f"{entry('y', rows)} = {quantize}({table}[{at} - maximum + 255], total);"),
    ]
    return row_function(e, (x.kind, x.kind), lines)


def _quantize(e: Emission, p: Primitive, scheme: OrtCpu, factor: str) -> Function:
    """The code of one entry, from its power and the row's total."""
    target = p["target"]
    zero, _ = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    operands = (Operand("float", "power", "", ()), Operand("float", "total", "", ()))
    if scheme.before((1, 32)):
        lines = [
            line("float", "scaled", f"power * {factor} / total", p.step("scaled").formula),
            line("float", "rounded", "rintf(scaled)"),
            *_before_double(e, target.dtype, zero, scheme),
        ]
    else:
        product = f"(double)power * (double){factor} / (double)total"
        lines = [
            line("double", "scaled", product, p.step("scaled").formula),
            line("double", "rounded", "rint(scaled)"),
            line("int64_t", "biased", f"{e.file.use('to_integer')}(rounded) + {zero}"),
            saturated(e, "biased", target.dtype),
        ]
    return e.function("quantize", ctype(target.dtype), operands, lines)


def _before_double(e: Emission, dtype: str, zero: str, scheme: OrtCpu) -> list[str]:
    """Up to 1.31: converted to uint32 or int32, which can overflow; ``rounded`` is not negative."""
    arm = scheme.cpu == "arm64"
    if bounds(dtype)[0] == 0:
        inside = "rounded < 0x1p32f ? (uint32_t)rounded : UINT32_MAX"
        if not arm:
            inside = "rounded < 0x1p63f ? (uint32_t)(uint64_t)rounded : 0"
        said = "FCVTZU of ARM64 saturates" if arm else "CVTTSS2SI: the lower half of 64 bits"
        return [
            line("uint32_t", "integer", inside, said),
            line("uint32_t", "biased", f"integer + (uint32_t){zero}"),
            "return (uint8_t)(biased > 255 ? 255 : biased); /* saturate to uint8 */",
        ]
    beyond = "INT32_MAX" if arm else "INT32_MIN"
    said = "FCVTZS of ARM64 saturates" if arm else "CVTTSS2SI: what does not fit is INT32_MIN"
    wrapped = f"{e.file.use('wrap32')}((int64_t)integer + {zero})"
    lines = [
        line("int32_t", "integer", f"rounded < 0x1p31f ? (int32_t)rounded : {beyond}", said),
        line("int32_t", "biased", wrapped, "integer + the zero point"),
    ]
    if not scheme.before((1, 29)):
        return [*lines, saturated(e, "biased", dtype)]
    return [
        *lines,
        line("int32_t", "low", "(int32_t)((uint32_t)biased & 255u)"),
        "return (int8_t)(biased > 255 ? -1 : low < 128 ? low : low - 256); /* wraps: fixed in 1.29 */",
    ]


def exact(e: Emission, p: Primitive) -> str:
    """Powers of 256 bits as whole numbers, their sum without loss, the code by comparison: what the trace has.

    Raises:
        ExportError: a scale is not finite, or y_scale is 0 or needs more than 62 bits.
    """
    q, target, rows = p["q"], p["target"], p["rows"]
    require_constant(e, q.scale_name, target.scale_name, target.zero_point_name)
    if not (np.isfinite(q.scale) and np.isfinite(target.scale) and target.scale != 0):
        raise ExportError(
            f"exact C needs a finite {q.scale_name} and a finite {target.scale_name} other than 0"
        )
    step, divisor = Fraction(float(q.scale)), Fraction(float(target.scale))
    if max(divisor.numerator.bit_length(), divisor.denominator.bit_length()) > SMALLER:
        raise ExportError(
            f"{target.scale_name} {float(target.scale)} needs more than {SMALLER} bits: QLinearSoftmax in exact C "
            "has it from 2^-38 to 2^62"
        )
    x = e.data("X")
    powers = [exp(-abs(step) * d) for d in range(len(codes_of(x.kind)))]
    bits = max(v.denominator for v in powers).bit_length() - 1
    whole = [int(v * 2**bits) for v in powers]
    table = e.file.names.new("exponential")
    e.file.big.append((table, tuple(whole)))
    needed = bits + 1 + SMALLER + rows.length.bit_length() + STEP_BITS
    e.file.limbs = max(e.file.limbs, needed // 32 + 1)
    zero, _ = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    add_product, code_of = e.file.use("add_product"), round_sum(e)
    zeros = f"{zero}, 0" if is_before(e, schema=False) else f"0, {zero}"
    low, high = bounds(target.dtype)
    at, beyond = entry("x", rows), ">" if step >= 0 else "<"
    difference = f"maximum - {at}" if step >= 0 else f"{at} - maximum"
    sign = "-" if divisor < 0 else ""
    factors = f"{sign}INT64_C({divisor.denominator})", f"INT64_C({abs(divisor.numerator)})"
    lines = [
        f"/* {table}[d] is exp(-d * |{q.scale_name}|) * 2^{bits}, to 256 bits as in the trace; {target.scale_name} is */",
        f"/* {sign}{abs(divisor.numerator)} / {divisor.denominator}: two whole numbers and their sums without loss. */",
        f"int maximum = {entry('x', rows, '0')}; /* of the real */",
        *for_row(rows, f"maximum = {at} {beyond} maximum ? {at} : maximum;", first=1),
        "uint32_t total[LIMBS] = {0}; /* sum of exponential * numerator */",
        *for_row(rows, f"{add_product}(total, {table}[{difference}], {factors[1]});"),
        *for_row(
            rows,
            "uint32_t power[LIMBS] = {0}; /* exponential * denominator */",
            f"{add_product}(power, {table}[{difference}], {factors[0]});",
            f"{entry('y', rows)} = ({x.kind}){code_of}(power, total, {zeros}, {low}, {high});",
        ),
    ]
    return row_function(e, (x.kind, x.kind), lines)
