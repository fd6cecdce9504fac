"""Cast: to float32, to integers towards zero or modulo the size of the type, to bool what is not 0."""

from collections.abc import Callable

from qlab.c.emission import Emission, Function
from qlab.c.indexing import broadcast
from qlab.c.moving import narrowed
from qlab.c.recorder import Primitive
from qlab.c.text import ctype
from qlab.qtypes import bounds

REALS = ("float", "double")


def specification(e: Emission, p: Primitive) -> Function:
    """The number in the scheme's type."""
    x = e.data("input")
    real = e.file.real
    return e.function("cast", real, (x,), [f"return ({real}){x.name};"])


def exact(e: Emission, p: Primitive) -> Function:
    """The number itself, rounded once where it is an output."""
    x = e.data("input")
    return e.function("cast", "float", (x,), [f"return (float){x.name}; /* rounds once */"])


def cast(e: Emission) -> list[str]:
    """Cast of every element."""
    function = e.emit("cast") if e.has("cast") else _to_codes(e)
    out = e.output()

    def called(x: str) -> str:
        return narrowed(out, function.kind, f"{function.name}({x})")

    return broadcast(e.file, out, function.operands, called)


def _to_codes(e: Emission) -> Function:
    """To an integer type or to bool."""
    x = e.data("input")
    value = e.trace.tensors[e.node.outputs[0]]
    dtype = value.dtype.name
    kind = ctype(dtype)
    if dtype == "bool":
        return e.function("cast", kind, (x,), [f"return {x.name} != 0; /* NaN is not 0 */"])
    low, high = bounds(dtype)
    if x.kind in REALS:
        # Compared as doubles, which have both ends of up to 32 bits; of 64 bits the ends themselves are powers of two.
        above = f"> {low - 1}.0" if low > -(2**63) else ">= -0x1p63"
        below = f"< {high + 1}.0" if high < 2**63 - 1 else "< 0x1p63"
        lines = [
            f"if (!({x.name} {above} && {x.name} {below})) {{",
            f"    return 0; /* it has no code in {dtype}: what it becomes is not modelled */",
            "}",
            f"return ({kind}){x.name}; /* towards zero */",
        ]
        return e.function("cast", kind, (x,), lines)
    own = bounds(e.trace.tensors[e.tensor("input")].dtype) if x.kind != "uint8_t" else (0, 255)
    if low <= own[0] and own[1] <= high:
        return e.function("cast", kind, (x,), [f"return ({kind}){x.name};"])
    if dtype == "uint4":
        said = "modulo 2^4"
        return e.function(
            "cast", kind, (x,), [f"return ({kind})((uint64_t){x.name} & 15u); /* {said} */"]
        )
    bits = (high - low).bit_length()
    said = f"modulo 2^{bits}"
    if low == 0:
        return e.function("cast", kind, (x,), [f"return ({kind}){x.name}; /* {said} */"])
    wrap = e.file.use("wrap")
    return e.function(
        "cast", kind, (x,), [f"return ({kind}){wrap}({x.name}, {bits}); /* {said} */"]
    )


OPERATORS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {("", "Cast"): cast}
