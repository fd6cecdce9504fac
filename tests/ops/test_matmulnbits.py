"""com.microsoft MatMulNBits: weights in blocks; A in int8 at accuracy level 4."""

from fractions import Fraction

import numpy as np
import pytest

from qlab.batteries.blocked import packed
from qlab.case import Case
from qlab.errors import TraceError
from qlab.graph import Graph
from tests.ops.calls import SCHEMES, call, equal, f32, result, returned, step, tensor, traced


def weights(codes, bits=4, block_size=16):
    """(N, blocks · block_size) codes as B: (N, blocks, bytes of a block)."""
    return packed(np.asarray(codes), bits).reshape(len(codes), -1, block_size * bits // 8)


def nbits(
    a, codes, scales, zero_points=None, bias=None, *, bits=4, level=0, size=16, fed=(), **attributes
):
    """Codes (N, blocks · size); all but A and ``fed`` are constants."""
    n, k = len(codes), np.shape(a)[-1]
    tensors = {"A": f32(a), "B": weights(codes, bits, size), "scales": f32(scales)}
    if zero_points is not None:
        tensors["zero_points"] = packed(np.asarray(zero_points), bits)
    if bias is not None:
        tensors["bias"] = f32(bias)
    attributes = {"K": k, "N": n, "bits": bits, "block_size": size, "accuracy_level": level} | attributes  # fmt: skip
    case = call("MatMulNBits", tensors, domain="com.microsoft", **attributes)
    constants = {k: v for k, v in tensors.items() if k != "A" and k not in fed}
    inputs = tuple(name for name in tensors if name not in constants)
    graph = Graph(case.graph.nodes, constants, inputs, ("out",), case.graph.opset)
    return Case(graph, {name: tensors[name] for name in inputs})


def on_every_cpu(case, expected):
    for name in SCHEMES:
        equal(result(case, name), expected, "float32")
    for cpu in ("vnni", "sse"):
        equal(result(case, "ort_cpu", cpu), expected, "float32")
    equal(returned(case), expected, "float32")


def codes_of(*values):
    """One column of one block for each: these codes first, then 8, which is zero."""
    return [[*v, *[8] * (16 - len(v))] for v in values]


@pytest.mark.parametrize("level", [0, 4])
def test_by_hand(level):
    # 127 in each row makes the step of int8 codes of A 1, so that level 4 loses nothing.
    a = np.zeros((2, 16))
    a[:, 0], a[0, 1], a[1, 2] = 127, 3, -5
    codes = codes_of([8, 10, 0], [9, 8, 15])
    expected = f32([[3 * 2, 127], [-5 * -8, 127 - 5 * 7]]) * f32([0.5, 2])
    on_every_cpu(nbits(a, codes, [[0.5], [2]], level=level), expected)
    on_every_cpu(nbits(a, codes, [[0.5], [2]], None, [10, -1], level=level), expected + f32([10, -1]))  # fmt: skip


@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize("bits", [4, 8])
def test_zero_points_are_packed_and_the_first_code_is_in_the_low_bits(bits, level):
    a = np.zeros((1, 40))  # three blocks, the last of 8 rows
    a[0, [0, 16, 32]] = 127, 254, 381
    codes = np.zeros((2, 48), int)
    codes[:, [0, 16, 32]] = [[1, 2, 3], [4, 5, 15]]
    case = nbits(a, codes, np.ones((2, 3)), [[1, 0, 5], [0, 7, 15]], bits=bits, level=level)
    expected = [0 + 2 * 2 - 2 * 3, 4 - 2 * 2 + 0]
    # The zero points of the rows of A that are zero count as nothing.
    on_every_cpu(case, f32([expected]) * 127)


def test_bits_of_the_default_zero_point():
    a = np.zeros((1, 16))
    a[0, 0] = 127
    on_every_cpu(nbits(a, [[128 + 3, *[0] * 15]], [[1]], bits=8, level=4), f32([[381]]))


@pytest.mark.parametrize("cpu", ["avx2", "vnni"])
def test_accuracy_level_4_quantizes_a(cpu):
    a = np.zeros((2, 16))
    a[:, 0] = 127
    a[0, 1:5] = 0.5, 1.5, 2.5, 0.49  # ties go to even codes
    case = nbits(a, codes_of([8, *[9] * 5]), [[1]], level=4)
    codes = step(case, "A_codes", "ort_cpu", cpu)
    assert codes[0, 0, 1:5].tolist() == [0, 2, 2, 0]
    equal(result(case, "ort_cpu", cpu), [[4], [0]])
    assert result(case)[0, 0] == np.float32(0.5 + 1.5 + 2.5) + np.float32(0.49)
    # SSE has no such kernel.
    equal(result(case, "ort_cpu", "sse"), f32([[4.99], [0]]))


@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize("shape", [(7,), (1, 7), (2, 3, 7)])
def test_axes_of_a(shape, level):
    a = np.full(shape, 127)
    expected = np.full((*shape[:-1], 1), 127 * 7)
    on_every_cpu(nbits(a, codes_of([9] * 7), [[1]], level=level), f32(expected))


@pytest.mark.parametrize("cpu", ["avx2", "vnni", "sse"])
@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize(("rows", "bits"), [(1, 4), (3, 4), (3, 8)])
def test_the_taps_end_where_the_sum_does(rows, bits, level, cpu):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 1 << bits, (5, 16 * 9))
    case = nbits(rng.normal(size=(rows, 140)), codes, rng.uniform(0.1, 1, (5, 9)), bits=bits, level=level)  # fmt: skip
    steps = traced(case, "ort_cpu", cpu).element("out", (rows - 1, 4))
    found = next(s for s in steps if s.taps)
    assert found.taps.running[-1] == found.value
    assert not {"A_codes", "B_real"} & {s.name for s in steps}  # they are of no one element


def test_exact_is_a_rational_number():
    case = nbits([[0.1] * 16], codes_of([9, 9, 9]), [[0.1]], bias=[1])
    tenth = Fraction(float(np.float32(0.1)))
    assert traced(case).tensors["out"][0, 0] == 3 * tenth * tenth + 1


def test_zero_points_that_are_fed_are_ignored_at_accuracy_level_4():
    """A bug of ONNX Runtime's: only initializers are packed."""
    a = np.zeros((2, 16))
    a[:, 0] = 127
    case = nbits(a, codes_of([9]), [[1]], [[1]], level=4, fed=("zero_points",))
    for name in ("exact", "float64", "float32"):
        equal(result(case, name), [[8 * 127]] * 2)
    for actual in (result(case, "ort_cpu", "vnni"), result(case, "ort_cpu", "avx2")):
        equal(actual, [[127]] * 2)
    part = next(s for s in traced(case, "ort_cpu", "vnni").nodes[0].steps if s.name == "zero_point_part")  # fmt: skip
    assert "these are taken as 8 instead" in part.note


def test_blocks_of_512_rows_are_cut():
    a = np.zeros((2, 512))
    a[:, 0], a[:, 256], a[:, 257] = 127, 12.7, 0.06  # in one block the code of 0.06 is 0
    codes = np.full((1, 512), 8)
    codes[0, 257] = 9
    case = nbits(a, codes, [[1]], level=4, size=512)
    assert step(case, "A_codes", "ort_cpu", "vnni").shape == (2, 2, 256)
    assert abs(result(case, "ort_cpu", "vnni")[0, 0] - 0.1) < 1e-4
    equal(returned(case), result(case, "ort_cpu", "vnni"))


def test_what_is_not_modelled():
    plain = nbits([[1] * 16], codes_of([9]), [[1]])
    with pytest.raises(TraceError, match="MatMulNBits on arm64 has kernels of its own: not modelled"):  # fmt: skip
        result(plain, "ort_cpu", "arm64")
    fed = nbits([[1] * 16], codes_of([9]), [[1]], level=4, fed=("scales",))
    with pytest.raises(TraceError, match="scales is no initializer.*never wrote; not modelled"):
        result(fed, "ort_cpu", "vnni")
    for bad in (np.nan, np.inf, 1e-38):
        with pytest.raises(TraceError, match="a block of A with NaN, an infinity"):
            result(nbits([[bad] * 16], codes_of([9]), [[1]], level=4), "ort_cpu", "vnni")
    two = nbits([[1] * 16], [[3, *[2] * 15]], [[1]], bits=2)
    equal(result(two), [[1]])
    with pytest.raises(TraceError, match="of 2 bits is not modelled"):
        result(two, "ort_cpu", "vnni")
    tensors = {"A": f32([[1] * 16]), "B": weights(codes_of([9])), "scales": f32([1])}
    attributes = {"K": 16, "N": 1, "bits": 4, "block_size": 16}
    with pytest.raises(TraceError, match="g_idx moves rows of B between blocks: not modelled"):
        g_idx = tensor("int32", [0] * 16)
        result(call("MatMulNBits", {**tensors, "g_idx": g_idx}, domain="com.microsoft", **attributes))  # fmt: skip
    with pytest.raises(TraceError, match="zero_points is float32: not modelled"):
        result(call("MatMulNBits", {**tensors, "zero_points": f32([1])}, domain="com.microsoft", **attributes))  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"K": 15}, r"A has the shape \[1, 16\]; its last axis must have K = 15"),
        ({"N": 2}, r"scales has the shape \[1, 1\]; 2 × 1 entries are needed"),
        ({"N": 0}, "N is 0; it must be at least 1"),
        ({"block_size": 24}, "block_size is 24; a power of two from 16 on is allowed"),
        ({"block_size": 8}, "block_size is 8; a power of two from 16 on is allowed"),
        ({"block_size": 32}, r"B has the shape \[1, 1, 8\]; 1 × 16 entries are needed"),
    ],
)
def test_what_does_not_fit(changed, message):
    with pytest.raises(TraceError, match=message):
        result(nbits([[1] * 16], codes_of([9]), [[1]], **changed))


def test_other_inputs_that_do_not_fit():
    plain = {"A": f32([[1] * 16]), "B": weights(codes_of([9])), "scales": f32([1])}
    with pytest.raises(TraceError, match="bits is 3; 2, 4 and 8 are allowed"):
        result(call("MatMulNBits", plain, domain="com.microsoft", K=16, N=1, bits=3, block_size=16))
    with pytest.raises(TraceError, match=r"bias has the shape \[2\]; 1 entries are needed"):
        result(nbits([[1] * 16], codes_of([9]), [[1]], bias=[1, 2]))
    tensors = {"A": f32([[1] * 16]), "B": tensor("int8", [[[0] * 8]]), "scales": f32([1])}
    attributes = {"K": 16, "N": 1, "bits": 4, "block_size": 16}
    with pytest.raises(TraceError, match="B is int8; packed uint8 is allowed"):
        result(call("MatMulNBits", tensors, domain="com.microsoft", **attributes))
