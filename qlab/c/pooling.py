"""What becomes of a window, as C: in the specification, and in exact arithmetic."""

from qlab.c import exact
from qlab.c.emission import Emission, line
from qlab.c.exact_reals import FLOAT_BITS
from qlab.c.exact_texts import UNIT
from qlab.c.pools import Windows
from qlab.c.recorder import Primitive
from qlab.qtypes import bounds, dtype_name, is_integer

COUNT_BITS = 40  # of a window's elements, and a sign
Result = tuple[list[str], str]
"""Lines that compute one element, and what they name it."""


def average_pool(e: Emission, p: Primitive, w: Windows) -> Result:
    """Σ X / count in float32 or float64; padding is 0."""
    real = e.file.real
    zero = "0.0f" if real == "float" else "0.0"
    x = f"{w.inside} ? ({real}){w.element} : {zero}" if w.inside else f"({real}){w.element}"
    tap = [line(real, "x_k", x, "padding is 0" if w.inside else ""), "sum += x_k;", *w.counted()]
    lines = [
        f"{real} sum = -{zero}; /* sum of X; -0.0 + x is x, of either zero too */",
        *w.start(),
        *w.loop(w.axes, tap),
        line(real, "mean", f"sum / ({real})count"),
    ]
    return lines, "mean"


def exact_average_pool(e: Emission, p: Primitive, w: Windows) -> Result:
    """Σ X / count as a whole number of 2^-172 over a count, rounded to float32 once."""
    e.file.limbs = max(e.file.limbs, (UNIT + FLOAT_BITS + COUNT_BITS) // 32 + 1)
    one, divide = exact.big(e, "one", [1], (), []), e.file.use("add_product")
    tap = [
        line("float", "x_k", w.element),
        "if (x_k - x_k != 0.0f) {",
        "    special += x_k;",
        "} else {",
        f"    {e.file.use('add_real')}(sum, {one}, x_k, 1);",
        "}",
    ]
    lines = [
        "uint32_t sum[LIMBS] = {0}; /* sum of X in steps of 2^-172 */",
        "float special = 0.0f; /* of NaN and infinities, which the sum has no number for */",
        *w.start(),
        *w.loop(w.axes, w.where_inside(tap)),
        "uint32_t divisor[LIMBS] = {0};",
        f"{divide}(divisor, {one}, count);",
    ]
    mean = f"count == 0 ? NAN : {e.file.use('rounded_real')}(sum, divisor)"
    return lines, f"special != 0.0f ? special : {mean}"


def max_pool(e: Emission, p: Primitive, w: Windows) -> Result:
    """The largest of a window; NaN where there is one."""
    if is_integer(p["x"].dtype):
        return largest_code(p, w)
    kind = w.x.kind
    tap = ["if (x_k > maximum || x_k != x_k) {", "    maximum = x_k; /* NaN stays, too */", "}"]
    lines = [
        f"{kind} maximum = -INFINITY;",
        *w.loop(w.axes, w.where_inside([line(kind, "x_k", w.element), *tap])),
    ]
    return lines, "maximum"


def largest_code(p: Primitive, w: Windows) -> Result:
    """The largest code of a window; the lowest one where the window has none."""
    kind = w.x.kind
    low = bounds(dtype_name(p["x"].dtype))[0]
    tap = [line(kind, "x_k", w.element), "maximum = x_k > maximum ? x_k : maximum;"]
    lines = [f"{kind} maximum = {low};", *w.loop(w.axes, w.where_inside(tap))]
    return lines, "maximum"
