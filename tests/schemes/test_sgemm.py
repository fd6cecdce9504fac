"""Float32 sums of ort_cpu against the installed ONNX Runtime, bit for bit: each order of adding, and when it is taken."""

import numpy as np
import pytest

from qlab.case import Case
from qlab.engines.ort import emulated_cpus, run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.graph import Graph
from qlab.kernels.sgemm import Order, order
from qlab.schemes import Product
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace
from tests.ops.calls import call

CPUS = ["this", "avx2", "sse"]


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def fed(case, *constants):
    """The case with these inputs as initializers."""
    values = {name: case.inputs[name] for name in constants}
    inputs = {k: v for k, v in case.inputs.items() if k not in values}
    return Case(Graph(case.graph.nodes, values, tuple(inputs), ("out",), case.graph.opset), inputs)


def agrees(case, cpu):
    if cpu != "this" and cpu not in emulated_cpus():
        pytest.skip("needs qemu-user (apt install qemu-user) on x86-64")
    run = run_ort(case, SessionConfig("ORT_DISABLE_ALL"), cpu=cpu, timeout=60)
    assert run.status is RunStatus.OK, run.message
    predicted = trace(case.graph, case.inputs, OrtCpu(run.cpu))
    np.testing.assert_array_equal(
        predicted.outputs["out"].view(np.uint32), run.outputs["out"].view(np.uint32)
    )
    # The taps end where the step does.
    last = tuple(n - 1 for n in run.outputs["out"].shape)
    step = next(s for s in predicted.element("out", last) if s.taps)
    assert step.taps.running[-1] == step.value


SIZES = [(1, 10, 7), (1, 27, 4), (1, 131, 33), (7, 13, 1), (34, 131, 1), (1, 100, 1), (5, 10, 7), (3, 300, 40),
         (3, 300, 200), (5, 700, 20), (2, 1100, 3)]  # fmt: skip


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_matmul(sizes, packed, cpu):
    m, k, n = sizes
    case = call("MatMul", {"A": normal(m, k), "B": normal(k, n)})
    agrees(fed(case, "B") if packed else case, cpu)


# Half of them under an emulated CPU, which is slow.
GEMMS = [
    (sizes, transposes, cpu)
    for cpu in CPUS
    for number, sizes in enumerate(SIZES)
    for transposes in ((0, 0), (0, 1), (1, 0), (1, 1))
    if cpu == "this" or (number + sum(transposes)) % 2
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("sizes", "transposes", "cpu"), GEMMS, ids=str)
def test_gemm(sizes, transposes, cpu, packed):
    m, k, n = sizes
    a, b = normal(m, k), normal(k, n)
    tensors = {"A": a.T.copy() if transposes[0] else a, "B": b.T.copy() if transposes[1] else b}
    attributes: dict[str, float] = {"transA": transposes[0], "transB": transposes[1]}
    kind = (m + k + n + sum(transposes)) % 4
    if kind % 2:
        tensors["C"] = normal(n)
    if kind == 3:
        attributes["alpha"] = 1.3
    elif kind == 1 and k > 20:
        attributes["beta"] = 0.7
    case = call("Gemm", tensors, **attributes)
    agrees(fed(case, "B") if packed else case, cpu)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("a", "b"),
    [((4, 1, 10), (10, 7)), ((4, 1, 10), (4, 10, 7)), ((4, 1, 10), (1, 10, 7)), ((1, 1, 10), (4, 10, 7)),
     ((4, 3, 10), (10, 1)), ((4, 3, 10), (10,)), ((10,), (10, 7)), ((10,), (4, 10, 7)), ((4, 3, 10), (4, 10, 1)),
     ((2, 2, 1, 10), (2, 1, 10, 7)), ((10,), (10,)), ((1, 10), (10,)), ((2, 5, 10), (10, 7))],
)  # fmt: skip
def test_batches_and_vectors(a, b, packed):
    case = call("MatMul", {"A": normal(*a), "B": normal(*b)})
    agrees(fed(case, "B") if packed else case, "this")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [((1, 3, 12, 13), (8, 3, 3, 3), {"pads": (1, 1, 1, 1)}),
     ((1, 6, 12, 13), (6, 1, 3, 3), {"group": 6, "pads": (1, 1, 1, 1)}),
     ((1, 6, 12, 13), (6, 1, 5, 5), {"group": 6, "strides": (2, 2)}),
     ((1, 6, 12, 13), (12, 1, 3, 3), {"group": 6}),
     ((1, 6, 30), (6, 1, 3), {"group": 6}),
     ((2, 30, 9, 9), (4, 30, 3, 3), {}),
     ((1, 30, 13, 13), (4, 30, 3, 3), {}),
     ((1, 30, 9, 9), (1, 30, 3, 3), {}),
     ((1, 300, 5, 5), (4, 300, 1, 1), {}),
     ((1, 300, 1, 1), (7, 300, 1, 1), {}),
     ((1, 3, 9, 9), (6, 3, 9, 9), {}),
     ((1, 3, 4, 4), (6, 3, 3, 3), {"strides": (2, 2)}),
     ((1, 140, 4, 4), (6, 140, 3, 3), {"strides": (2, 2)}),
     ((1, 140, 3, 3), (6, 140, 3, 3), {}),
     ((1, 300, 3), (4, 300, 2), {}),
     ((3, 1, 9, 9), (2, 1, 9, 9), {}),
     ((1, 1, 9, 7), (1, 1, 3, 7), {}),
     ((1, 1, 9, 7), (1, 1, 3, 7), {"strides": (2, 1)}),
     ((1, 1, 9, 7), (1, 1, 3, 7), {"pads": (1, 0, 1, 0)}),
     ((1, 1, 9, 7), (1, 1, 9, 3), {}),
     ((1, 2, 9, 7), (2, 1, 9, 7), {"group": 2}),
     ((1, 1, 29), (3, 1, 29), {}),
     ((1, 1, 29), (1, 1, 12), {}),
     ((1, 1, 5, 4, 7), (3, 1, 5, 4, 7), {})],
)  # fmt: skip
def test_convolutions(x, w, attributes, cpu):
    agrees(call("Conv", {"X": normal(*x), "W": normal(*w), "B": normal(w[0])}, **attributes), cpu)


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        (Product(1, 9), Order("fours", 4, False)),
        (Product(1, 9, b_transposed=True), Order("lanes", 4, False)),
        (Product(9, 1), Order("lanes", 4, False)),
        (Product(9, 1, a_transposed=True), Order("fours", 4, False)),
        (Product(1, 9, a_transposed=True), Order("chain", 128, True)),
        (Product(1, 9, packed=True), Order("chain", 256, True)),
        (Product(9, 9), Order("chain", 1024, True)),
        (Product(9, 64), Order("chain", 256, True)),
        (Product(9, 65), Order("chain", 128, True)),
    ],
)
def test_the_order_of_a_product(product, expected):
    assert order(product, "avx2") == order(product, "vnni") == expected
    assert order(product, "sse").name == order(product, "avx2", plain=False).name == "chain"


def test_no_products():
    agrees_without_taps = call("MatMul", {"A": normal(2, 0), "B": normal(0, 3)})
    assert trace(agrees_without_taps.graph, agrees_without_taps.inputs, OrtCpu()).outputs["out"].tolist() == [[0] * 3] * 2  # fmt: skip
