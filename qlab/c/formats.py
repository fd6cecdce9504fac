"""Reals in formats that C99 does not have: read as their bits, and written as them."""

from collections.abc import Sequence

from qlab.c.emission import Emission, Function, Operand
from qlab.c.format_texts import DECODE, ENCODE
from qlab.c.recorder import Primitive
from qlab.c.text import ctype
from qlab.kernels.float8 import ODD
from qlab.qtypes import DTYPES, dtype_name


def read(e: Emission, name: str) -> tuple[Operand, str]:
    """An input that is data, and the C expression of one element of it as a number."""
    operand = e.data(name)
    dtype = _stored(e, e.tensor(name))
    value = f"{e.file.use(DECODE[dtype])}({operand.name})" if dtype in DECODE else operand.name
    return operand, value


def written(e: Emission, value: str) -> tuple[str, str]:
    """The C type of an element of the first output, and ``value``, a real, as one."""
    out = e.output()
    if out.kind in ("float", "double"):
        return ("float" if e.file.whole else e.file.real), value
    dtype = e.dtype(e.node.outputs[0])
    return out.kind, f"{e.file.use(ENCODE[dtype])}({value})"


def float8(
    e: Emission, p: Primitive, operands: Sequence[Operand], lines: Sequence[str]
) -> Function:
    """``scaled`` rounded to a float8 type, half to even."""
    target = p["target"]
    encode = e.file.use(ENCODE[target.dtype])
    done = [*lines, f"return {encode}(scaled, {int(target.saturate)}); /* {target.dtype} */"]
    return e.function("quantize", ctype(target.dtype), operands, done)


def float8_of_ort_cpu(
    e: Emission, p: Primitive, operands: Sequence[Operand], lines: Sequence[str]
) -> Function:
    """As `qlab.kernels.float8` has it: two ranges beyond the largest number, and what 1.19 made of small negatives."""
    target, done = p["target"], list(lines)
    if not target.saturate and target.dtype in ODD:
        low, high, becomes, words = ODD[target.dtype]
        codes = [int(DTYPES[target.dtype].type(sign * becomes).view("uint8")) for sign in (-1, 1)]
        done += [
            f"if (fabsf(scaled) >= {low}f && fabsf(scaled) < {high}f) {{ /* {words} */",
            f"    return scaled < 0.0f ? 0x{codes[0]:x} : 0x{codes[1]:x};",
            "}",
        ]
    if e.file.scheme.before((1, 20)) and target.dtype.endswith("uz"):  # type: ignore[attr-defined]
        encode = e.file.use(ENCODE[target.dtype])
        done += [
            f"if (scaled < 0.0f && {encode}(scaled, 1) == 0) {{",
            "    return 0x80; /* a negative number that rounds to 0 becomes NaN */",
            "}",
        ]
    return float8(e, p, operands, done)


def _stored(e: Emission, tensor: str) -> str:
    return dtype_name(e.trace.tensors[tensor].dtype)
