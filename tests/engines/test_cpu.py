"""The CPU's class is what it computes."""

import platform

import numpy as np
import pytest

from qlab.engines import cpu
from qlab.engines.cpu import classify, cpu_class, cpu_flags, cpu_name, has_avx512
from qlab.engines.pool import Worker, emulated_cpus

EXACT = np.array([[64_770]], np.int32)
SATURATED = np.array([[32_767]], np.int32)


def codes(values):
    return np.array(values, np.int8)


@pytest.mark.parametrize(
    ("product", "add", "expected"),
    [
        (SATURATED, codes(cpu.ADD_FUSED), "avx2"),
        (EXACT, codes(cpu.ADD_FUSED), "vnni"),
        (EXACT, codes(cpu.ADD_UNFUSED), "sse"),
        (EXACT, codes(cpu.ADD_FIXED_POINT), "arm64"),
        (EXACT, codes([0] * 8), ""),
        (None, codes(cpu.ADD_FUSED), ""),
        (EXACT, None, ""),
    ],
)
def test_classify(product, add, expected):
    assert classify(product, add) == expected


def test_the_three_answers_part():
    assert len({cpu.ADD_FUSED, cpu.ADD_UNFUSED, cpu.ADD_FIXED_POINT}) == 3


def test_this_machine_has_a_class_of_its_architecture():
    arm = platform.machine().lower() in ("aarch64", "arm64")
    assert cpu_class() in (("arm64",) if arm else ("avx2", "sse", "vnni"))
    if "avx512_vnni" in cpu_flags():
        assert cpu_class() == "vnni"


@pytest.mark.parametrize("name", ["avx2", "sse"])
def test_an_emulated_cpu_shows_its_class(name):
    if name not in emulated_cpus():
        pytest.skip("no qemu-user here: apt install qemu-user")
    assert cpu_class(name) == name


def test_a_class_that_was_not_found_is_asked_for_again(monkeypatch):
    monkeypatch.setattr(cpu, "_classes", {})
    broken = Worker(python="/nonexistent/python")
    with monkeypatch.context() as patched:
        patched.setattr(cpu, "worker", lambda *_: broken)
        assert cpu_class() == ""
    assert cpu_class() != ""


@pytest.mark.parametrize("name", ["avx2", "sse"])
def test_an_emulated_cpu_has_no_avx512(name):
    if name not in emulated_cpus():
        pytest.skip("no qemu-user here: apt install qemu-user")
    assert has_avx512(name) is False


def test_this_machine_has_what_its_flags_say():
    if not cpu_flags():
        pytest.skip("this system does not list its CPU's flags")
    if cpu_class() in ("avx2", "vnni"):
        assert has_avx512() is ("avx512f" in cpu_flags())


def test_what_was_not_found_is_asked_for_again(monkeypatch):
    monkeypatch.setattr(cpu, "_wide", {})
    broken = Worker(python="/nonexistent/python")
    with monkeypatch.context() as patched:
        patched.setattr(cpu, "worker", lambda *_: broken)
        assert has_avx512() is None
    assert has_avx512() is not None


def test_names_and_flags():
    assert cpu_name()
    assert cpu_name("avx2") == "Haswell, emulated by qemu"
    assert set(cpu_flags()) <= set(cpu.RELEVANT_FLAGS)
