"""Where: X where the condition holds, else Y."""

from collections.abc import Callable

import numpy as np

from qlab.c.emission import Emission, Function
from qlab.c.indexing import broadcast
from qlab.c.moving import narrowed
from qlab.c.recorder import Primitive
from qlab.kernels.qlinearadd import first_is_scalar


def select(e: Emission, p: Primitive) -> Function:
    """X where the condition holds, else Y."""
    return _select(e, "X", "Y")


def ort_cpu_select(e: Emission, p: Primitive) -> Function:
    """One side loses the sign of its zeros: both are chosen apart, then one is taken where it is not 0."""
    shapes = [np.broadcast_shapes(p["condition"].shape, p[side].shape) for side in ("x", "y")]
    y_is_scalar = first_is_scalar(shapes[1], shapes[0]) and not first_is_scalar(*shapes)
    if e.kind(e.tensor("X")) not in ("float", "double"):
        return _select(e, "X", "Y")
    said = "-0.0 becomes 0.0, nothing else changes"
    return _select(e, *(("X", "Y + 0.0f") if y_is_scalar else ("X + 0.0f", "Y")), said)


def _select(e: Emission, x: str, y: str, said: str = "X where condition, else Y") -> Function:
    operands = [e.data(name) for name in ("condition", "X", "Y")]
    kinds = {o.kind for o in operands[1:]}
    kind = kinds.pop() if len(kinds) == 1 else e.file.real
    return e.function("select", kind, operands, [f"return condition ? {x} : {y}; /* {said} */"])


def where(e: Emission) -> list[str]:
    """Where, with broadcasting."""
    function = e.emit("select")
    out = e.output(name="output")

    def chosen(*given: str) -> str:
        return narrowed(out, function.kind, f"{function.name}({', '.join(given)})")

    return broadcast(e.file, out, function.operands, chosen)


OPERATORS: dict[tuple[str, str], Callable[[Emission], list[str]]] = {("", "Where"): where}
DATA = {"Where": ("condition", "X", "Y")}
