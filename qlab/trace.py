"""Trace: every step of a computation, node by node. The trace is the computation.

An operator yields `Step`s; a step that names a tensor finishes that tensor. `trace` walks a graph with one scheme.
"""

import dataclasses
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from qlab.arithmetic import refuse_long, to_float
from qlab.errors import TraceError
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES, Array, dtype_name, is_float, is_float8
from qlab.reals import Reals

if TYPE_CHECKING:
    from qlab.schemes import Scheme

Number = int | float | Fraction | np.generic
Index = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Taps:
    """The products of one accumulator, in the order in which they are added. All arrays have length K.

    Attributes:
        positions: where each product comes from, ``("c", "kh", "kw")`` style tuples named by ``axes``.
        axes: names of the position's entries, ``("k",)`` for a matrix product.
        a, b: raw codes (int64); ``a_zero_point``, ``b_zero_point`` int64 of the same length.
        products: what is added for each (int64): raw ``a*b`` where the zero points come afterwards
            (ort_cpu), else ``(a - a_zero_point)*(b - b_zero_point)``.
        running: sum so far, after saturation (int64; float or Fraction for real-valued products).
        lost: what saturation took away at this tap (int64, 0 nearly everywhere; at the second of a pair).
    """

    axes: tuple[str, ...]
    positions: tuple[Index, ...]
    a: Array
    b: Array
    a_zero_point: Array
    b_zero_point: Array
    products: Array
    running: Array
    lost: Array


@dataclasses.dataclass(frozen=True)
class Step:
    """One named intermediate value of a node.

    Attributes:
        name: the field's term: ``accumulator``, ``multiplier``, ``scaled``, ``rounded``, ``biased``, ``output`` …
        formula: plain text in schema names, ``f32(A_scale / C_scale)``; views typeset it.
        value: the value for all elements; its shape broadcasts to the tensor's, or it is a parameter (shape ()).
            int64 or code dtype, float32, float64, or objects (Fraction; float for NaN and infinities).
        tensor: the tensor that this step finishes; empty for an intermediate.
        note: why, a quirk or its source.
        taps: for an accumulator: index into the tensor → its `Taps`.
        decides: True where this value is rounded to a code next: two of them part where they round differently.
        format: the float8 type that a deciding value is rounded to; "" for integers.
    """

    name: str
    formula: str
    value: Array
    tensor: str = ""
    note: str = ""
    taps: Callable[[Index], Taps] | None = None
    decides: bool = False
    dtype: str = (
        ""  # ONNX dtype of a finished real tensor; "" is float32. Codes carry their own dtype.
    )
    format: str = ""


def whole_step(name: str, formula: str, value: Array, rank: int, note: str = "") -> Step:
    """A step of a parameter as a whole, whose tensor has ``rank`` axes.

    It gets one axis more than the tensor, so that none of its entries is taken for that of one element.
    """
    shape = (1,) * (rank + 1 - value.ndim) + value.shape
    return Step(name, formula, value.reshape(shape), note=note)


@dataclasses.dataclass(frozen=True)
class ElementStep:
    """A step seen at one element of the tensor: ``value`` is a single number."""

    name: str
    formula: str
    value: Number
    dtype: str  # int8, float32, float64, exact …: how exact the number is
    note: str = ""
    taps: Taps | None = None
    decides: bool = False
    format: str = ""


@dataclasses.dataclass(frozen=True)
class NodeTrace:
    """The steps of one node; ``opaque`` where the ONNX reference evaluator computed it in one step."""

    node: Node
    steps: tuple[Step, ...]
    opaque: bool = False


@dataclasses.dataclass(frozen=True)
class Trace:
    """A whole graph computed with one scheme.

    Attributes:
        scheme: ``exact``, ``float64``, ``float32`` or ``ort_cpu``; ``cpu`` is ort_cpu's parameter, else "".
        tensors: every tensor by name, in the scheme's numbers (objects for exact reals).
        outputs: the graph's outputs, in their ONNX dtype (a real rounded to float32 once).
    """

    scheme: str
    cpu: str
    nodes: tuple[NodeTrace, ...]
    tensors: Mapping[str, Array]
    outputs: Mapping[str, Array]

    def node_of(self, tensor: str) -> NodeTrace | None:
        """The node that makes ``tensor``; None for a constant or an input."""
        return next((n for n in self.nodes if tensor in n.node.outputs), None)

    def element(self, tensor: str, index: Index) -> tuple[ElementStep, ...]:
        """The steps of the node that makes ``tensor``, at one element.

        Steps that finish another output of the same node are left out. Raises TraceError where there is no such
        tensor or element.
        """
        made = self.node_of(tensor)
        if made is None:
            raise TraceError(
                f"{tensor!r} is not computed by a node; computed are {self._computed()}"
            )
        shape = self.tensors[tensor].shape
        if len(index) != len(shape) or any(
            not 0 <= i < n for i, n in zip(index, shape, strict=True)
        ):
            raise TraceError(
                f"{tensor}{list(index)} does not exist: {tensor} has the shape {list(shape)}"
            )
        return tuple(
            element_step(step, shape, index)
            for step in made.steps
            if step.tensor in ("", tensor) and broadcasts(step.value.shape, shape)
        )

    def _computed(self) -> str:
        return ", ".join(name for n in self.nodes for name in n.node.outputs if name)


def broadcasts(shape: Index, to: Index) -> bool:
    """True where a value of ``shape`` has one entry for each element of a tensor of shape ``to``."""
    return len(shape) <= len(to) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(to), strict=False)
    )


def pick(value: Array, shape: Index, index: Index) -> Number:
    """The entry of ``value``, which broadcasts to ``shape``, at ``index``."""
    if isinstance(value, Reals):
        return value.at(index, shape)
    number: Number = np.broadcast_to(value, shape)[index]
    return number


def element_step(step: Step, shape: Index, index: Index) -> ElementStep:
    """One step at one element of a tensor of shape ``shape``."""
    dtype = "exact" if step.value.dtype == object else dtype_name(step.value.dtype)
    with np.errstate(all="ignore"):
        taps = step.taps(index) if step.taps else None
    return ElementStep(
        step.name,
        step.formula,
        pick(step.value, shape, index),
        dtype,
        step.note,
        taps,
        step.decides,
        step.format,
    )


def trace(graph: Graph, inputs: Mapping[str, Array], scheme: "Scheme") -> Trace:
    """Compute a graph with one scheme, keeping every step.

    Args:
        inputs: one array for each graph input, in its ONNX dtype.

    Raises:
        TraceError: an operator has no arithmetic in this scheme, or shapes or types do not fit; one line with the node.
    """
    from qlab.ops import Call, operator_for

    tensors: dict[str, Array] = {**graph.constants, **inputs}
    dtypes: dict[str, str] = {name: dtype_name(value.dtype) for name, value in tensors.items()}
    for name, dtype in dtypes.items():
        if dtype not in DTYPES:
            raise TraceError(f"{name} is of {dtype}, which is no number; only numbers are traced")
    traced: list[NodeTrace] = []
    for node in graph.nodes:
        operator = operator_for(node, scheme)
        call = Call(node, operator, graph, tensors, dtypes, scheme)
        try:
            call.check()
            with np.errstate(all="ignore"):
                steps = tuple(operator.steps(call, scheme))
            for step in steps:
                if step.tensor and step.value.dtype == object:
                    refuse_long(step.value)
        except TraceError as error:
            raise TraceError(
                f"{node.qualified_name} ({', '.join(node.outputs)}): {error}"
            ) from error
        except (
            ArithmeticError,
            AssertionError,
            AttributeError,
            LookupError,
            MemoryError,
            TypeError,
            ValueError,
        ) as error:
            # numpy's words for shapes that do not fit: a case may hold any, and one line must say which node.
            line = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise TraceError(
                f"{node.qualified_name} ({', '.join(node.outputs)}): {line}"
            ) from error
        for step in steps:
            if step.tensor:
                tensors[step.tensor] = step.value
                own = "" if step.value.dtype == object else dtype_name(step.value.dtype)
                codes = own and (is_float8(own) or not is_float(own))
                dtypes[step.tensor] = own if codes else step.dtype or "float32"
        traced.append(NodeTrace(node, steps, operator.opaque))
    outputs = {}
    for name in graph.outputs:
        if name not in tensors:
            raise TraceError(f"the graph output {name!r} is made by no node")
        real = tensors[name].dtype == object or is_float(tensors[name].dtype)
        outputs[name] = to_float(tensors[name], dtypes[name]) if real else tensors[name]
    return Trace(scheme.name, scheme.cpu, tuple(traced), tensors, outputs)
