"""Pools as C: loops over windows and their taps, and the operators; what becomes of a window is the scheme's."""

import dataclasses
import math
from collections.abc import Callable, Sequence

from qlab.c.emission import Emission, Function, Operand, line, loops, position
from qlab.c.recorder import Primitive
from qlab.c.text import plain
from qlab.errors import ExportError
from qlab.schemes import Pool
from qlab.trace import Index


@dataclasses.dataclass(frozen=True)
class Windows:
    """The windows of one node, as C.

    Attributes:
        pool: the recorded windows. x: what they slide over. last: X is (N, spatial…, C), else (N, C, spatial…).
        count: the elements of a window that its mean is over: a number where all windows have the same, None where
            they are counted. words: what they are.
    """

    pool: Pool
    x: Operand
    last: bool
    count: int | None = None
    words: str = ""

    @property
    def axes(self) -> range:
        """Numbers of the spatial axes."""
        return range(len(self.pool.geometry.kernel))

    @property
    def shape(self) -> Index:
        """Of the result."""
        n, c = self.pool.shape[:2]
        output = self.pool.geometry.output
        return (n, *output, c) if self.pool.channels_last else (n, c, *output)

    @property
    def variables(self) -> list[str]:
        """Loop variables of the result: n, c, o0, o1, …; "0" where an axis has one entry."""
        n, c = self._image
        spatial = [_variable("o", i, size) for i, size in enumerate(self.pool.geometry.output)]
        return [n, *spatial, c] if self.pool.channels_last else [n, c, *spatial]

    @property
    def inside(self) -> str:
        """The condition under which a tap is an element of X; "" where all are."""
        conditions = []
        for i, size in enumerate(self.pool.shape[2:]):
            place = self.place(i)
            conditions += [f"{place} >= 0"] if self.pool.geometry.begins[i] else []
            conditions += [f"{place} < {size}"] if self._last(i) >= size else []
        return " && ".join(conditions)

    @property
    def element(self) -> str:
        """The element of X at a tap."""
        signed = self.pool.geometry.begins
        spatial = [f"(size_t){self.place(i)}" if signed[i] else self.place(i) for i in self.axes]
        n, c = self._image
        order = [n, *spatial, c] if self.last else [n, c, *spatial]
        return f"{self.x.array}[{position(self.x.shape, (), order)}]"

    @property
    def size(self) -> int:
        """Elements of the image."""
        return math.prod(self.pool.shape[2:])

    def element_of_image(self, place: str) -> str:
        """The element of X at a flat place in the image."""
        (n, channels), (batch, c) = self.pool.shape[:2], self._image
        shape = (n, self.size, channels) if self.last else (n, channels, self.size)
        order = (batch, place, c) if self.last else (batch, c, place)
        return f"{self.x.array}[{position(shape, (), order)}]"

    def loop(self, axes: Sequence[int], body: Sequence[str]) -> list[str]:
        """``body`` for each place of the kernel along ``axes``, p0, p1, … being where that is in X."""
        lines = list(body)
        for i in reversed(axes):
            if self.place(i) == f"p{i}":
                kind = "int64_t" if self.pool.geometry.begins[i] else "size_t"
                lines.insert(0, line(kind, f"p{i}", self._expression(i)))
            lines = loops((self.pool.geometry.kernel[i],), (self._tap(i),), lines, 0)
        return lines

    def start(self) -> list[str]:
        """The count before the taps: the number itself, or 0 where they are counted."""
        if self.count is None:
            return [f"int32_t count = 0; /* {self.words} */"]
        return [line("int32_t", "count", str(self.count), self.words)]

    def counted(self) -> list[str]:
        """What a tap adds to the count, whether it is inside of X or not."""
        if self.count is not None:
            return []
        if not self.pool.include_pad:
            return [f"count += {self.inside};"]
        ends = [n + e for n, e in zip(self.pool.shape[2:], self.pool.geometry.ends, strict=True)]
        within = [f"{self.place(i)} < {end}" for i, end in enumerate(ends) if self._last(i) >= end]
        return [f"count += {' && '.join(within)};"]

    def where_inside(self, body: Sequence[str]) -> list[str]:
        """``body`` where a tap is an element of X; those count, too."""
        within = self.count is None and not self.pool.include_pad
        body = [*body, "count++;"] if within else list(body)
        if self.inside:
            body = [f"if ({self.inside}) {{", *(f"    {item}" for item in body), "}"]
        return body if within else [*self.counted(), *body]

    @property
    def _image(self) -> tuple[str, str]:
        n, c = self.pool.shape[:2]
        return ("n" if n > 1 else "0"), ("c" if c > 1 else "0")

    def _tap(self, axis: int) -> str:
        return _variable("k", axis, self.pool.geometry.kernel[axis])

    def _last(self, axis: int) -> int:
        """Where the last tap of the last window is."""
        g = self.pool.geometry
        window = (g.output[axis] - 1) * g.strides[axis] - g.begins[axis]
        return window + (g.kernel[axis] - 1) * g.dilations[axis]

    def _expression(self, axis: int) -> str:
        g = self.pool.geometry
        begin = g.begins[axis]
        terms = [
            ("(int64_t)" if begin else "") + variable + (f" * {step}" if step > 1 else "")
            for variable, step in (
                (_variable("o", axis, g.output[axis]), g.strides[axis]),
                (self._tap(axis), g.dilations[axis]),
            )
            if variable != "0"
        ]
        return (" + ".join(terms) or "0") + (f" - {begin}" if begin else "")

    def place(self, axis: int) -> str:
        """Where a tap is in X, along one axis: a variable of its own unless that says no more."""
        expression = self._expression(axis)
        return expression if expression.isalnum() else f"p{axis}"


def _variable(letter: str, axis: int, size: int) -> str:
    return f"{letter}{axis}" if size > 1 else "0"


def windows(e: Emission, p: Primitive) -> Windows:
    """The windows of a recorded pool."""
    x = e.data(e.operator.inputs[0])
    last = bool(e.node.attributes.get("channels_last", 0)) or e.node.op_type == "NhwcMaxPool"
    step = p.find("count")
    if step is None:
        return Windows(p["pool"], x, last, 0)
    low, high = int(step.value.min()), int(step.value.max())
    return Windows(p["pool"], x, last, low if low == high else None, step.formula)


def of_reals(primitive: str) -> Callable[[Emission], list[str]]:
    """A pool that is a primitive over each window: the scheme writes the lines and names their result."""

    def write(e: Emission) -> list[str]:
        w = windows(e, e.primitive(primitive))
        lines, value = e.emit(primitive, w)
        return stored(e, w, lines, value)

    return write


def of_codes(e: Emission) -> list[str]:
    """QLinearAveragePool and QLinearGlobalAveragePool: the sum of each window, and the scheme's mean.

    The emitter ``mean`` makes a function of ``count`` (int32_t) and of ``sum`` (int64_t), which is Σ (x - x_zero_point);
    one of ``real_sum`` (float) gets the sum of what the emitter ``real_of_code`` makes of each code.
    """
    p = e.primitive("quantized_average_pool")
    emitters = e.file.family.emitters
    if "mean" not in emitters:
        raise ExportError(
            f"{e.file.scheme.name} has no C for the mean of codes, which {e.node.op_type} needs: take another scheme"
        )
    w = windows(e, p)
    mean: Function = emitters["mean"](e, p)
    shape, variables = w.shape, w.variables
    if any(o.name == "real_sum" for o in mean.operands):
        real: Function = emitters["real_of_code"](e, p)
        start = f"float real_sum = 0.0f; /* {plain(p.step('real_sum').formula)} */"
        tap = f"real_sum += {real.call(shape, variables, x=w.element)};"
    else:
        q = p["x"]
        zero, zeros = e.parameter(q.zero_point_name, q.zero_point, "int32_t")
        zero = zeros[0].at(shape, variables) if zeros else zero
        start = "int64_t sum = 0; /* sum of X - x_zero_point */"
        tap = f"sum += (int64_t){w.element} - {zero};"
    lines = [start, *w.start(), *w.loop(w.axes, w.where_inside([tap]))]
    value = mean.call(shape, variables, sum="sum", real_sum="real_sum", count="count")
    return stored(e, w, lines, value)


def stored(e: Emission, w: Windows, lines: Sequence[str], value: str) -> list[str]:
    """Loops over the result: ``lines`` for each element, then ``value`` as the element."""
    out = e.output(name="y" if e.node.op_type == "NhwcMaxPool" else "Y")
    place = position(w.shape, w.shape, w.variables)
    cast = "(float)" if out.kind == "float" and e.file.real == "double" else ""
    return loops(w.shape, w.variables, [*lines, f"{out.array}[{place}] = {cast}{value};"])


OPERATORS = {
    ("", "MaxPool"): of_reals("max_pool"),
    ("com.microsoft", "NhwcMaxPool"): of_reals("max_pool"),
    ("", "AveragePool"): of_reals("average_pool"),
    ("", "GlobalAveragePool"): of_reals("average_pool"),
    ("com.microsoft", "QLinearAveragePool"): of_codes,
    ("com.microsoft", "QLinearGlobalAveragePool"): of_codes,
}
