"""ort_cpu as C: ONNX Runtime's kernels, operation by operation, for the CPU class of the scheme."""

from collections.abc import Sequence

from qlab.c.emission import Emission, Function, Operand, line
from qlab.c.recorder import Primitive
from qlab.c.specification import ACCUMULATOR, saturated, scale_product
from qlab.c.text import ctype
from qlab.kernels.qlinearadd import first_is_scalar
from qlab.qtypes import bounds


def add(e: Emission, p: Primitive) -> Function:
    """QLinearAdd: fused multiply-adds (avx2, vnni, arm64), plain ones (sse), or fixed point (arm64)."""
    a, b, target = p["a"], p["b"], p["target"]
    operands = [e.data("A"), e.data("B")]
    fixed_point = p.find("shift") is not None
    # The kernel's first operand is the one that is no scalar.
    swapped = first_is_scalar(a.codes.shape, b.codes.shape)
    scalar = swapped or first_is_scalar(b.codes.shape, a.codes.shape)
    if swapped:
        a, b = b, a
    zero, scale = {}, {}
    for q in (a, b, target):
        zero[q.name], zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        scale[q.name], scales = e.parameter(q.scale_name, q.scale, "float")
        operands += [*zeros, *scales]
    ra, rb, zc = f"r{a.name}", f"r{b.name}", zero[target.name]
    if fixed_point:
        return _fixed_point(e, p, operands, zero, scale)
    lines = [
        line(
            "float",
            f"r{q.name}",
            f"{scale[q.name]} / {scale[target.name]}",
            p.step(f"r{q.name}").formula,
        )
        for q in (a, b)
    ]
    inner = f"fmaf({ra}, (float){zero[a.name]}, {rb} * (float){zero[b.name]})"
    part, total = f"fmaf((float){b.name}, {rb}, fixed)", f"fmaf((float){a.name}, {ra}, part)"
    if "fma" not in p.step("part").formula:
        first, second = (b.name, a.name) if scalar else (a.name, b.name)
        inner = f"({ra} * (float){zero[a.name]} + {rb} * (float){zero[b.name]})"
        part = f"fixed + (float){first} * r{first}"
        total = f"part + (float){second} * r{second}"
    lines += [
        line("float", "fixed", f"(float){zc} - {inner}", p.step("fixed").formula),
        line("float", "part", part, p.step("part").formula),
        line("float", "sum", total, p.step("sum").formula),
    ]
    return sum_to_codes(e, p, "add", operands, lines)


def _fixed_point(
    e: Emission,
    p: Primitive,
    operands: Sequence[Operand],
    zero: dict[str, str],
    scale: dict[str, str],
) -> Function:
    """Multipliers of 22 bits, rounded half away from zero before the zero point is added."""
    dtype, zc, power = p["target"].dtype, zero["C"], p.step("shift").value
    shift = e.file.scalar("shift", power, "int32_t")
    step = f"0x1p{int(power)}f"
    names = ("A", "B")
    lines = [
        line(
            "int64_t",
            f"m{q}",
            f"(int64_t)rintf({scale[q]} / {scale['C']} * {step})",
            p.step(f"m{q}").formula,
        )
        for q in names
    ]
    total = " + ".join(f"({q} - {zero[q]}) * m{q}" for q in names)
    half = f"accumulator - (accumulator < 0) + ((int64_t)1 << ({shift} - 1))"
    rounded = f"{e.file.use('floor_shift')}({half}, {shift}) + {zc}"
    lines += [
        line("int64_t", "accumulator", total, p.step("accumulator").formula),
        line("int64_t", "rounded", rounded, p.step("rounded").formula),
        saturated(e, f"{e.file.use('clamp')}(rounded, -32768, 32767)", dtype),
    ]
    return e.function("add", ctype(dtype), operands, lines)


def multiply(e: Emission, p: Primitive) -> Function:
    """QLinearMul: no fused operation, the zero point added before rounding."""
    a, b, target = p["a"], p["b"], p["target"]
    za, zeros_a = e.parameter(a.zero_point_name, a.zero_point, "int32_t")
    zb, zeros_b = e.parameter(b.zero_point_name, b.zero_point, "int32_t")
    zc, zeros_c = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    pairs = ((a.scale_name, a.scale), (b.scale_name, b.scale))
    multiplier, scales = scale_product(e, pairs, target)
    lines = [
        line("int64_t", "product", f"(int64_t)(A - {za}) * (B - {zb})", p.step("product").formula),
        line("float", "multiplier", multiplier, p.step("multiplier").formula),
        line("float", "scaled", "(float)product * multiplier", p.step("scaled").formula),
        line("float", "sum", f"scaled + (float){zc}", p.step("sum").formula),
    ]
    operands = [e.data("A"), e.data("B"), *zeros_a, *zeros_b, *scales, *zeros_c]
    return sum_to_codes(e, p, "multiply", operands, lines)


def requantize(e: Emission, p: Primitive) -> Function:
    """MlasRequantizeOutput: float32 multiplier, clamp, round half to even, add the zero point."""
    multiplier, scales = scale_product(e, p["scales"], p["target"])
    lines = [
        line("float", "multiplier", multiplier, p.step("multiplier").formula),
        line("float", "scaled", f"(float){_in_int32(e)} * multiplier", p.step("scaled").formula),
    ]
    return to_codes(e, p, "requantize", (ACCUMULATOR, *scales), lines)


def rescale(e: Emission, p: Primitive) -> Function:
    """f32(f32(accumulator) · scales)."""
    multiplier, scales = scale_product(e, p["scales"])
    lines = [
        line("float", "multiplier", multiplier, p.step("multiplier").formula),
        f"return (float){_in_int32(e)} * multiplier; /* f32(f32(accumulator) * multiplier) */",
    ]
    return e.function("rescale", "float", (ACCUMULATOR, *scales), lines)


def _in_int32(e: Emission) -> str:
    """The sum as its int32 register holds it, a bias included."""
    return f"{e.file.use('wrap32')}(accumulator)"


def to_codes(
    e: Emission, p: Primitive, name: str, operands: Sequence[Operand], lines: Sequence[str]
) -> Function:
    """Clamp ``scaled`` to the codes' range less the zero point, round half to even, add the zero point."""
    target = p["target"]
    zero, zeros = e.parameter(target.zero_point_name, target.zero_point, "int32_t")
    done = [*lines, *clamped_lines(target.dtype, zero)]
    return e.function(name, ctype(target.dtype), (*operands, *zeros), done)


def clamped_lines(dtype: str, zero: str) -> list[str]:
    """From ``scaled`` to the code."""
    low, high = bounds(dtype)
    return [
        line("float", "lowest", f"(float)({low} - {zero})"),
        line("float", "highest", f"(float)({high} - {zero})"),
        line("float", "above", "scaled > lowest ? scaled : lowest", "NaN becomes the lowest"),
        line(
            "float",
            "clamped",
            "above < highest ? above : highest",
            "clamp(scaled, lowest, highest)",
        ),
        line("float", "rounded", "rintf(clamped)", "rint(clamped), half to even"),
        f"return ({ctype(dtype)})((int32_t)rounded + {zero}); /* rounded + zero point */",
    ]


def sum_to_codes(
    e: Emission, p: Primitive, name: str, operands: Sequence[Operand], lines: Sequence[str]
) -> Function:
    """Round ``sum``, then pack with saturation to 16 and to 8 bits."""
    dtype = p["target"].dtype
    arm = getattr(e.file.scheme, "cpu", "") == "arm64"
    convert = e.file.use("vcvtnq_s32" if arm else "cvtps2dq")
    done = [
        *lines,
        line("int32_t", "rounded", f"{convert}(sum)", "rint(sum)"),
        saturated(e, f"{e.file.use('clamp')}(rounded, -32768, 32767)", dtype),
    ]
    return e.function(name, ctype(dtype), operands, done)
