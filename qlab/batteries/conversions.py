"""QLinearConcat and QLinearWhere: every code, on ties and beside them; equal and extreme parameters; QDQ groups."""

import functools
from collections.abc import Iterator

import numpy as np

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS, Builder, Rng, variants
from qlab.batteries.inputs import Tensors, beside, codes, one_node, scalar, scale, zero_point
from qlab.case import Case
from qlab.qtypes import DTYPES, Array, bounds

EXTREME = (0.0, -1.0, np.inf, np.nan, 1e-45, 1e-38, 3e38)
MOST = 24  # tensors of one QLinearConcat


def converted_scale(rng: Rng, to: Array) -> Array:
    """A scale of which some code becomes a tie in steps of ``to``, or one ulp beside; a fifth are ``to`` itself."""
    kind = rng.integers(5)
    if kind == 0:
        return to
    simple = (2 * int(rng.integers(0, 4)) + 1) / 2
    ratio = simple if kind == 1 else (int(rng.integers(0, 120)) + 0.5) / int(rng.integers(1, 200))
    with np.errstate(over="ignore"):
        value = np.asarray(ratio * float(to)).astype(np.float32)
    return beside(rng, value)


def grid(dtype: str) -> Array:
    """Every code."""
    low, high = bounds(dtype)
    return np.arange(low, high + 1).astype(DTYPES[dtype])


def parameters(rng: Rng, dtype: str, number: int) -> tuple[Array, Array]:
    """A scale and a zero point of a result; extreme scales now and then."""
    if number % 5 == 4:
        return scalar("float32", rng.choice(EXTREME)), zero_point(rng, dtype)
    return scale(rng, (), -20, 20), zero_point(rng, dtype)


def concat_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Every code of many tensors; parameters that are constants, fed, or some of each; axes."""
    rng = np.random.default_rng(seed)
    for number in range(20):
        y_scale, y_zero = parameters(rng, dtype, number)
        tensors: Tensors = {"Y_scale": y_scale, "Y_zero_point": y_zero}
        fed = []
        for i in range(MOST):
            x_scale = converted_scale(rng, y_scale)
            if number % 5 == 3 and i % 4 == 0:
                x_scale = scalar("float32", rng.choice(EXTREME))
            zero = y_zero if rng.random() < 0.3 else zero_point(rng, dtype)
            tensors |= {f"X{i}": grid(dtype), f"X{i}_scale": x_scale, f"X{i}_zero_point": zero}
            fed.append(f"X{i}")
            if number % 3 == 1 and rng.random() < 0.5:
                fed.append(f"X{i}_scale")
            if number % 3 == 1 and rng.random() < 0.5:
                fed.append(f"X{i}_zero_point")
        if number % 3 == 2:
            fed += ["Y_scale", "Y_zero_point"]
        names = tuple(tensors)
        yield one_node("QLinearConcat", names, tensors, tuple(fed), domain="com.microsoft", attributes={"axis": 0})  # fmt: skip
    for axis in (0, 1, 2, -1):
        tensors = {"Y_scale": scale(rng), "Y_zero_point": zero_point(rng, dtype)}
        for i in range(3):
            shape = [2, 3, 5]
            shape[axis] = i + 1
            tensors |= {f"X{i}": codes(rng, dtype, tuple(shape)), f"X{i}_scale": scale(rng)}
            tensors |= {f"X{i}_zero_point": zero_point(rng, dtype)}
        yield one_node("QLinearConcat", tuple(tensors), tensors, ("X0", "X1", "X2"), domain="com.microsoft", attributes={"axis": axis})  # fmt: skip


WHERE = (
    "condition", "X", "x_scale", "x_zero_point", "Y", "y_scale", "y_zero_point", "z_scale", "z_zero_point",
)  # fmt: skip


def where_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Every code of both tensors against each other; broadcasts; parameters that are constants or fed."""
    rng = np.random.default_rng(seed)
    shapes = [
        ((256, 1), (256,)),
        ((256,), (256, 1)),
        ((256,), ()),
        ((), (256,)),
        ((4, 1, 64), (4, 1)),
    ]
    for number in range(90):
        one, other = shapes[number % len(shapes)]
        whole = np.broadcast_shapes(one, other)
        z_scale, z_zero = parameters(rng, dtype, number)
        x, y = (
            rng.permutation(grid(dtype)).reshape(s) if np.prod(s) == 256 else codes(rng, dtype, s)
            for s in (one, other)
        )
        asked = [whole, whole[-1:], (), (*whole[:-1], 1)][int(rng.integers(4))]
        tensors = {
            "condition": rng.random(asked) < 0.5, "X": x, "Y": y, "z_scale": z_scale, "z_zero_point": z_zero,
            "x_scale": converted_scale(rng, z_scale), "y_scale": converted_scale(rng, z_scale),
            "x_zero_point": z_zero if rng.random() < 0.3 else zero_point(rng, dtype),
            "y_zero_point": z_zero if rng.random() < 0.3 else zero_point(rng, dtype),
        }  # fmt: skip
        tensors["condition"] = np.asarray(tensors["condition"])
        fed = {"condition", "X", "Y"}
        fed |= {n for n in WHERE if "_" in n and rng.random() < number % 3 / 4}
        if not {"z_scale", "z_zero_point"} & fed:
            # ONNX Runtime 1.32.0 reads a null pointer where z's are constants and these are not.
            fed -= {"x_zero_point", "y_zero_point"}
        inputs = tuple(n for n in WHERE if n in fed)
        yield one_node(
            "QLinearWhere", WHERE, tensors, inputs, outputs=("Z",), domain="com.microsoft"
        )


def fed_codes(b: Builder, shape: tuple[int, ...], to: Array) -> str:
    """A fed tensor, quantized and dequantized, of which some codes are ties in steps of ``to``; its name."""
    value, zero = b.scale() if b.exact else converted_scale(b.rng, to), zero_point(b.rng, b.dtype)
    name = f"x{len(b.inputs)}"
    real = (codes(b.rng, b.dtype, shape).astype(np.float64) - float(zero)) * float(value)
    b.inputs[name] = real.astype(np.float32)
    used = b.parameters(value, zero)
    return b.add("DequantizeLinear", b.add("QuantizeLinear", name, *used), *used)


def concat_group(rng: Rng, dtype: str, *, exact: bool) -> Case:
    """Concat of three quantized tensors."""
    b = Builder(rng, dtype, exact)
    step = b.scale()
    shapes = ((40, 20, 3), (40, 1, 3), (40, 30, 3))
    return b.finish(b.add("Concat", *(fed_codes(b, s, step) for s in shapes), axis=1), float(step))


def where_group(rng: Rng, dtype: str, *, exact: bool) -> Case:
    """Where of two quantized tensors."""
    b = Builder(rng, dtype, exact)
    step = b.scale()
    x, y = fed_codes(b, (60, 50), step), fed_codes(b, (2, 60, 1), step)
    b.inputs["condition"] = rng.random((60, 50)) < 0.5
    return b.finish(b.add("Where", "condition", x, y), float(step))


def group_cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """Groups that are fused to QLinearConcat and QLinearWhere."""
    for rng, _, exact in variants(seed):
        for _ in range(2):
            yield (concat_group if op_type == "Concat" else where_group)(rng, dtype, exact=exact)


BATTERIES = Batteries(
    (
        *(
            Battery(op_type, dtype, "QOperator", functools.partial(cases, dtype))
            for op_type, cases in (("QLinearConcat", concat_cases), ("QLinearWhere", where_cases))
            for dtype in ("int8", "uint8")
        ),
        *(
            Battery(op_type, dtype, "QDQ", functools.partial(group_cases, op_type, dtype), LEVELS)
            for op_type in ("Concat", "Where")
            for dtype in ("int8", "uint8")
        ),
    )
)
