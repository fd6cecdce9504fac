"""The two sides of a comparison by their names, and the signature of a difference."""

import dataclasses

import numpy as np
import pytest

import qlab
from qlab.engines.ort import run_ort, run_ort_each
from qlab.engines.results import LEVELS, RunStatus, SessionConfig
from qlab.errors import QlabError
from qlab.probes import all_codes
from qlab.sides import Side, side
from qlab.signature import REWRITTEN, Signature, difference


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("exact", "exact"),
        ("tflite (single rounding)", "tflite (single rounding)"),
        ("onnx_reference", "onnx_reference"),
        ("ort", "onnxruntime:ORT_ENABLE_ALL"),
        ("ort:DISABLE_ALL", "onnxruntime:ORT_DISABLE_ALL"),
        ("ort:avx2:ORT_ENABLE_BASIC", "onnxruntime:ORT_ENABLE_BASIC:avx2"),
    ],
)
def test_a_name_gives_a_side_and_its_label_gives_it_again(name: str, label: str):
    found = side(name)
    assert found.label == label
    assert side(label) == found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("exakt", "unknown scheme 'exakt'"),
        ("ort:FAST", "'FAST' is no level"),
        ("ort:ALL:BASIC", "two of level"),
        ("ort:99.0.0", "not on this machine"),
        ("", "unknown scheme ''"),
    ],
)
def test_a_name_that_is_none_is_answered_in_one_line(name: str, words: str):
    with pytest.raises(QlabError, match="(?s)") as caught:
        side(name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_one_code_of_the_first_report_parts_at_the_sum():
    case = qlab.load_case("qlinearadd-off-by-one")
    for name in ("ort", "ort:DISABLE_ALL", "ort_cpu (avx2)"):
        found = difference(case, side("exact").run(case), side(name).run(case))
        assert found.signature == Signature("com.microsoft.QLinearAdd", "sum", "below"), name
        assert (found.mismatches, found.size) == (1, 1)
        assert "a tie goes to the even −88" in found.why
    turned = difference(case, side("ort").run(case), side("exact").run(case))
    assert turned.signature == Signature("com.microsoft.QLinearAdd", "sum", "above")
    assert turned.why.startswith("−87.5 ") or "float32" in turned.why


def test_over_all_codes_the_one_pair_is_found_without_a_trace_of_the_engine():
    case = all_codes(qlab.load_case("qlinearadd-off-by-one"))
    found = difference(case, side("float64").run(case), side("ort").run(case, once=True))
    assert (found.mismatches, found.size, found.index) == (1, 65_536, (120, 64))
    assert found.signature == Signature("com.microsoft.QLinearAdd", "", "below")


def test_a_rewriting_that_changes_the_meaning_is_a_step_of_its_own():
    case = qlab.load_case("qdq-gemm-bias-scale")
    results = [side(name).run(case) for name in ("ort:DISABLE_ALL", "ort:ENABLE_ALL")]
    found = difference(case, *results)
    assert found.signature is not None
    assert found.signature.step == REWRITTEN
    assert "bias scale" in found.why


def test_a_refusal_is_a_difference_too():
    case = qlab.load_case("qlinearmatmul-per-row-refused")
    found = difference(case, side("exact").run(case), side("ort").run(case))
    assert found.signature == Signature("QLinearMatMul", "", "failed")
    again = difference(case, *(side(n).run(case) for n in ("ort:DISABLE_ALL", "ort")))
    assert again.signature is None


def test_results_that_agree_have_no_signature():
    case = qlab.build("QLinearAdd")
    found = difference(case, side("exact").run(case), side("float64").run(case))
    assert (found.signature, found.mismatches) == (None, 0)


def test_many_feeds_in_one_session_give_what_each_gives_alone():
    case = qlab.build("QLinearConv")
    rng = np.random.default_rng(0)
    feeds = [
        {n: rng.integers(0, 256, v.shape).astype(v.dtype) for n, v in case.inputs.items()}
        for _ in range(5)
    ]
    for level in (LEVELS[0], LEVELS[-1]):
        config = SessionConfig(level)
        together = run_ort_each(case, feeds, config)
        for feed, run in zip(feeds, together, strict=True):
            alone = run_ort(dataclasses.replace(case, inputs=feed), config)
            assert run.status is RunStatus.OK
            for name, value in alone.outputs.items():
                np.testing.assert_array_equal(value, run.outputs[name])


def test_feeds_of_several_shapes_and_one_that_fails():
    case = qlab.build("QLinearAdd")
    shapes = [(3,), (2, 2), (1,)]
    feeds = [{n: np.ones(s, v.dtype) for n, v in case.inputs.items()} for s in shapes]
    runs = run_ort_each(case, feeds, SessionConfig())
    assert [r.outputs["C"].shape for r in runs] == shapes
    bad = {n: np.ones((k + 2,), v.dtype) for k, (n, v) in enumerate(case.inputs.items())}
    runs = run_ort_each(case, [feeds[0], bad], SessionConfig())
    assert [r.status for r in runs] == [RunStatus.OK, RunStatus.REJECTED]


def test_types_that_python_cannot_feed_are_run_one_by_one():
    case = qlab.build("DequantizeLinear", dtype="int4")
    runs = run_ort_each(case, [case.inputs, case.inputs], SessionConfig())
    alone = run_ort(case, SessionConfig())
    assert [r.status for r in runs] == [alone.status] * 2


def test_a_side_of_no_installed_release_says_so():
    with pytest.raises(QlabError, match="runtimes add"):
        side("ort:1.11.0:sse")
    assert (
        Side("onnxruntime", level="ORT_ENABLE_ALL", version="1.12.0")
        .run(qlab.build("QLinearAdd"))
        .message
    )
