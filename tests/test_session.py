"""What `run` says of each gallery case, on this machine and on emulated CPUs: the sentences that people read."""

import dataclasses

import numpy as np
import pytest

from qlab.builder import build
from qlab.engines.ort import emulated_cpus
from qlab.engines.results import RunStatus
from qlab.errors import QlabError
from qlab.gallery import gallery_case, gallery_names
from qlab.graph import Node
from qlab.session import run

needs_avx2 = pytest.mark.skipif(
    "avx2" not in emulated_cpus(), reason="qemu-user is not installed (apt install qemu-user)"
)


@pytest.fixture(scope="module")
def report():
    return {name: run(gallery_case(name)) for name in gallery_names()}


def ours(report, cpu):
    """What ort_cpu predicts for a CPU on the most optimized graph; "" for the CPU that ran."""
    found = [
        r
        for r in report.scheme_runs
        if r.scheme == "ort_cpu" and r.cpu == cpu and r.trace is not None
    ]
    return found[-1].trace.outputs if found else None


def test_qlinearadd_off_by_one(report):
    (a) = report["qlinearadd-off-by-one"]
    assert a.verdict.headline == (
        "1 of 1 code differs, by 1 step: ONNX Runtime 1.32.0 gives −88 where exact arithmetic has −87."
    )
    assert a.verdict.sentences[:2] == (
        "They part at the sum of QLinearAdd: float32 rounds −87.49999529… to −87.5; "
        "a tie goes to the even −88.",
        "ONNX Runtime computed this: predicted and equal in 1 of 1 code.",
    )
    assert "On ARM64 our model predicts that the result is exact: −87." in a.verdict.sentences
    assert ours(a, "arm64")["C"].item() == -87
    assert (a.exit_status, a.ort_explained) == (1, True)


def test_per_channel_zero_points_are_right_and_older_releases_refuse(report):
    b = report["qlinearconv-per-channel-zero-points"]
    assert b.verdict.headline == (
        "ONNX Runtime 1.32.0 is right here, all 8 codes agree with exact arithmetic: 136, 129. "
        "ONNX Runtime 1.26.0 and older refuse it (RUNTIME_EXCEPTION: zero point of per-channel filter must be same); "
        "1.27.0 is the first release that runs it."
    )
    assert (b.exit_status, b.ort_explained) == (0, True)


def test_conv_bias_is_right_and_a_fusing_release_is_shown(report):
    c = report["qdq-conv-bias-scale"]
    assert "all 12 codes agree with exact arithmetic: 0.05, 1.35, 6." in c.verdict.headline
    assert (
        "A release that fuses this group (1.26.0 and older) gives 0, 0, 0.05" in c.verdict.headline
    )
    assert "a fused bias has the scale x_scale·w_scale = 0.0002" in c.verdict.headline
    fused = c.scheme("ort_cpu", "fused").trace.outputs["y"]
    assert fused.reshape(3, 4)[:, 0].tolist() == np.float32([0, 0, 0.05]).tolist()
    assert (c.exit_status, c.ort_explained) == (0, True)


def test_gemm_bias_is_wrong_in_this_release(report):
    gemm = report["qdq-gemm-bias-scale"]
    assert gemm.verdict.headline == (
        "At ORT_ENABLE_ALL 3 of 3 codes differ, by up to 100 steps: ONNX Runtime 1.32.0 gives 0, 0, 0 "
        "where exact arithmetic has 0.05, 1.35, 5; ORT_DISABLE_ALL is right."
    )
    assert gemm.verdict.sentences[0] == (
        "They part at the bias of QGemm: the bias scale 0.05 is ignored: this Gemm is fused into QGemm, "
        "and a fused bias has the scale a_scale·b_scale = 0.0002."
    )
    assert (gemm.exit_status, gemm.ort_explained) == (1, True)


SATURATING = {
    "matmulinteger-u8s8-saturates": (
        "3 of 9 codes differ, by up to 6,294 steps",
        "238·125 + 115·76 = 38,490 saturates to 32,767",
    ),
    "qgemm-u8s8-saturates": (
        "1 of 1 code differs, by 1 step",
        "210·−81 + 198·−80 = −32,850 saturates to −32,768",
    ),
    "qdq-conv-int8-rewritten": (
        "2 of 2 codes differ, by up to 107 steps",
        "253·127 + 253·127 = 64,262 saturates to 32,767",
    ),
}


@needs_avx2
@pytest.mark.parametrize("name", SATURATING)
def test_saturation_is_explained_where_it_happens(name):
    found = run(gallery_case(name), cpu="avx2")
    count, why = SATURATING[name]
    assert count in found.verdict.headline
    assert any(why in sentence for sentence in found.verdict.sentences)
    assert (found.exit_status, found.ort_explained) == (1, True)


@pytest.mark.skipif(
    "sse" not in emulated_cpus(), reason="qemu-user is not installed (apt install qemu-user)"
)
@pytest.mark.parametrize("name", SATURATING)
def test_saturation_is_absent_where_it_does_not_happen(name):
    found = run(gallery_case(name), cpu="sse")
    count, why = SATURATING[name]
    assert (found.exit_status, found.ort_explained) == (0, True)
    assert "our model predicts: " + count in found.verdict.headline
    assert why in found.verdict.headline


@pytest.mark.parametrize("name", gallery_names())
def test_what_is_expected_is_what_exact_computes(report, name):
    case = gallery_case(name)
    exact = report[name].scheme("exact")
    if exact.trace is None:
        return
    for output, value in case.expected.items():
        assert exact.trace.outputs[output].dtype == value.dtype
        assert exact.trace.outputs[output].tolist() == value.tolist()


@pytest.mark.parametrize("name", gallery_names())
def test_every_gallery_case_that_runs_is_explained_or_says_why_not(report, name):
    found = report[name]
    if found.ort_explained is None:
        assert found.exit_status == 3 or any(
            "cannot compute" in e.sentence or "changes from run" in e.sentence
            for e in found.explanations
        )
    else:
        assert found.ort_explained


@pytest.mark.parametrize("name", gallery_names())
def test_sentences_are_sentences(report, name):
    verdict = report[name].verdict
    for sentence in (verdict.headline, *verdict.sentences):
        assert sentence[0].isupper() or sentence[0].isdigit() or "_" in sentence.split()[0]
        assert sentence.endswith((".", "…"))
        assert "\n" not in sentence
        assert "None" not in sentence


def test_an_unknown_level():
    with pytest.raises(QlabError, match="unknown level 'all'; ONNX Runtime has ORT_DISABLE_ALL, "):
        run(gallery_case("qlinearadd-off-by-one"), levels=("all",))


def test_no_level():
    with pytest.raises(QlabError, match="no level is given; ONNX Runtime has ORT_DISABLE_ALL, "):
        run(gallery_case("qlinearadd-off-by-one"), levels=())


def test_a_rejected_case_is_a_result_with_the_rule_and_the_words():
    found = run(build("QLinearMatMul", dtype="int8", weight_dtype="uint8"))
    assert found.exit_status == 3
    assert found.verdict.headline == "ONNX Runtime 1.32.0 refuses this: a is int8 and b is uint8."
    assert found.verdict.sentences[0] == (
        "ONNX Runtime's CPU kernels take uint8 × uint8, uint8 × int8 and int8 × int8. "
        "Nearest form that runs: int8 × int8, codes and zero point moved by 128."
    )
    assert found.verdict.sentences[1].startswith(
        "Its words: NOT_IMPLEMENTED: Could not find an implementation"
    )
    assert {r.status for r in found.ort_runs} == {RunStatus.REJECTED}


def test_a_scale_of_zero_is_run_and_said():
    found = run(build("QuantizeLinear").with_tensor("y_scale", np.float32(0)))
    assert found.verdict.headline.startswith(
        "y_scale is 0. ONNX Runtime 1.32.0 runs it all the same"
    )
    assert any("0 / 0 is NaN, which becomes the lowest code" in s for s in found.verdict.sentences)
    assert found.ort_explained


def test_nothing_to_multiply_is_not_repeatable_or_zero():
    case = build("QLinearMatMul")
    case = case.with_tensor("a", np.zeros((2, 0), np.uint8)).with_tensor(
        "b", np.zeros((0, 2), np.int8)
    )
    found = run(case)
    assert found.verdict.status in ("unknown", "differs", "equal", "failed")
    assert found.scheme("exact").trace.outputs["y"].tolist() == [[129, 129], [129, 129]]


def test_an_operator_without_arithmetic_is_no_claim():
    case = build("QuantizeLinear")
    nodes = (
        Node("Tanh", ("x",), ("s",)),
        dataclasses.replace(case.graph.nodes[0], inputs=("s", "y_scale", "y_zero_point")),
    )
    found = run(dataclasses.replace(case, graph=dataclasses.replace(case.graph, nodes=nodes)))
    assert found.ort_explained is None
    assert any("no arithmetic for Tanh" in s for s in found.verdict.sentences)


def test_quantprecision_is_an_entry():
    case = gallery_case("qdq-conv-int8-rewritten")
    found = run(case, entries={"session.x64quantprecision": "1"})
    assert found.exit_status == 0
    assert all(r.config.entries == {"session.x64quantprecision": "1"} for r in found.ort_runs)


@pytest.mark.skipif("avx2" not in emulated_cpus(), reason="qemu-user is not here")
@pytest.mark.parametrize("name", ["qgemm-u8s8-saturates", "matmulinteger-u8s8-saturates"])
def test_quantprecision_acts_by_a_rewriting_that_the_lower_levels_lack(name):
    found = run(
        gallery_case(name),
        levels=("ORT_DISABLE_ALL", "ORT_ENABLE_EXTENDED"),
        entries={"session.x64quantprecision": "1"},
        cpu="avx2",
    )
    assert found.ort_explained is True
    saturated, rewritten = (found.comparisons_of(r) for r in found.ort_runs)
    assert not all(c.equal for c in saturated)
    assert all(c.equal for c in rewritten)
