"""The families against what the libraries returned: recorded always, run again where the library is installed.

Every output is predicted, and the table says which variant is proven by which kernel of which library.
"""

import importlib.util
import itertools

import numpy as np
import pytest

from qlab.schemes import variants
from qlab.schemes.fixed_point import (
    double_rounding,
    frexp_multiplier,
    rounding_divide_by_power,
    saturating_rounding_doubling_high_mul,
)
from qlab.schemes.tflite import Tflite
from tests.schemes.recorded import finish, load, predict
from tests.vectors import parameters

FLOATS = ("xnnpack (fmagic)", "xnnpack (lrintf)")
DOUBLE = ("tflite (double rounding)", "cmsis_nn (double rounding)")
OWN = ("fmagic", "lrintf", "rndnu", "rndna", "gemmlowp")
EVERY_XNNPACK = tuple(f"xnnpack ({form})" for form in OWN)
EVERY_QNNPACK = tuple(
    f"qnnpack ({form})" for form in ("sse2", "fmagic", "lrintf", "q31", "precise")
)
POOLED = ("tflite (double rounding)", "cmsis_nn (double rounding)")
# (recording, kernel, operator, type of the codes, scales of the weight) → the variants that it proves.
PROVEN = {
    ("litert", "reference", "add", "int8", ""): DOUBLE,
    ("litert", "reference", "add", "uint8", ""): DOUBLE[:1],
    ("litert", "reference", "mul", "int8", ""): DOUBLE,
    ("litert", "reference", "mul", "uint8", ""): DOUBLE[:1],
    ("litert", "reference", "quantize", "int8", ""): ("tflite (double rounding)",),
    ("litert", "reference", "quantize", "uint8", ""): ("tflite (double rounding)",),
    ("litert", "reference", "conv", "int8", "one"): DOUBLE,
    ("litert", "reference", "conv", "int8", "channel"): DOUBLE,
    ("litert", "reference", "fully_connected", "int8", "one"): ("tflite (float64)",),
    ("litert", "reference", "fully_connected", "int8", "channel"): ("tflite (float64)",),
    ("litert", "reference", "average_pool", "int8", ""): POOLED,
    ("litert", "optimized", "add", "int8", ""): ("tflite (optimized)",),
    ("litert", "optimized", "add", "uint8", ""): ("tflite (optimized)",),
    ("litert", "optimized", "mul", "int8", ""): ("tflite (optimized)",),
    ("litert", "optimized", "mul", "uint8", ""): ("tflite (optimized)",),
    ("litert", "optimized", "quantize", "int8", ""): ("tflite (optimized)",),
    ("litert", "optimized", "quantize", "uint8", ""): ("tflite (optimized)",),
    ("litert", "optimized", "conv", "int8", "one"): ("tflite (optimized)",),
    ("litert", "optimized", "conv", "int8", "channel"): ("tflite (optimized)",),
    ("litert", "optimized", "fully_connected", "int8", "one"): (
        "tflite (optimized, float32 product)",
    ),
    ("litert", "optimized", "fully_connected", "int8", "channel"): ("tflite (optimized)",),
    ("litert", "optimized", "average_pool", "int8", ""): POOLED,
    ("litert", "xnnpack", "add", "int8", ""): EVERY_XNNPACK,
    ("litert", "xnnpack", "add", "uint8", ""): EVERY_XNNPACK,
    ("litert", "xnnpack", "mul", "int8", ""): FLOATS,
    ("litert", "xnnpack", "mul", "uint8", ""): FLOATS,
    ("litert", "xnnpack", "quantize", "int8", ""): EVERY_XNNPACK,
    ("litert", "xnnpack", "quantize", "uint8", ""): EVERY_XNNPACK,
    ("litert", "xnnpack", "conv", "int8", "one"): FLOATS,
    ("litert", "xnnpack", "conv", "int8", "channel"): FLOATS,
    ("litert", "xnnpack", "fully_connected", "int8", "one"): FLOATS,
    ("litert", "xnnpack", "fully_connected", "int8", "channel"): FLOATS,
    ("pytorch", "fbgemm", "add", "uint8", ""): ("fbgemm",),
    ("pytorch", "fbgemm", "add", "int8", ""): ("fbgemm",),
    ("pytorch", "fbgemm", "mul", "uint8", ""): ("fbgemm",),
    ("pytorch", "fbgemm", "mul", "int8", ""): ("fbgemm",),
    ("pytorch", "fbgemm", "quantize", "uint8", ""): ("fbgemm",),
    ("pytorch", "fbgemm", "quantize", "int8", ""): ("fbgemm",),
    ("pytorch", "fbgemm", "linear", "uint8", "one"): ("fbgemm",),
    ("pytorch", "fbgemm", "linear", "uint8", "channel"): ("fbgemm",),
    ("pytorch", "fbgemm", "average_pool", "uint8", ""): ("fbgemm",),
    ("pytorch", "qnnpack", "add", "uint8", ""): EVERY_QNNPACK,
    # PyTorch's QNNPACK has no int8 sum; the operator that stands beside FBGEMM answers.
    ("pytorch", "qnnpack", "add", "int8", ""): ("fbgemm",),
    ("pytorch", "qnnpack", "linear", "uint8", "one"): ("qnnpack (sse2)",),
    ("pytorch", "qnnpack", "linear", "uint8", "channel"): ("qnnpack (sse2)",),
    ("pytorch", "qnnpack", "average_pool", "uint8", ""): ("qnnpack (sse2)",),
}
LEAST = {"litert": 24_000, "pytorch": 17_000}  # outputs of a recording


def key(name, c):
    weights = ""
    if "b_scale" in c and isinstance(c["b_scale"], list):
        weights = "one" if len(c["b_scale"]) == 1 else "channel"
    return (name, c["engine"], c["op"], c["dtype"], weights)


GROUPS: dict = {}
for recording in LEAST:
    for case in load(recording):
        GROUPS.setdefault(key(recording, case), []).append(case)


@pytest.mark.parametrize("group", PROVEN, ids="-".join)
def test_every_recorded_code_is_predicted(group):
    for label in PROVEN[group]:
        wrong = [
            int((predict(variants()[label], c).astype(np.int64) != np.asarray(c["y"])).sum())
            for c in GROUPS[group]
        ]
        assert not sum(wrong), f"{label}: {wrong}"


def test_every_recorded_group_is_in_the_table():
    assert set(GROUPS) == set(PROVEN)


@pytest.mark.parametrize("name", LEAST)
def test_a_recording_is_as_large_as_the_documentation_says(name):
    assert sum(len(c["y"]) for c in load(name)) >= LEAST[name]


@pytest.mark.parametrize(
    ("group", "others"),
    [
        (("litert", "reference", "conv", "int8", "one"), ("exact", "float32", "fbgemm", "tflite (single rounding)", "tflite (optimized)", "tflite (double rounding, float32 product)", "xnnpack (fmagic)")),
        (("litert", "optimized", "conv", "int8", "one"), ("exact", "tflite (double rounding)", "tflite (single rounding)", "tflite (optimized, float32 product)")),
        (("litert", "optimized", "fully_connected", "int8", "one"), ("tflite (optimized)",)),
        (("litert", "optimized", "mul", "int8", ""), ("tflite (double rounding)",)),
        (("litert", "optimized", "add", "int8", ""), ("tflite (double rounding)",)),
        (("litert", "xnnpack", "conv", "int8", "one"), ("exact", "xnnpack (rndnu)", "tflite (double rounding)")),
        (("litert", "xnnpack", "add", "int8", ""), ("exact", "tflite (double rounding)", "fbgemm")),
        (("pytorch", "fbgemm", "add", "uint8", ""), ("exact", "float32", "qnnpack (sse2)")),
        (("pytorch", "fbgemm", "quantize", "uint8", ""), ("exact", "float32", "xnnpack (fmagic)")),
        (("pytorch", "fbgemm", "linear", "uint8", "one"), ("exact", "tflite (double rounding)")),
        (("pytorch", "qnnpack", "linear", "uint8", "one"), ("exact", "qnnpack (q31)")),
        (("pytorch", "qnnpack", "add", "uint8", ""), ("exact", "fbgemm", "xnnpack (fmagic)")),
    ],
    ids=lambda v: "-".join(v) if isinstance(v, tuple) and len(v) == 5 else "",
)  # fmt: skip
def test_the_recorded_cases_tell_other_arithmetic_apart(group, others):
    for label in others:
        assert any(
            (predict(variants()[label], c).astype(np.int64) != np.asarray(c["y"])).any()
            for c in GROUPS[group]
            if not refused(variants()[label], c)
        ), label


def refused(scheme, c):
    try:
        predict(scheme, c)
    except ValueError:
        return True
    return False


def test_gemmlowp_rescales_as_the_library():
    count = 0
    for c in load("gemmlowp"):
        sums = np.asarray(c["accumulator"], np.int64)
        high = saturating_rounding_doubling_high_mul(sums, np.int64(c["quantized_multiplier"]))
        found = rounding_divide_by_power(high, np.int64(c["right_shift"]))
        assert found.tolist() == c["y"]
        count += len(sums)
    assert count == 5120


def test_cmsis_nn_gives_its_published_outputs():
    (c,) = load("cmsis_nn")
    a = np.asarray(c["a"], np.int64) - c["a_zero_point"]
    sums = a @ np.asarray(c["b"], np.int64).T + np.asarray(c["bias"])
    multiplier, shift = (np.asarray(c[n], np.int64) for n in ("quantized_multiplier", "shift"))
    for label in ("cmsis_nn (double rounding)", "cmsis_nn (single rounding)"):
        steps = variants()[label]._rounded(sums, multiplier, shift, "accumulator", "")
        rounded, _ = finish(steps)
        assert np.clip(rounded + c["y_zero_point"], -128, 127).reshape(-1).tolist() == c["y"]


def test_tflite_computes_the_published_multipliers():
    for c in load("tflite_multipliers"):
        quantized, shift = frexp_multiplier(np.asarray(c["multiplier"]))
        assert (int(quantized), int(shift)) == (c["quantized_multiplier"], c["shift"])


def test_the_steps_hold_what_a_reader_copies():
    accumulator = np.asarray([100, -101], np.int64)
    value, steps = finish(Tflite()._rescaled(accumulator, np.asarray(0.3), "accumulator"))
    named = {s.name: s for s in steps}
    assert named["quantized_multiplier"].value.dtype == np.int32
    assert int(named["quantized_multiplier"].value) == 1288490189
    assert int(named["shift"].value) == -1
    assert named["high_product"].value.tolist() == [60, -61]
    assert [s.name for s in steps if s.decides] == ["scaled"]
    assert value.tolist() == [30, -31]  # -30.3, rounded to -60.6 / 2 twice
    again, _ = finish(
        double_rounding(accumulator, np.int64(1288490189), np.asarray(-1), "accumulator")
    )
    assert again.tolist() == value.tolist()


@pytest.mark.parametrize(("library", "recording"), [("torch", "pytorch"), ("ai_edge_litert", "litert")])  # fmt: skip
def test_the_installed_library_still_returns_what_was_recorded(library, recording):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    recorder = importlib.import_module(f"tests.vectors.record_{recording}")
    fresh = recorder.every(np.random.default_rng(parameters.SEED))
    for recorded, live in itertools.zip_longest(load(recording), fresh):
        assert {**recorded, "x": 0} == {**live, "x": 0}
