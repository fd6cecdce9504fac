"""The batteries of float products can fail: each fault in the arithmetic is rejected. And what is fused, with which settings."""

import numpy as np
import pytest

from qlab.arithmetic import fma
from qlab.batteries import batteries
from qlab.compare import differing
from qlab.engines.ort import emulated_cpus, run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.fidelity import measure
from qlab.kernels import lanes, matmulintegertofloat, matmulnbits
from qlab.kernels.numbers import f32
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import Step, trace

NBITS = "MatMulNBits float32 × {} bits, accuracy level {}"
TO_FLOAT = "MatMulIntegerToFloat uint8 × uint8"
DYNAMIC = "DynamicQuantizeMatMul float32 × int8"


def fused_bias(scheme, accumulator, scales, bias, tensor, *, separate):
    multiplier, _ = scheme.scale_product(scales)
    value = f32(f32(accumulator) * multiplier)
    if bias is not None:
        value = fma(f32(accumulator), multiplier, bias)
    yield Step("output", "", value, tensor=tensor)
    return value


def never_separate(scheme, accumulator, scales, bias, tensor, *, separate):
    return (yield from RESCALE(scheme, accumulator, scales, bias, tensor, separate=False))


def always_separate(scheme, accumulator, scales, bias, tensor, *, separate):
    return (yield from RESCALE(scheme, accumulator, scales, bias, tensor, separate=True))


def bias_after_the_separate_scale(scheme, accumulator, scales, bias, tensor, *, separate):
    value = yield from RESCALE(scheme, accumulator, scales, None, "", separate=separate)
    value = value if bias is None else f32(value + bias)
    yield Step("output", "", value, tensor=tensor)
    return value


RESCALE = matmulintegertofloat.rescale


def unfused(a, b, c):
    return f32(f32(a * b) + c)


def no_tail(columns):
    return np.ones(columns, bool)


def half_away(a, w):
    codes, scale = QUANTIZED(a, w)
    inverse = f32(127 / np.where(scale == 0, 1, f32(scale * 127)))
    x = np.pad(a, ((0, 0), (0, w.codes.shape[1] - w.k))).reshape(codes.shape)
    x = f32(x * inverse[..., None])
    return np.where(scale[..., None] == 0, 0, np.trunc(x + np.copysign(0.5, x))).astype(
        np.int64
    ), scale


QUANTIZED = matmulnbits._quantized


def in_turn(block_sizes):
    """A schedule that takes each block alone."""

    def schedule(blocks, block_size, bits, cpu, *, one_by_one):
        width = 16 if cpu == "vnni" else 8
        run = block_size // width
        for block in range(blocks):
            if block_size in block_sizes:
                yield tuple((block, tuple(range(i * run, i * run + run))) for i in range(width))
        if block_size not in block_sizes:
            yield from lanes.schedule(blocks, block_size, bits, cpu, one_by_one=one_by_one)

    return schedule


WRONG = [
    (matmulintegertofloat, "rescale", fused_bias, TO_FLOAT),
    (matmulintegertofloat, "rescale", never_separate, TO_FLOAT),
    (matmulintegertofloat, "rescale", always_separate, TO_FLOAT),
    (matmulintegertofloat, "rescale", bias_after_the_separate_scale, TO_FLOAT),
    (matmulintegertofloat, "rescale", bias_after_the_separate_scale, DYNAMIC),
    *(
        (matmulnbits, name, value, NBITS.format(bits, level))
        for bits, level in ((4, 0), (4, 4), (8, 4))
        for name, value in (
            ("fma", unfused),
            ("in_quarters", lanes.in_halves),
            ("in_halves", lanes.in_quarters),
            ("in_halves", lanes.in_pairs),
            ("_in_fours", no_tail),
        )
    ),
    *(
        (matmulnbits, name, value, NBITS.format(bits, 4))
        for bits in (4, 8)
        for name, value in (
            ("_quantized", half_away),
            ("LARGEST_BLOCK", 512),
            ("schedule", in_turn((16,))),
            ("schedule", in_turn((32,))),
            ("schedule", in_turn((64,))),
            ("schedule", in_turn((128, 256))),
        )
    ),
]


@pytest.mark.parametrize(("module", "name", "value", "battery"), WRONG)
def test_a_fault_is_rejected(module, name, value, battery, monkeypatch):
    assert measure(batteries()[battery], every=2).perfect
    monkeypatch.setattr(module, name, value)
    row = measure(batteries()[battery], every=2)
    assert row.mispredicted > 0 and not row.unmodelled, row.first


@pytest.mark.parametrize("level", [0, 4])
def test_the_order_of_another_cpu_is_rejected(level, monkeypatch):
    battery = batteries()[NBITS.format(4, level)]
    for cpu, other in (("this", 8), ("avx2", 16)):
        if cpu in ("this", *emulated_cpus()):
            with monkeypatch.context() as patch:
                multiply = matmulnbits.multiply
                name = "avx2" if other == 8 else "vnni"
                patch.setattr(matmulnbits, "multiply", lambda _, *rest, m=multiply, n=name: m(n, *rest))  # fmt: skip
                if measure(battery, every=7, cpu=cpu).cpu != name:
                    assert measure(battery, every=7, cpu=cpu).mispredicted


QDQ = [name for name in batteries() if name.startswith("QDQ MatMul of weights")]


@pytest.mark.parametrize("name", QDQ)
@pytest.mark.parametrize("level", ["", "0", "4"])
def test_weights_are_fused_and_the_session_entry_chooses_the_accuracy_level(name, level):
    entries = {"session.qdq_matmulnbits_accuracy_level": level} if level else {}
    for case in list(batteries()[name].cases(1))[::4]:
        run = run_ort(case, SessionConfig("ORT_ENABLE_ALL", entries))
        assert run.status is RunStatus.OK, run.message
        (node,) = run.graph.nodes
        assert node.op_type == "MatMulNBits"
        assert node.attributes["accuracy_level"] == int(level or 4)
        predicted = trace(run.graph, case.inputs, OrtCpu(run.cpu)).outputs["y"]
        assert not differing(predicted, run.outputs["y"]).any()


def test_the_float_group_is_fused():
    row = measure(batteries()["Float group Gemm, Relu float32"])
    assert {"com.microsoft.FusedGemm", "Gemm"} <= set(row.operators)


def test_at_accuracy_level_0_the_result_is_that_of_floats():
    """As the sentence of the page has it: level 4 loses about 1 %, level 0 nothing but roundings."""
    for name in QDQ:
        case = next(batteries()[name].cases(2))
        exact = trace(case.graph, case.inputs, OrtCpu("sse")).outputs["y"].astype(np.float64)
        errors = []
        for level in ("0", "4"):
            config = SessionConfig("ORT_ENABLE_ALL", {"session.qdq_matmulnbits_accuracy_level": level})  # fmt: skip
            found = run_ort(case, config).outputs["y"]
            errors.append(np.linalg.norm(found - exact) / np.linalg.norm(exact))
        assert errors[0] < 1e-5
        assert 1e-4 < errors[1] < 0.05 or run_ort(case).cpu == "sse"
