"""What all matrix products share: zero points per row or column, vectors, and the contraction."""

import numpy as np

from qlab.errors import TraceError
from qlab.ops import Call
from qlab.ops.parameters import spread
from qlab.qtypes import Array
from qlab.schemes import Contraction


def per_column(parameter: Array) -> Array:
    """A scale or zero point of B: (N,) lies along the last axis already; (1,) is per tensor."""
    return parameter.reshape(()) if parameter.size == 1 else parameter


def per_row(parameter: Array) -> Array:
    """A scale or zero point of A: (M,) is one for each row; (…, M, 1) is already in its place."""
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter[:, None] if parameter.ndim == 1 else parameter


def matrix_contraction(
    a: Array,
    b: Array,
    a_zero_point: Array,
    b_zero_point: Array,
    *,
    names: tuple[str, str],
    pairs: bool = False,
    constant_rhs: bool = False,
) -> Contraction:
    """A (…, M, K) · B (…, K, N) as numpy's matmul has it; a vector is a row or a column."""
    if a.ndim == 0 or b.ndim == 0:
        raise TraceError(
            f"{names[0]} has the shape {list(a.shape)} and {names[1]} {list(b.shape)}: no scalars"
        )
    lhs = a[None, :] if a.ndim == 1 else a
    rhs = b[:, None] if b.ndim == 1 else b
    if lhs.shape[-1] != rhs.shape[-2]:
        raise TraceError(
            f"{names[0]} has {lhs.shape[-1]} columns and {names[1]} {rhs.shape[-2]} rows; they must be as many"
        )
    drop = tuple(axis for axis, vector in ((-2, a.ndim == 1), (-1, b.ndim == 1)) if vector)

    def arrange(result: Array) -> Array:
        return np.squeeze(result, axis=drop) if drop else result

    k = lhs.shape[-1]
    return Contraction(
        lhs,
        rhs,
        spread(f"{names[0]}'s zero point", a_zero_point, (*lhs.shape[:-1], 1)),
        spread(f"{names[1]}'s zero point", b_zero_point, (*rhs.shape[:-2], 1, rhs.shape[-1])),
        arrange,
        ("k",),
        tuple((i,) for i in range(k)),
        names,
        pairs=pairs,
        constant_rhs=constant_rhs,
    )


def transposed(call: Call, attribute: str, name: str, matrix: Array) -> Array:
    """The operand of a Gemm, transposed where the attribute says so. Raises TraceError where it is no matrix."""
    if matrix.ndim != 2:
        raise TraceError(f"{name} has the shape {list(matrix.shape)}; it must have two axes")
    return matrix.T if call.attribute(attribute, 0) else matrix


def is_pair_product(call: Call, unsigned: str, signed: str) -> bool:
    """True where ONNX Runtime multiplies uint8 (first) by int8 (second)."""
    return call.dtype(unsigned) == "uint8" and call.dtype(signed) == "int8"
