"""Inputs that can tell arithmetics apart: ties and saturation edges first, then random. All seeded."""

from collections.abc import Iterator

import numpy as np

from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES, Array, bounds
from qlab.schemes import scheme as scheme_of
from qlab.trace import trace

OPSET = {"": 21, "com.microsoft": 1}
Tensors = dict[str, Array]


def one_node(
    op_type: str, names: tuple[str, ...], tensors: Tensors, inputs: tuple[str, ...], outputs: tuple[str, ...] = ("y",),
    *, domain: str = "", attributes: dict[str, object] | None = None, opset: int = 21,
) -> Case:  # fmt: skip
    """A case of one node; ``inputs`` are fed at run time, the other tensors are constants."""
    present = tuple(n if n in tensors else "" for n in names)
    node = Node(op_type, present, outputs, domain, attributes or {})
    constants = {k: v for k, v in tensors.items() if k not in inputs}
    graph = Graph((node,), constants, inputs, outputs, {**OPSET, "": opset})
    return Case(graph, {k: tensors[k] for k in inputs}, title=op_type)


def codes(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    """Random codes, a third of them at the ends of the range."""
    low, high = bounds(dtype)
    values = rng.integers(low, high + 1, shape)
    edges = rng.choice([low, high], shape)
    return np.where(rng.random(shape) < 1 / 3, edges, values).astype(DTYPES[dtype])


def scalar(dtype: str, value: float) -> Array:
    """A 0-d tensor."""
    return np.asarray(value, DTYPES[dtype])


def zero_point(rng: np.random.Generator, dtype: str, shape: tuple[int, ...] = ()) -> Array:
    """Zero points: the ends, odd ones in the middle, any."""
    low, high = bounds(dtype)
    middle = (low + high + 1) // 2
    choices = [low, high, middle, middle + 1, middle - 1, int(rng.integers(low, high + 1))]
    return np.asarray(rng.choice(choices, shape)).astype(DTYPES[dtype])


def scale(
    rng: np.random.Generator, shape: tuple[int, ...] = (), low: int = -12, high: int = 1
) -> Array:
    """Scales over powers of two, a third of them round."""
    powers = 2.0 ** rng.uniform(low, high, shape)
    rounded = 2.0 ** np.rint(np.log2(powers))
    return np.asarray(np.where(rng.random(shape) < 1 / 3, rounded, powers)).astype(np.float32)


def beside(rng: np.random.Generator, values: Array, steps: int = 1) -> Array:
    """Float32 values moved by up to ``steps`` units in the last place."""
    bits = np.ascontiguousarray(values.astype(np.float32)).view(np.int32)
    return (
        (bits + rng.integers(-steps, steps + 1, bits.shape, dtype=np.int32))
        .view(np.float32)
        .reshape(values.shape)
    )


def tie_multipliers(
    rng: np.random.Generator, accumulators: Array, unit: float | np.floating = 1.0
) -> Array:
    """One scale for each accumulator so that accumulator · scale / unit is an odd half, or one ulp beside."""
    halves = rng.integers(-130, 130, accumulators.shape) + 0.5
    nonzero = np.where(accumulators == 0, 1, accumulators)
    return beside(rng, np.abs(halves / nonzero * np.float64(unit)).astype(np.float32))


NAMES = ("A", "A_scale", "A_zero_point", "B", "B_scale", "B_zero_point", "C_scale", "C_zero_point")


def elementwise_cases(op_type: str, dtype: str, seed: int) -> Iterator[Case]:
    """All 65,536 code pairs for directed and random scales; then broadcasts."""
    rng = np.random.default_rng(seed)
    low, high = bounds(dtype)
    grid = np.arange(low, high + 1).astype(DTYPES[dtype])
    fixed = [
        (1.0, 1.0, 2.0),
        (0.5, 0.25, 1.0),
        (0.008010663092136383, 0.00622713053599, 0.006873490754514933),
    ]
    for number in range(6):
        a_scale, b_scale, c_scale = fixed[number] if number < len(fixed) else scale(rng, (3,))
        if number >= 4:  # ratios near simple fractions, where sums come close to ties
            a_scale, b_scale = (np.float32(c_scale * rng.integers(1, 64) / 32) for _ in range(2))
            a_scale = beside(rng, np.asarray(a_scale))[()]
        yield one_node(
            op_type,
            NAMES,
            {
                "A": grid[:, None], "B": grid[None, :],
                "A_scale": scalar("float32", a_scale), "B_scale": scalar("float32", b_scale),
                "C_scale": scalar("float32", c_scale),
                "A_zero_point": zero_point(rng, dtype), "B_zero_point": zero_point(rng, dtype),
                "C_zero_point": zero_point(rng, dtype),
            },
            ("A", "B"), domain="com.microsoft",
        )  # fmt: skip
    yield from tied_pairs(op_type, dtype, rng)
    shapes = [((1,), (1,)), ((), (7,)), ((7,), ()), ((3, 1, 5), (4, 1)), ((2, 3), (2, 3)), ((17,), (17,)),
              ((1, 1, 1, 1), (1, 1, 1, 1)), ((2, 1), (1, 9)), ((17, 3, 1, 1), (1, 1))]  # fmt: skip
    for a_shape, b_shape in shapes * 4:
        yield one_node(
            op_type,
            NAMES,
            {
                "A": codes(rng, dtype, a_shape), "B": codes(rng, dtype, b_shape),
                "A_scale": scale(rng), "B_scale": scale(rng), "C_scale": scale(rng),
                "A_zero_point": zero_point(rng, dtype), "B_zero_point": zero_point(rng, dtype),
                "C_zero_point": zero_point(rng, dtype),
            },
            ("A", "B"), domain="com.microsoft",
        )  # fmt: skip


def tied_pairs(op_type: str, dtype: str, rng: np.random.Generator) -> Iterator[Case]:
    """Pairs whose result is a tie for full-length scales, so that each rounding on the way decides.

    Of one pair (da, db) of codes minus zero points every odd multiple is a tie as well (of the product: da alone).
    """
    low, high = bounds(dtype)
    for _ in range(120):
        zeros = [int(zero_point(rng, dtype)) for _ in "ABC"]
        da, db = (int(rng.choice([-1, 1]) * rng.integers(1, 8)) for _ in "ab")
        k = np.arange(-255, 256, 2)
        a, b = (
            k * da + zeros[0],
            (k * db if op_type == "QLinearAdd" else np.full(k.shape, db)) + zeros[1],
        )
        inside = (a >= low) & (a <= high) & (b >= low) & (b <= high)
        if not inside.any():
            continue
        c_scale = scale(rng, (), -6, 6)
        half = int(rng.integers(0, 12)) + 0.5
        a_scale = np.float32(c_scale * rng.uniform(0.05, 4))
        if op_type == "QLinearAdd":
            b_scale = np.float32((half * float(c_scale) - float(a_scale) * da) / db)
        else:
            b_scale = np.float32(half * float(c_scale) / float(a_scale) / (da * db))
        b_scale = beside(rng, np.abs(np.asarray(b_scale)))
        yield one_node(
            op_type,
            NAMES,
            {
                "A": a[inside].astype(DTYPES[dtype]), "B": b[inside].astype(DTYPES[dtype]),
                "A_scale": scalar("float32", a_scale), "B_scale": b_scale, "C_scale": c_scale,
                **{f"{n}_zero_point": scalar(dtype, z) for n, z in zip("ABC", zeros, strict=True)},
            },
            ("A", "B"), domain="com.microsoft",
        )  # fmt: skip


def quantize_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Values on ties, one ulp beside them, at and beyond the ends, NaN and infinities."""
    rng = np.random.default_rng(seed)
    low, high = bounds(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38], np.float32)
    for number in range(6):
        y_scale = scale(rng, (), -20, 20) if number else scalar("float32", 2.0)
        zero = zero_point(rng, dtype)
        steps = rng.integers(low - high - 3, high - low + 4, 40_000) / 2
        x = beside(rng, (steps * y_scale).astype(np.float32), 2)
        x = np.concatenate([special, x])
        names = ("x", "y_scale", "y_zero_point")
        yield one_node(
            "QuantizeLinear", names, {"x": x, "y_scale": y_scale, "y_zero_point": zero}, ("x",)
        )
    for odd in (0.0, -1.0, np.inf, np.nan, 1e-45):
        x = np.concatenate([special, np.float32([1, -1, 255, 1000])])
        tensors = {
            "x": x,
            "y_scale": scalar("float32", odd),
            "y_zero_point": zero_point(rng, dtype),
        }
        yield one_node("QuantizeLinear", ("x", "y_scale", "y_zero_point"), tensors, ("x",))
    for axis, block_size, shape, parameters in ((1, 0, (4, 6, 5), (6,)), (0, 0, (4, 6), (4,)), (1, 3, (4, 6), (4, 2)),
                                                (0, 2, (4, 6), (2, 6))):  # fmt: skip
        attributes: dict[str, object] = {"axis": axis} | (
            {"block_size": block_size} if block_size else {}
        )
        x = (rng.normal(0, 1, shape) * 60).astype(np.float32)
        tensors = {
            "x": x,
            "y_scale": scale(rng, parameters),
            "y_zero_point": zero_point(rng, dtype, parameters),
        }
        yield one_node(
            "QuantizeLinear",
            ("x", "y_scale", "y_zero_point"),
            tensors,
            ("x",),
            attributes=attributes,
        )


def dequantize_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Every code (a sample of int32), per tensor, per axis and blocked."""
    rng = np.random.default_rng(seed)
    low, high = bounds(dtype)
    names = ("x", "x_scale", "x_zero_point")
    for _ in range(5):
        x = rng.integers(low, high + 1, (40_960,)).astype(DTYPES[dtype])
        zero = scalar(dtype, 0) if dtype == "int32" else zero_point(rng, dtype)
        yield one_node(
            "DequantizeLinear",
            names,
            {"x": x, "x_scale": scale(rng, (), -30, 30), "x_zero_point": zero},
            ("x",),
        )
    for axis, block_size, shape, parameters in ((1, 0, (4, 6, 5), (6,)), (1, 3, (4, 6), (4, 2))):
        attributes: dict[str, object] = {"axis": axis} | (
            {"block_size": block_size} if block_size else {}
        )
        zero = (
            np.zeros(parameters, DTYPES[dtype])
            if dtype == "int32"
            else zero_point(rng, dtype, parameters)
        )
        tensors = {
            "x": codes(rng, dtype, shape),
            "x_scale": scale(rng, parameters),
            "x_zero_point": zero,
        }
        yield one_node("DequantizeLinear", names, tensors, ("x",), attributes=attributes)


def dynamic_cases(seed: int) -> Iterator[Case]:
    """Ranges of all sizes; all zero; one sign; near ties of the zero point."""
    rng = np.random.default_rng(seed)
    for number in range(220):
        x = rng.normal(rng.choice([0.0, 1.0, -3.0]), 1, (1_000,)) * 2.0 ** rng.integers(-20, 20)
        if number == 0:
            x = np.zeros(1_000)
        if number % 3 == 0:
            x = np.rint(x)
        yield one_node(
            "DynamicQuantizeLinear",
            ("x",),
            {"x": x.astype(np.float32)},
            ("x",),
            ("y", "y_scale", "y_zero_point"),
        )


def matmul_cases(op_type: str, a_dtype: str, b_dtype: str, seed: int) -> Iterator[Case]:
    """QLinearMatMul, QGemm and MatMulInteger: odd and even K, saturating pairs, ties in each column."""
    rng = np.random.default_rng(seed)
    for k in (1, 2, 3, 4, 7, 16, 33, 64, 65, 300, 1500):
        for per_column in (False, True):
            m, n = (100, 112) if k < 1000 else (8, 40)
            a, b = codes(rng, a_dtype, (m, k)), codes(rng, b_dtype, (k, n))
            za = zero_point(rng, a_dtype)
            zb = zero_point(rng, b_dtype, (n,) if per_column and op_type != "QGemm" else ())
            if (
                k > 1000
            ):  # all of one sign, so that the sums pass 2^24, where float32 has not every integer
                za, zb = (np.full_like(z, bounds(z.dtype)[0]) for z in (za, zb))
            tensors: Tensors = {"a": a, "b": b, "za": za, "zb": zb}
            inputs = ("a",) if per_column else ("a", "b")
            if op_type == "MatMulInteger":
                yield one_node(op_type, ("a", "b", "za", "zb"), tensors, inputs)
                continue
            tensors["sa"] = scale(rng)
            alpha = float(rng.choice([1.0, 0.5, 1.3])) if op_type == "QGemm" else 1.0
            bias = rng.integers(-3000, 3000, (n,)) if op_type == "QGemm" and k % 3 else np.zeros(n)
            tensors["sb"] = scale(rng)
            tensors["sy"] = np.float32(scale(rng) * k * 8).reshape(())
            if per_column:  # one scale for each column that ties the first row's sum
                total = (a.astype(np.int64) - int(za)) @ (b.astype(np.int64) - zb.astype(np.int64))
                unit = float(tensors["sy"]) / float(tensors["sa"]) / alpha
                tensors["sb"] = tie_multipliers(rng, total[0] + bias, unit)
            tensors["zy"] = zero_point(rng, a_dtype)
            if op_type == "QLinearMatMul":
                names: tuple[str, ...] = ("a", "sa", "za", "b", "sb", "zb", "sy", "zy")
                yield one_node(op_type, names, tensors, inputs)
                continue
            names = ("a", "sa", "za", "b", "sb", "zb", "c", "sy", "zy")
            attributes: dict[str, object] = {
                "alpha": alpha,
                "transA": 0,
                "transB": k % 2,
            }
            if k % 2:
                tensors["b"] = np.ascontiguousarray(b.T)
            if k % 3:
                tensors["c"] = bias.astype(np.int32)
            if per_column:
                tensors["zb"] = np.full((n,), tensors["zb"])
            if k == 7:
                del tensors["sy"], tensors["zy"]
            inputs = ("a",)  # ONNX Runtime takes a constant B here
            yield one_node(
                op_type, names, tensors, inputs, domain="com.microsoft", attributes=attributes
            )


def _sums(tensors: Tensors, attributes: dict[str, object], m: int) -> Array:
    """The exact sums of a QLinearConv with its bias: (channels, positions)."""
    names = ("x", "w", "zx", "zw")
    case = one_node(
        "ConvInteger", names, {k: tensors[k] for k in names}, ("x",), attributes=attributes
    )
    sums = trace(case.graph, case.inputs, scheme_of("exact")).outputs["y"].reshape(m, -1)
    bias = tensors.get("bias", np.zeros(m, np.int64))
    return sums.astype(np.int64) + bias.astype(np.int64)[:, None]


# group, input channels per group, output channels per group, spatial, kernel, attributes
CONVOLUTIONS: tuple[tuple[int, int, int, tuple[int, ...], tuple[int, ...], dict[str, object]], ...] = (
    (1, 1, 8, (40, 40), (1, 1), {}),
    (1, 3, 16, (40, 40), (3, 3), {"pads": (1, 1, 1, 1)}),
    (1, 8, 16, (40, 40), (3, 3), {"pads": (0, 1, 2, 1), "strides": (1, 1), "dilations": (2, 1)}),
    (2, 3, 8, (30, 30), (3, 2), {"strides": (1, 2)}),
    (8, 1, 1, (40, 40), (3, 3), {"pads": (1, 1, 1, 1)}),
    (4, 1, 2, (30, 30), (2, 2), {"auto_pad": "SAME_LOWER"}),
    (1, 5, 8, (31, 33), (4, 3), {"auto_pad": "SAME_UPPER", "strides": (2, 1)}),
    (1, 4, 8, (700,), (3,), {"pads": (1, 1)}),
    (3, 2, 4, (400,), (5,), {"dilations": (2,), "auto_pad": "VALID"}),
)  # fmt: skip


def conv_cases(
    op_type: str, x_dtype: str, w_dtype: str, seed: int, *, channels_last: bool = False
) -> Iterator[Case]:
    """QLinearConv and ConvInteger over the geometries, with and without bias and per-channel parameters."""
    rng = np.random.default_rng(seed)
    for number, (group, cin, mout, spatial, kernel, attributes) in enumerate(CONVOLUTIONS * 2):
        if channels_last and len(spatial) != 2:
            continue
        m = group * mout
        x = codes(rng, x_dtype, (1, group * cin, *spatial))
        w = codes(rng, w_dtype, (m, cin, *kernel))
        per_channel = number >= len(CONVOLUTIONS)
        zx = zero_point(rng, x_dtype)
        zw = zero_point(rng, w_dtype, (m,) if per_channel and number % 2 else ())
        if per_channel and not number % 2:
            zw = np.full((m,), zw)
        tensors: Tensors = {"x": x, "w": w, "zx": zx, "zw": zw}
        given = dict(attributes) | {"group": group, "kernel_shape": kernel}
        if op_type == "ConvInteger":
            if per_channel:
                tensors["zw"] = zw.reshape(-1)[:1].reshape(())
            yield one_node(op_type, ("x", "w", "zx", "zw"), tensors, ("x",), attributes=given)
            continue
        tensors |= {
            "sx": scale(rng), "sy": scale(rng), "zy": zero_point(rng, x_dtype), "sw": scale(rng, (), -12, -4),
        }  # fmt: skip
        if number % 3:
            # A third are large: float32 has not every integer beyond 2^24, and int32 wraps.
            size = 2**30 if number % 3 == 1 and per_channel else 20_000
            tensors["bias"] = rng.integers(-size, size, (m,)).astype(np.int32)
        if per_channel:  # one scale for each channel that ties the sum at one of its positions
            unit = float(tensors["sy"]) / float(tensors["sx"])
            sums = _sums(tensors, given, m)
            tensors["sw"] = tie_multipliers(rng, sums[:, int(rng.integers(sums.shape[1]))], unit)
        names = ("x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "bias")
        if channels_last:
            tensors["x"] = np.ascontiguousarray(np.moveaxis(x, 1, -1))
            given["channels_last"] = 1
        yield one_node(
            op_type,
            names,
            tensors,
            ("x",),
            attributes=given,
            domain="com.microsoft" if channels_last else "",
        )
