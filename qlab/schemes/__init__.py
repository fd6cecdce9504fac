"""Schemes: one arithmetic each, one file each, discovered. A scheme's primitives are generators of steps."""

import difflib
import functools
import importlib
import sys
from typing import Protocol, runtime_checkable

from qlab.errors import TraceError
from qlab.functions import Function
from qlab.interpolation import Resampling
from qlab.lowering import Rows
from qlab.operands import Affine, BlockedWeights, Contraction, Pool, Product, Quantized, Target
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.registry import discover

__all__ = [
    "Affine",
    "BlockedWeights",
    "Contraction",
    "Pool",
    "Product",
    "Quantized",
    "Scheme",
    "Target",
]

SHOWN = 6  # labels in a message


@runtime_checkable
class Scheme(Protocol):
    """The primitives that operators are made of.

    Each yields its steps and returns the last value. A primitive that is given a `Target` finishes its tensor.
    """

    @property
    def name(self) -> str:
        """``exact``, ``ort_cpu``, ``tflite`` …: the name of its file."""

    @property
    def cpu(self) -> str:
        """The CPU class of ort_cpu; "" where it does not matter."""

    @property
    def source(self) -> str:
        """A specification version, or repository paths with the release."""

    def real(self, values: Array) -> Array:
        """A stored array as the scheme's real numbers."""

    def quantize(self, x: Array, target: Target) -> Steps:
        """Real x → codes."""

    def dequantize(self, q: Quantized, tensor: str, dtype: str) -> Steps:
        """Codes → real numbers of ``dtype``."""

    def dynamic_quantize(self, x: Array, tensors: tuple[str, str, str]) -> Steps:
        """Real x → uint8 codes, scale and zero point chosen from x's range."""

    def accumulate(self, contraction: Contraction) -> Steps:
        """Codes → int64 sums of products of the codes minus their zero points."""

    def requantize(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], target: Target
    ) -> Steps:
        """Integer sums times the scales, over the target's scale, → codes."""

    def rescale(
        self, accumulator: Array, scales: tuple[tuple[str, Array], ...], tensor: str
    ) -> Steps:
        """Integer sums times the scales → reals; finishes ``tensor`` where it is not empty."""

    def rescale_with_bias(
        self,
        accumulator: Array,
        scales: tuple[tuple[str, Array], ...],
        bias: Array | None,
        tensor: str,
        *,
        separate: bool = False,
    ) -> Steps:
        """Integer sums times the scales, plus a bias of reals → reals; finishes ``tensor``.

        ``separate``: ONNX Runtime's matrix product does not take the last scale, which is multiplied afterwards.
        """

    def add(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """QLinearAdd."""

    def multiply(self, a: Quantized, b: Quantized, target: Target) -> Steps:
        """QLinearMul."""

    def convert(self, q: Quantized, target: Target) -> Steps:
        """Codes of one scale and zero point → codes of another: dequantized, then quantized."""

    def cast(self, x: Array, tensor: str, dtype: str) -> Steps:
        """Reals or codes → reals of ``dtype``."""

    def select(self, condition: Array, x: Array, y: Array, tensor: str, dtype: str) -> Steps:
        """Where: x where the condition holds, else y, of one type and with broadcasting."""

    def resize(self, x: Array, how: Resampling, tensor: str, dtype: str) -> Steps:
        """Resize of reals or codes: the nearest entry, or linear between entries."""

    def contract(self, contraction: Contraction, affine: Affine | None = None) -> Steps:
        """Sums of products of reals; with ``affine`` alpha · sum + beta · addend."""

    def evaluate(self, x: Array, function: Function, tensor: str, dtype: str) -> Steps:
        """A function of each real → reals of ``dtype``."""

    def lookup(self, q: Quantized, function: Function, target: Target) -> Steps:
        """A function of what each code stands for → codes; ONNX Runtime reads it from a table of all codes."""

    def softmax(self, x: Array, rows: Rows, tensor: str, dtype: str) -> Steps:
        """exp(x) over its sum along each row → reals of ``dtype``."""

    def quantized_softmax(self, q: Quantized, rows: Rows, target: Target) -> Steps:
        """QLinearSoftmax: the softmax of what the codes stand for → codes."""

    def multiply_blocks(
        self,
        a: Array,
        weights: BlockedWeights,
        bias: Array | None,
        tensor: str,
        *,
        accuracy_level: int,
    ) -> Steps:
        """MatMulNBits: reals (…, K) times weights, plus a bias (N,), → reals (…, N); finishes ``tensor``."""

    def average_pool(self, x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
        """Reals (N, C, …) → the mean of each window, of ``dtype``."""

    def quantized_average_pool(self, x: Quantized, pool: Pool, target: Target) -> Steps:
        """Codes (N, C, …), one scale and zero point for all → the mean of each window, as codes."""

    def max_pool(self, x: Array, pool: Pool, tensor: str, dtype: str) -> Steps:
        """Reals, or codes as stored (N, C, …) → the largest of each window, of ``dtype``."""


DEFAULT = ("exact", "float64", "float32", "ort_cpu")  # what a run shows; the others would drown it


@functools.cache
def schemes() -> dict[str, Scheme]:
    """Name → scheme, with default parameters; those of ``DEFAULT`` first."""
    found: list[Scheme] = discover(sys.modules[__name__], Scheme)
    found.sort(key=lambda s: (DEFAULT.index(s.name) if s.name in DEFAULT else len(DEFAULT), s.name))
    return {scheme.name: scheme for scheme in found}


@functools.cache
def variants() -> dict[str, Scheme]:
    """Label → scheme: every scheme with every set of parameters, such as ``tflite (single rounding)``.

    A scheme's file lists its own as ``VARIANTS``; the first of each has the default parameters.
    """
    found: dict[str, Scheme] = {}
    for scheme in schemes().values():
        found |= _variants_of(scheme.name)
    return found


def _variants_of(name: str) -> dict[str, Scheme]:
    module = importlib.import_module(f"{__name__}.{name}")
    listed: dict[str, Scheme] = module.VARIANTS
    return listed


def variant(label: str) -> Scheme:
    """A scheme by its label or, with the default parameters, by its name. Raises TraceError for an unknown one."""
    found = {**schemes(), **variants()}.get(label)
    if found is None:
        near = [repr(known) for known in variants() if label.lower() in known] if label else []
        near = near or [repr(known) for known in difflib.get_close_matches(label, variants())]
        words = ", ".join(near[:SHOWN]) + (", …" if near[SHOWN:] else "")
        also = f"; labels like it: {words}" if near else ""
        raise TraceError(f"unknown scheme {label!r}; there are {', '.join(schemes())}{also}")
    return found


def scheme(name: str) -> Scheme:
    """A scheme by name. Raises TraceError for an unknown one."""
    if name not in schemes():
        raise TraceError(f"unknown scheme {name!r}; there are {', '.join(schemes())}")
    return schemes()[name]
