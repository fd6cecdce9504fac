"""MLAS SGEMM as C: the order in which ONNX Runtime adds float32 products."""

import numpy as np

from qlab.c.accumulation import Accumulation, Factors
from qlab.c.emission import Emission, Operand, line
from qlab.c.recorder import Primitive
from qlab.errors import ExportError
from qlab.kernels.sgemm import lane_folds, order
from qlab.schemes import Contraction


def contract(e: Emission, p: Primitive, factors: Factors) -> Accumulation:
    """alpha · Σ a · b + beta · addend, by lanes of eight or in blocks."""
    c: Contraction = p["contraction"]
    if c.product is None:
        raise ExportError("a float32 matrix product of codes has no kernel to be written in C")
    affine, start = p["affine"], "0.0f"
    alpha, beta = (1.0, 1.0) if affine is None else (float(affine.alpha), float(affine.beta))
    addend = factors.addend if beta != 0 else ""
    how = order(c.product, e.file.scheme.cpu, plain=alpha == 1 and (beta == 1 or not addend))
    if addend:
        start = addend
        if beta != 1:
            start = f"{e.file.scalar('beta', affine.beta, 'float')} * {addend}"
    last = p.steps[-1]
    if how.name == "lanes":
        return _lanes(e, c, factors, start if addend else "", last.formula)
    (a, b), taps = factors.names, factors.taps
    by = e.file.scalar("alpha", affine.alpha, "float") if alpha != 1 else "1.0f"
    joined = f"fmaf(part, {by}, total)" if how.fused else f"part * {by} + total"
    if alpha == 1:
        joined = "part + total"
    step = f"part = fmaf({a}, {b}, part);" if how.fused else f"part = part + {a} * {b};"
    before = [f"float total = {start}; /* {last.note} */", "float part = 0.0f;"]
    tap = [step]
    ends = [f"taps % {how.block} == 0"] if taps >= how.block else []
    ends += [f"taps == {taps - 1}"] if how.name == "fours" and taps % 4 == 3 else []
    if ends:
        before.append("int taps = 0;")
        tap += [
            "taps++;",
            f"if ({' || '.join(ends)}) {{",
            f"    total = {joined};",
            "    part = 0.0f;",
            "}",
        ]
    return Accumulation(before, tap, [line("float", "accumulator", joined, last.formula)])


def _lanes(
    e: Emission, c: Contraction, factors: Factors, addend: str, formula: str
) -> Accumulation:
    """Eight sums, of every eighth product each; how they are added up depends on the place in the result."""
    assert c.product is not None
    a, b = factors.names
    folds = np.broadcast_to(
        lane_folds(max(c.product.rows, c.product.columns), c.result_shape), c.result_shape
    )
    arranged = np.ascontiguousarray(c.arrange(folds))
    if (arranged == arranged.reshape(-1)[0]).all():
        arranged = arranged.reshape(-1)[0].reshape(())
    fold = str(int(arranged)) if not arranged.ndim else ""
    if not fold:
        table = e.file.array("folds", arranged, "uint8_t")
        item = Operand("uint8_t", "fold", table, arranged.shape)
        fold = item.at(factors.shape, factors.variables)
    before = ["float lane[8] = {0.0f};", "int taps = 0;"]
    tap = [f"lane[taps % 8] += {a} * {b};", "taps++;"]
    value = f"{e.file.use('fold_lanes')}(lane, {fold})" + (f" + {addend}" if addend else "")
    return Accumulation(before, tap, [line("float", "accumulator", value, formula)])
