"""Operators that move values: of codes and of reals, alone and in QDQ groups whose parameters are equal or not."""

import functools
from collections.abc import Callable, Iterator

import numpy as np
import onnx

from qlab.batteries import Batteries, Battery
from qlab.batteries.groups import LEVELS, Builder, Rng, variants
from qlab.batteries.inputs import Tensors, codes, one_node
from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES, Array

Call = tuple[dict[str, Array], dict[str, object]]
"""Further inputs by their names, and attributes."""
SHAPE = (6, 1, 7, 30)


def values(rng: Rng, dtype: str, shape: tuple[int, ...] = SHAPE) -> Array:
    """Codes, or reals with zeros of both signs and no numbers among them."""
    if dtype == "float32":
        odd = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45], shape)
        return np.where(rng.random(shape) < 0.1, odd, rng.normal(0, 1, shape)).astype(np.float32)
    return codes(rng, dtype, shape)


def pad(rng: Rng, mode: str) -> Call:
    """Within what reflect can, some negative."""
    begins, ends = ([int(rng.integers(-2, n)) if n > 3 else 0 for n in SHAPE] for _ in "be")
    for axis, n in enumerate(SHAPE):
        left = n + min(begins[axis], 0) + min(ends[axis], 0)
        begins[axis], ends[axis] = min(begins[axis], left - 1), min(ends[axis], left - 1)
    return {"pads": np.array(begins + ends)}, {"mode": mode}


def gather(rng: Rng) -> Call:
    """Indices from both ends."""
    axis = int(rng.integers(-4, 4))
    n = SHAPE[axis]
    return {"indices": rng.integers(-n, n, (4, 3))}, {"axis": axis}


def slice_(rng: Rng) -> Call:
    """Starts and ends within and beyond, both directions."""
    starts, ends = (rng.integers(-40, 40, 2) for _ in "se")
    steps = rng.choice([-3, -1, 1, 2], 2)
    ends = np.where(rng.random(2) < 0.5, np.sign(steps) * 2**40, ends)
    return {"starts": starts, "ends": ends, "axes": np.array([3, -2]), "steps": steps}, {}


CALLS: dict[str, Callable[[Rng], Call]] = {
    **{f"Pad {m}": functools.partial(pad, mode=m) for m in ("constant", "reflect", "edge", "wrap")},
    "Gather": gather,
    "Slice": slice_,
    "Squeeze": lambda rng: ({"axes": np.array([int(rng.choice([1, -3]))])}, {}),
    "Unsqueeze": lambda rng: ({"axes": rng.permutation(6)[:2]}, {}),
    "Expand": lambda rng: ({"shape": np.array([2, 1, int(rng.integers(1, 5)), 1, 1])}, {}),
    "Tile": lambda rng: ({"repeats": rng.integers(1, 4, 4)}, {}),
}


def wheres(rng: Rng, dtype: str) -> Iterator[Case]:
    """Where of shapes of which one, the other or none is a scalar for the loops."""
    shapes: tuple[tuple[int, ...], ...] = ((), (1,), (30,), (7, 1), (7, 30), (6, 1, 7, 30))
    for _ in range(12):
        asked, x, y = (shapes[int(n)] for n in rng.integers(0, len(shapes), 3))
        condition = np.asarray(rng.random(asked) < 0.5)
        tensors = {"condition": condition, "X": values(rng, dtype, x), "Y": values(rng, dtype, y)}
        yield one_node("Where", tuple(tensors), tensors, tuple(tensors))


TYPES = ("float32", "int8", "uint8")


def moving_cases(dtype: str, seed: int) -> Iterator[Case]:
    """Each operator alone."""
    rng = np.random.default_rng(seed)
    for _ in range(6):
        for name, make in CALLS.items():
            op_type = name.partition(" ")[0]
            more, attributes = make(rng)
            data = "input" if op_type in ("Expand", "Tile") else "data"
            tensors: Tensors = {data: values(rng, dtype)} | more
            if op_type == "Pad" and rng.random() < 0.5:
                tensors["constant_value"] = values(rng, dtype, ())
            yield one_node(op_type, tuple(tensors), tensors, (data,), attributes=attributes)
        axis = int(rng.integers(-4, 4))
        parts: Tensors = {f"input{i}": values(rng, dtype) for i in range(3)}
        yield one_node("Concat", tuple(parts), parts, tuple(parts), attributes={"axis": axis})
        yield from wheres(rng, dtype)
        lengths = np.array([5, 12, 0, 13])
        outputs = tuple(f"y{i}" for i in range(4))
        split: Tensors = {"input": values(rng, dtype), "split": lengths}
        yield one_node("Split", tuple(split), split, ("input",), outputs, attributes={"axis": 3})


def group(rng: Rng, name: str, dtype: str, *, exact: bool, kept: bool) -> Case:
    """One operator between DequantizeLinear and QuantizeLinear, with the same parameters where ``kept``."""
    b = Builder(rng, dtype, exact)
    x, x_scale = b.activation(SHAPE)
    more, attributes = CALLS[name](rng)
    constants = [b.constant(n, value) for n, value in more.items()]
    y = b.add(name.partition(" ")[0], x, *constants, **attributes)
    return b.finish_alike(y) if kept else b.finish(y, float(x_scale) * 1.3)


def split_group(rng: Rng, dtype: str, *, exact: bool) -> Case:
    """A Split with DequantizeLinear before and QuantizeLinear after each part, all of the same parameters."""
    b = Builder(rng, dtype, exact)
    x, _ = b.activation(SHAPE)
    given = b.nodes[0].inputs[1:]
    b.nodes.append(Node("Split", (x,), ("s0", "s1"), attributes={"axis": 3, "num_outputs": 2}))
    ends = [b.add("DequantizeLinear", b.add("QuantizeLinear", n, *given), *given) for n in ("s0", "s1")]  # fmt: skip
    graph = Graph(tuple(b.nodes), b.constants, tuple(b.inputs), tuple(ends), {"": 21})
    return Case(graph, b.inputs)


def group_cases(dtype: str, seed: int) -> Iterator[Case]:
    """DequantizeLinear and QuantizeLinear are dropped around all but Pad where their parameters are equal."""
    for rng, number, exact in variants(seed):
        for name in CALLS:
            yield group(rng, name, dtype, exact=exact, kept=number % 2 == 0)
        yield split_group(rng, dtype, exact=exact)


def cast_cases(seed: int) -> Iterator[Case]:
    """To float32 from every type, to float16, to codes within their range, and between codes."""
    rng = np.random.default_rng(seed)
    to = {name: onnx.helper.np_dtype_to_tensor_dtype(dtype) for name, dtype in DTYPES.items()}
    size = 4_000
    integers = ("int8", "uint8", "int16", "uint16", "int32", "int64")
    for given in integers:
        info = np.iinfo(given)
        x = rng.integers(info.min, info.max, size, dtype=given, endpoint=True)
        for wanted in ("float32", "bool", *integers):
            yield one_node("Cast", ("input",), {"input": x}, ("input",), attributes={"to": to[wanted]})  # fmt: skip
    bits = rng.integers(0, 2**32, size, dtype=np.uint32).view(np.float32)
    small = (rng.normal(0, 1, size) * 2.0 ** rng.integers(-26, 17, size)).astype(np.float32)
    ties = ((2 * rng.integers(0, 2**15, size) + 1) * 2.0 ** rng.integers(-30, 1, size)).astype(np.float32)  # fmt: skip
    for x in (np.where(np.isnan(bits), np.float32(np.nan), bits), small, ties):
        for wanted in ("float16", "bool", "float32"):
            yield one_node("Cast", ("input",), {"input": x}, ("input",), attributes={"to": to[wanted]})  # fmt: skip
    half = rng.integers(0, 2**16, size).astype(np.uint16).view(np.float16)
    half = np.where(np.isnan(half), np.float16(np.nan), half)
    for x in (half, rng.random(size) < 0.5, rng.normal(0, 1, size) * 2.0 ** rng.integers(-140, 127, size)):  # fmt: skip
        yield one_node("Cast", ("input",), {"input": x}, ("input",), attributes={"to": to["float32"]})  # fmt: skip
    for wanted in ("int8", "uint8", "int16", "int32"):
        info = np.iinfo(wanted)
        x = rng.uniform(info.min - 0.99, info.max / 1.01, size).astype(np.float32)
        x[: size // 2] = rng.uniform(-0.99 if info.min == 0 else -9, 9, size // 2)
        yield one_node("Cast", ("input",), {"input": x}, ("input",), attributes={"to": to[wanted]})


BATTERIES = Batteries(
    (
        *(Battery("Moving", t, "QOperator", functools.partial(moving_cases, t)) for t in TYPES),
        *(
            Battery("Moving", t, "QDQ", functools.partial(group_cases, t), LEVELS)
            for t in ("int8", "uint8", "int16")
        ),
        Battery("Cast", "all", "QOperator", cast_cases),
    )
)
