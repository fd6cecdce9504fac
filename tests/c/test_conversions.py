"""QuantizeLinear and DequantizeLinear as C in every type: float16, float8, 2 bits, blocks, older releases."""

import itertools

import numpy as np
import pytest

from qlab.arithmetic import to_float8
from qlab.batteries import batteries
from qlab.c import c_source, written
from qlab.case import Case
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from tests.c.compiled import needs_compiler, none_differs

pytestmark = needs_compiler
SCHEMES = {
    "float32": scheme("float32"),
    "float64": scheme("float64"),
    "vnni": OrtCpu("vnni"),
    "exact": scheme("exact"),
}
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
QUANTIZING = [
    f"QuantizeLinear {t}"
    for t in (*FLOAT8, "int2", "uint2", "float16 int8", "float16 uint4", "float16 int16", "float16 float8_e5m2")
]  # fmt: skip
DEQUANTIZING = [
    f"DequantizeLinear {t}"
    for t in (*FLOAT8, "int2", "uint2", "float16 int8", "float16 uint16", "float16 int32", "float16 float8_e4m3fn")
]  # fmt: skip
OTHERS = [b for b in batteries() if b.startswith("com.microsoft.") and "16" not in b]
OTHERS += ["QuantizeLinear opsets 19 to 25 int4", "DequantizeLinear opsets 19 to 25 int32"]


@pytest.mark.parametrize("battery", [*QUANTIZING, *DEQUANTIZING, *OTHERS])
@pytest.mark.parametrize("name", SCHEMES)
def test_battery(name, battery):
    every = 40 if battery in QUANTIZING else 20
    for case in itertools.islice(batteries()[battery].cases(0), 3, None, every):
        none_differs(case, SCHEMES[name])


def _case(
    x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None, opset: int = 25, operator: str = "QuantizeLinear",
    **attributes: int,
) -> Case:  # fmt: skip
    prefix = "y" if operator == "QuantizeLinear" else "x"
    constants = {f"{prefix}_scale": scale}
    if zero_point is not None:
        constants[f"{prefix}_zero_point"] = zero_point
    node = Node(operator, ("x", *constants), ("y",), "", attributes)
    return Case(Graph((node,), constants, ("x",), ("y",), {"": opset}), {"x": x})


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", *FLOAT8])
def test_every_number_of_a_format(dtype):
    """Read from all their bits; with the scale 1 what DequantizeLinear to float16 and QuantizeLinear write."""
    bits = 8 * DTYPES[dtype].itemsize
    stride = 1 if bits == 8 else 3  # a file holds 100,000 numbers
    values = np.arange(0, 2**bits, stride).astype(f"uint{bits}").view(DTYPES[dtype])
    if dtype in FLOAT8:
        case = _case(values, np.asarray(1, np.float32), None, operator="DequantizeLinear")
    else:
        case = _case(values, np.asarray(0.25, DTYPES[dtype]), np.asarray(3, np.int8))
    for name in ("float32", "float64"):
        assert none_differs(case, SCHEMES[name]) >= len(values)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("dtype", FLOAT8)
def test_between_two_numbers_of_float8(dtype, saturate):
    """The middle between each two neighbours and beside it, to beyond the largest; older releases too."""
    every = np.arange(256).astype(np.uint8).view(DTYPES[dtype]).astype(np.float32)
    sorted_values = np.unique(every[np.isfinite(every)])
    middle = (sorted_values[1:] + sorted_values[:-1]) / 2
    end = sorted_values[-1] * np.linspace(1, 1.3, 61, dtype=np.float32)
    tiny = sorted_values[sorted_values > 0][0] * np.asarray([0.1, 0.5, 0.6], np.float32)
    x = np.concatenate([middle, end, -end, tiny, -tiny, [np.inf, -np.inf, np.nan, 0.0, -0.0]])
    x = x.astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(0)), np.nextafter(x, np.float32(1))])
    zero = to_float8(np.zeros((), np.float32), dtype, saturate=True)
    case = _case(x, np.asarray(1, np.float32), zero, saturate=saturate, opset=19)
    for each in (
        *(SCHEMES[n] for n in ("float32", "float64", "vnni")),
        OrtCpu("avx2", version="1.19.2"),
    ):
        none_differs(case, each)


@pytest.mark.parametrize("dtype", ["int4", "uint8", "int16", "float8_e4m3fn"])
@pytest.mark.parametrize("name", [n for n in SCHEMES if n != "exact"])
def test_divides_in_float16(name, dtype):
    x = np.random.default_rng(0).normal(0, 3, (4, 64)).astype(np.float32)
    x[0, :6] = [np.inf, -np.inf, np.nan, 70000, 0.15, 1e-6]
    zero = np.zeros((), DTYPES[dtype])
    case = _case(x, np.asarray(0.1, np.float32), zero, precision=10)
    source = c_source(case, SCHEMES[name])
    assert ("x_half" in source) == (name == "vnni")
    none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("dtype", ["int2", "uint4", "int8", "uint16"])
@pytest.mark.parametrize("version", ["1.22.0", "1.28.0", "1.31.0"])
@pytest.mark.parametrize("half", [False, True])
def test_older_releases(half, version, dtype):
    """Through int32, where an overflow ends at the wrong code; with 4 bits in bytes that two scales share."""
    rng = np.random.default_rng(1)
    x = (rng.normal(0, 4, (6, 7)) * 10.0 ** rng.integers(0, 12, (6, 7))).astype(np.float32)
    x[0, :4] = [np.inf, -np.inf, np.nan, 3e9]
    of_reals = np.float16 if half else np.float32
    per_tensor = dtype == "int2"
    scale = np.asarray(0.5 if per_tensor else rng.uniform(0.1, 1, 6), of_reals)
    zero = np.zeros(scale.shape, DTYPES[dtype])
    with np.errstate(over="ignore"):
        x = x.astype(of_reals)
    none_differs(_case(x, scale, zero, opset=21, axis=0), OrtCpu("avx2", version=version))
    blocks = rng.uniform(0.1, 1, (2, 7)).astype(of_reals)
    zeros = np.zeros(blocks.shape, DTYPES[dtype])
    case = _case(x, blocks, zeros, opset=21, axis=0, block_size=3)
    none_differs(case, OrtCpu("avx2", version=version))


@pytest.mark.parametrize("name", SCHEMES)
def test_groups_of_other_formats(name):
    """x → float8 → float16: what a node made is read by the next."""
    scale = np.asarray(0.25, np.float16)
    zero = np.asarray(0, DTYPES["float8_e5m2"])
    constants = {"s": scale, "z": zero}
    nodes = (
        Node("QuantizeLinear", ("x", "s", "z"), ("q",)),
        Node("DequantizeLinear", ("q", "s", "z"), ("y",)),
    )
    x = np.random.default_rng(2).normal(0, 2, (5, 9)).astype(np.float16)
    case = Case(Graph(nodes, constants, ("x",), ("y",), {"": 19}), {"x": x})
    none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("name", ["tflite", "xnnpack", "fbgemm", "gemmlowp"])
def test_float8_has_no_arithmetic_in_the_integer_families(name):
    case = next(batteries()["DequantizeLinear float8_e4m3fn"].cases(0))
    assert "no arithmetic" in written(case, scheme(name)).why_not
