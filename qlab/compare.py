"""Comparison: two results, code by code, exactly, in quantization steps."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from qlab.arithmetic import to_float, to_float8
from qlab.graph import Graph
from qlab.lowering import along_axis
from qlab.qtypes import DTYPES, Array, bounds, dtype_name, is_float, is_float8, is_integer
from qlab.trace import Index, Trace

INT64 = np.iinfo(np.int64)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Actual against expected, for one output of the graph.

    Attributes:
        expected, actual: labels, ``exact`` and ``onnxruntime 1.32.0 ORT_ENABLE_ALL``.
        output: the graph output compared.
        codes: the tensor whose codes are counted: the output itself, or the one before its final DequantizeLinear.
        unit: ``step`` (quantization steps) or ``ulp`` (units in the last place of that tensor's float type, where
            it holds no integer codes; float8 counts from code to code).
        size: elements compared; -1 where the shapes or types differ (``why`` says how).
        differences: actual - expected (int64), shape of the output.
        mismatches, max_difference (absolute), mean_difference (of absolute, over the mismatches).
        direction: ``above``, ``below``, ``both`` or ``""``: where actual lies.
        first_mismatch: index of the first differing element in row-major order; None where all agree.
        first_differing_step: ``NODE_OUTPUT:step``, such as ``C:sum``; "" where unknown or equal.
        why: one plain sentence; "" where equal.
    """

    expected: str
    actual: str
    output: str
    codes: str
    unit: str
    size: int
    differences: Array
    mismatches: int
    max_difference: int
    mean_difference: float
    direction: str
    first_mismatch: Index | None
    expected_codes: Array
    actual_codes: Array
    first_differing_step: str = ""
    why: str = ""

    @property
    def equal(self) -> bool:
        """True where every element of the output agrees (and shape and type do)."""
        return self.size >= 0 and self.mismatches == 0


@dataclasses.dataclass(frozen=True)
class CodeScale:
    """How the real values of a graph output stand for codes: it ends in DequantizeLinear.

    Attributes:
        tensor: the codes' name. scale (float64 value of the stored float), zero_point (int64): broadcast to it.
    """

    tensor: str
    dtype: str
    scale: Array
    zero_point: Array

    def codes(self, values: Array) -> Array | None:
        """The codes (int64, or float8) that dequantize to exactly these float values; None where there are none."""
        with np.errstate(all="ignore"):
            quotient = values.astype(np.float64) / self.scale.astype(np.float64)
            if is_float8(self.dtype):
                numbers = to_float8(quotient, self.dtype, saturate=False)
                real = numbers.astype(np.float64) * self.scale.astype(np.float64)
                return numbers if self._gives(real, values) else None
            if not np.isfinite(quotient).all():
                return None
            codes = np.rint(quotient).astype(np.int64) + self.zero_point
            product = (codes - self.zero_point) * self.scale.astype(np.float64)
        low, high = bounds(self.dtype)
        fits = bool(((codes >= low) & (codes <= high)).all())
        return codes if fits and self._gives(product, values) else None

    @staticmethod
    def _gives(product: Array, values: Array) -> bool:
        """True where float64 products are these values, rounded once or, as kernels for float16 do, to float32 first."""
        with np.errstate(all="ignore"):
            back = [to_float(v, values.dtype) for v in (product, to_float(product, np.float32))]
        nan = np.isnan(product) & np.isnan(values.astype(np.float64))
        return bool(((back[0] == values) | (back[1] == values) | nan).all())


def code_scale(graph: Graph, output: str, known: Trace) -> CodeScale | None:
    """The scale of a graph output that a DequantizeLinear of 16 bits or less makes; None for any other."""
    node = graph.producer(output)
    if node is None or node.op_type != "DequantizeLinear":
        return None
    tensor = node.inputs[0]
    dtype = dtype_name(known.tensors[tensor].dtype)
    if not (is_integer(dtype) or is_float8(dtype)) or DTYPES[dtype].itemsize > 2:
        return None
    shape = known.tensors[tensor].shape

    def spread(name: str) -> Array:
        attributes = node.attributes
        return along_axis(
            known.tensors[name], attributes.get("axis", 1), shape, attributes.get("block_size", 0)
        )

    has_zero_point = len(node.inputs) > 2 and node.inputs[2]
    zero_point = spread(node.inputs[2]).astype(np.int64) if has_zero_point else np.asarray(0)
    return CodeScale(tensor, dtype, spread(node.inputs[1]), zero_point)


def compare_outputs(
    case_graph: Graph,
    exact: Trace,
    expected: tuple[str, Mapping[str, Array]],
    actual: tuple[str, Mapping[str, Array]],
) -> tuple[Comparison, ...]:
    """One Comparison for each graph output that both have.

    Args:
        exact: the exact trace of the same graph: it knows scales and zero points of the codes.
        expected, actual: label and outputs.
    """
    return tuple(
        _compare(
            code_scale(case_graph, name, exact),
            name,
            (expected[0], expected[1][name]),
            (actual[0], actual[1][name]),
        )
        for name in case_graph.outputs
        if name in expected[1] and name in actual[1]
    )


def _compare(
    scale: CodeScale | None, name: str, expected_of: tuple[str, Array], actual_of: tuple[str, Array]
) -> Comparison:
    (label, expected), (actual_label, actual) = expected_of, actual_of
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        why = (
            f"{actual_label} returned {dtype_name(actual.dtype)} of the shape {list(actual.shape)}, "
            f"{label} has {dtype_name(expected.dtype)} of the shape {list(expected.shape)}"
        )
        nothing = np.zeros((0,), np.int64)
        return Comparison(
            label,
            actual_label,
            name,
            name,
            "step",
            -1,
            nothing,
            0,
            0,
            0.0,
            "",
            None,
            expected,
            actual,
            why=why,
        )
    codes, unit = name, "step"
    want, got = expected, actual
    if is_float(expected.dtype):
        pair = (scale.codes(expected), scale.codes(actual)) if scale else (None, None)
        if scale and pair[0] is not None and pair[1] is not None:
            codes, want, got = scale.tensor, pair[0], pair[1]
    counted = want, got
    if is_float(want.dtype):
        unit, want, got = "ulp", _ordered(want), _ordered(got)
    differences = _subtract(got, want)
    wrong = differences != 0
    count = int(np.count_nonzero(wrong))
    sizes = np.abs(differences[wrong]) if count else np.zeros(1, np.int64)
    below, above = bool((differences < 0).any()), bool((differences > 0).any())
    first = tuple(int(i) for i in np.argwhere(wrong)[0]) if count else None
    return Comparison(
        expected=label,
        actual=actual_label,
        output=name,
        codes=codes,
        unit=unit,
        size=differences.size,
        differences=differences,
        mismatches=count,
        max_difference=int(sizes.max()),
        mean_difference=float(sizes.mean()),
        direction="both" if below and above else "below" if below else "above" if above else "",
        first_mismatch=first,
        expected_codes=counted[0],
        actual_codes=counted[1],
    )


def _ordered(values: Array) -> Array:
    """Floats as integers in the same order, neighbours one apart; -0 is 0, every NaN the same far value."""
    width = 8 * values.dtype.itemsize
    bits = np.ascontiguousarray(values).view(f"int{width}").astype(np.int64).reshape(values.shape)
    ordered = np.where(bits < 0, -(bits & (2 ** (width - 1) - 1)), bits)
    far = min(2**width, INT64.max)
    return np.asarray(np.where(np.isnan(values.astype(np.float64)), far, ordered))


def _subtract(got: Array, want: Array) -> Array:
    """got - want as int64; a difference that does not fit ends at int64's limits."""
    if all(v.dtype.itemsize < 8 or bool((np.abs(v // 2) < 2**61).all()) for v in (got, want)):
        return np.asarray(got.astype(np.int64) - want.astype(np.int64))
    exact = got.astype(object) - want.astype(object)
    return np.asarray(np.clip(exact, INT64.min, INT64.max)).astype(np.int64)


def differing(expected: Array, actual: Array) -> Array:
    """True where two arrays of one dtype and shape do not have the same bits; a NaN equals a NaN."""
    if not is_float(expected.dtype):
        return np.asarray(expected.astype(np.int64) != actual.astype(np.int64))
    bits = np.dtype(f"uint{8 * expected.dtype.itemsize}")
    one, other = (np.ascontiguousarray(v).view(bits).reshape(v.shape) for v in (expected, actual))
    both = np.isnan(expected.astype(np.float64)) & np.isnan(actual.astype(np.float64))
    return np.asarray((one != other) & ~both)
