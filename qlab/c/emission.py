"""What is written of one file, and of one node in it: constants, functions on single elements, loops around them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from qlab.c import text, wholes
from qlab.c.helpers import HELPERS
from qlab.c.recorder import Primitive
from qlab.errors import ExportError
from qlab.graph import Graph, Node
from qlab.ops import Operator
from qlab.qtypes import Array, dtype_name, is_float
from qlab.schemes import Scheme
from qlab.trace import Index, Trace

LARGEST = 100_000  # elements of all arrays of a file: about 600 kB


@dataclasses.dataclass(frozen=True)
class Family:
    """How the schemes of one name are written in C.

    Attributes:
        real: the C type of a real number between two nodes.
        emitters: primitive → what writes it: a function on single elements; of sums an `Accumulation`.
        between: the type of a real that a node made and another reads; "" where that is ``real`` too.
        keeps_reals: reals between nodes have that type; else they have none in C.
    """

    real: str
    emitters: Mapping[str, Callable[..., Any]]
    keeps_reals: bool = True
    between: str = ""


class File:
    """A C file being written: definitions in the order in which they are needed, and the helpers that they use."""

    def __init__(self, scheme: Scheme, family: "Family") -> None:
        self.names = text.Names(
            [
                *HELPERS,
                "LIMBS",
                "whole",
                "nothing",
                "compare",
                "compare_int64",
                "compared",
                "differ",
            ]
        )
        self.scheme = scheme
        self.family = family
        self.limbs = 1  # of the whole numbers of exact arithmetic
        self.big: list[tuple[str, tuple[int, ...]]] = []  # their names and values
        self.whole = False  # reals between nodes are rational numbers: of exact arithmetic
        self.given: frozenset[str] = frozenset()  # floats of the graph's inputs that become such
        self.rationals: dict[str, wholes.Rational] = {}  # such tensors
        self.whole_arrays: set[str] = set()  # of the names in ``big`` those whose type is ``whole``
        self.helpers: set[str] = set()
        self.definitions: list[str] = []
        self._elements = 0

    @property
    def real(self) -> str:
        """The C type of a real number between two nodes."""
        return self.family.between if self.whole else self.family.real

    def use(self, helper: str) -> str:
        """A helper by its name, which it returns; those that it calls come along."""
        for needed in HELPERS[helper].needs:
            self.use(needed)
        self.helpers.add(helper)
        return helper

    def count(self, *arrays: Array) -> None:
        """Raises ExportError where the file becomes too long to be read."""
        self._elements += sum(a.size for a in arrays)
        if self._elements > LARGEST:
            raise ExportError(
                f"the arrays of the C file have {self._elements:,} elements; at most {LARGEST:,} are written: "
                "make the tensors smaller"
            )

    def array(self, wanted: str, values: Array, kind: str) -> str:
        """Define a constant array; its name."""
        self.count(values)
        name = self.names.new(wanted)
        self.definitions.append(text.array(name, values, kind))
        return name

    def whole_array(self, tensor: str, values: Array, kind: str = "whole") -> str:
        """Define a constant array of rational numbers, those of a tensor; its name."""
        numerators, self.rationals[tensor] = wholes.common(wholes.fractions(tensor, values))
        self.need(self.rationals[tensor])
        name = self.names.new(f"t_{tensor}")  # a stranger's name may be a macro's
        self.count(values)
        self.big.append((name, tuple(numerators)))
        self.whole_arrays.add(name)
        return name

    def need(self, number: wholes.Rational) -> None:
        """Make the whole numbers long enough. Raises ExportError where they would be too long to compute with."""
        self.limbs = max(self.limbs, number.limbs)
        if self.limbs > wholes.MOST_LIMBS:
            raise ExportError(
                f"exact numbers of {32 * self.limbs:,} bits would be needed; at most {32 * wholes.MOST_LIMBS:,} are "
                "written in C: take float64, or fewer nodes without QuantizeLinear between them"
            )

    def scalar(self, wanted: str, value: Array, kind: str) -> str:
        """Define a constant; its name."""
        name = self.names.new(wanted)
        self.definitions.append(text.scalar(name, value, kind))
        return name


@dataclasses.dataclass(frozen=True)
class Operand:
    """A value that differs from element to element: the C array it is read from, its shape, the scalar's name."""

    kind: str
    name: str
    array: str
    shape: Index

    def at(self, shape: Index, variables: Sequence[str]) -> str:
        """The entry for one element of a tensor of ``shape``, whose indices are ``variables``.

        Without an array it is a variable of the node's function that has the scalar's name.
        """
        if not self.array:
            return self.name
        return f"{self.array}[{position(self.shape, shape, variables)}]"


@dataclasses.dataclass(frozen=True)
class Function:
    """A C function on single elements. ``operands`` are its parameters, in order."""

    name: str
    kind: str
    operands: tuple[Operand, ...]

    def call(self, shape: Index, variables: Sequence[str], **given: str) -> str:
        """The call for one element; ``given`` are expressions of operands that are read from no array."""
        arguments = (given.get(o.name) or o.at(shape, variables) for o in self.operands)
        return f"{self.name}({', '.join(arguments)})"


@dataclasses.dataclass
class Emission:
    """One node being written.

    Attributes:
        pointers: arrays that are parameters of the node's function: schema's name → (C type, tensor).
        outputs: those that it writes. functions: on single elements, as they were defined.
        arrays: constant arrays of the file, by the schema's name. scalars: constants, by it and the C type.
        formats: the operator is written for float16, bfloat16 and float8 too, as their bits.
    """

    file: File
    graph: Graph
    node: Node
    operator: Operator
    primitives: tuple[Primitive, ...]
    trace: Trace
    pointers: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    outputs: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    functions: list[Function] = dataclasses.field(default_factory=list)
    arrays: dict[str, str] = dataclasses.field(default_factory=dict)
    scalars: dict[tuple[str, str], str] = dataclasses.field(default_factory=dict)
    formats: bool = False

    def over(self, scale: str) -> str:
        """``/ y_scale``, or ``* (1 / y_scale)`` where the scheme takes the reciprocal."""
        reciprocal = getattr(self.file.scheme, "reciprocal", False)
        return f"* (1 / {scale})" if reciprocal else f"/ {scale}"

    def primitive(self, name: str) -> Primitive:
        """The node's call of a primitive. Raises ExportError where there is none."""
        for found in self.primitives:
            if found.name == name:
                return found
        raise ExportError(f"{self.node.qualified_name} calls no {name}, which its C is made of")

    def has(self, name: str) -> bool:
        """True where the node called a primitive."""
        return any(p.name == name for p in self.primitives)

    def emit(self, name: str, *given: Any) -> Any:
        """What the scheme's emitter makes of a primitive. Raises ExportError where it has none."""
        emitters = self.file.family.emitters
        if name not in emitters:
            raise ExportError(
                f"{self.file.scheme.name} has no C for {name}, which {self.node.op_type} needs; "
                f"it has {', '.join(sorted(emitters))}: take another scheme"
            )
        return emitters[name](self, self.primitive(name), *given)

    def shape(self, output: int = 0) -> Index:
        """The shape of an output."""
        return self.trace.tensors[self.node.outputs[output]].shape

    def output(self, position: int = 0, name: str = "") -> Operand:
        """An output, as a parameter of the node's function; "" as its array where it is absent."""
        tensor = self.node.outputs[position] if position < len(self.node.outputs) else ""
        targets = (p["target"].name for p in self.primitives if "target" in p.arguments)
        name = name or next(targets, "Y" if set(self.pointers) & {"A", "X"} else "y")
        if not tensor:
            return Operand("", name, "", ())
        kind = self.kind(tensor)
        self.outputs[name] = (kind, tensor)
        return Operand(kind, name, name, self.trace.tensors[tensor].shape)

    def tensor(self, name: str) -> str:
        """The graph's name of an input by the schema's; "" where it is absent."""
        names = self.operator.names(len(self.node.inputs))
        return self.node.input(names.index(name)) if name in names else ""

    def data(self, name: str, scalar: str = "") -> Operand:
        """An input that is data: a constant array of the file, or a parameter of the node's function."""
        tensor = self.tensor(name)
        value = self.trace.tensors[tensor]
        kind = self.kind(tensor)
        if tensor in self.graph.constants:
            if name not in self.arrays:
                write = self.file.whole_array if kind == "whole" else self.file.array
                self.arrays[name] = write(tensor if kind == "whole" else name, value, kind)
            return Operand(kind, scalar or name, self.arrays[name], value.shape)
        self.pointers[name] = (kind, tensor)
        return Operand(kind, scalar or name, name, value.shape)

    def kind(self, tensor: str) -> str:
        """The C type of a tensor: reals that a node made and another reads are the scheme's numbers."""
        value = self.trace.tensors[tensor]
        made = self.graph.producer(tensor) is not None
        real = value.dtype == object or is_float(value.dtype)
        constant = tensor in self.graph.constants or tensor in self.file.given
        known = self.graph.consumers(tensor) if made else constant
        if self.formats and value.dtype != object and dtype_name(value.dtype) in text.BITS:
            return text.ctype(value.dtype)
        if self.file.whole and real and known:
            return "whole"
        if made and real:
            dtype = dtype_name(self.dtype(tensor))
            if dtype != "float32" and self.formats:
                return self.file.real if self.graph.consumers(tensor) else text.ctype(dtype)
            if dtype != "float32":
                raise ExportError(
                    f"{tensor!r} is {self.dtype(tensor)}; of reals only float32 is written in C"
                )
            return self.file.real if self.graph.consumers(tensor) else "float"
        if is_float(value.dtype) and value.dtype != np.float32:
            raise ExportError(
                f"{tensor!r} is {dtype_name(value.dtype)}; of reals only float32 is written in C"
            )
        return text.ctype(value.dtype)

    def dtype(self, tensor: str) -> str:
        """The ONNX dtype of a real tensor that a node finished."""
        steps = (s for n in self.trace.nodes for s in n.steps if s.tensor == tensor)
        return next((s.dtype for s in steps if s.dtype), "float32")

    def parameter(self, name: str, value: Array, kind: str) -> tuple[str, tuple[Operand, ...]]:
        """A scale or zero point: its expression in a function on single elements, and the operand if it needs one.

        One for the whole tensor is a constant of the file; others are read from a constant array or, where a node
        computes them, from a parameter of the node's function.
        """
        tensor = self.tensor(name)
        if tensor and self.graph.producer(tensor) is not None:
            stored = self.kind(tensor)
            self.pointers[name] = (stored, tensor)
            return name, (Operand(kind, name, name, value.shape),)
        if value.dtype != object and dtype_name(value.dtype) in text.BITS:
            value = value.astype(np.float32)  # float16 and bfloat16 without loss
        if value.size == 1:
            if (name, kind) not in self.scalars:
                self.scalars[name, kind] = self.file.scalar(name, value, kind)
            return self.scalars[name, kind], ()
        array = self.file.array(f"{name}s", value, kind)
        return name, (Operand(kind, name, array, value.shape),)

    def function(
        self, wanted: str, kind: str, operands: Sequence[Operand], lines: Sequence[str]
    ) -> Function:
        """Define a function on single elements."""
        name = self.file.names.new(wanted)
        parameters = ", ".join(f"{o.kind} {o.name}" for o in operands) or "void"
        body = "\n".join(f"    {line}" for line in lines)
        self.file.definitions.append(f"static {kind} {name}({parameters})\n{{\n{body}\n}}")
        self.functions.append(Function(name, kind, tuple(operands)))
        return self.functions[-1]


def line(kind: str, name: str, expression: str, formula: str = "") -> str:
    """One step: its value as a constant, its formula beside it where that says more."""
    said = text.plain(formula)
    beside = f" /* {said} */" if said and said != expression else ""
    return f"const {kind} {name} = {expression};{beside}"


def position(own: Index, shape: Index, variables: Sequence[str]) -> str:
    """The flat index into an array of shape ``own`` that broadcasts to ``shape``, at the indices ``variables``."""
    terms, stride = [], 1
    for size, variable in zip(reversed(own), list(reversed(variables))[: len(own)], strict=True):
        if size > 1 and variable != "0":
            terms.append(variable if stride == 1 else f"{variable} * {stride}")
        stride *= size
    return " + ".join(reversed(terms)) or "0"


def loops(
    shape: Index, variables: Sequence[str], body: Sequence[str], indent: int = 1
) -> list[str]:
    """``body`` for every element of a tensor of ``shape``; an axis of one entry needs no loop."""
    lines, depth = [], indent
    for size, variable in zip(shape, variables, strict=True):
        if variable != "0":
            lines.append(
                f"{'    ' * depth}for (size_t {variable} = 0; {variable} < {size}; {variable}++) {{"
            )
            depth += 1
    lines += [f"{'    ' * depth}{item}" for item in body]
    while depth > indent:
        depth -= 1
        lines.append(f"{'    ' * depth}}}")
    return lines


def indices(shape: Index, letters: str = "i") -> list[str]:
    """A loop variable for each axis; "0" where it has one entry."""
    return ["0" if n == 1 else f"{letters}{axis}" for axis, n in enumerate(shape)]
