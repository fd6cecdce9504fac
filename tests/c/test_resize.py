"""Resize as C over the batteries: every pair of mode and coordinates, images of both layouts, more axes, QDQ groups."""

import itertools

import pytest

from qlab.batteries import batteries
from qlab.c import c_source
from qlab.errors import ExportError
from qlab.schemes import scheme
from qlab.schemes.ort_cpu import OrtCpu
from tests.c.compiled import needs_compiler, none_differs

pytestmark = needs_compiler
SCHEMES = {
    "exact": scheme("exact"),
    "float32": scheme("float32"),
    "float64": scheme("float64"),
    "avx2": OrtCpu("avx2"),
    "1.26": OrtCpu("avx2", version="1.26.0"),
}


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("name", SCHEMES)
def test_nearest(name, dtype):
    for case in itertools.islice(batteries()[f"Resize nearest {dtype}"].cases(0), 0, None, 31):
        none_differs(case, SCHEMES[name])


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("name", ["float32", "float64", "avx2"])
def test_linear(name, dtype):
    for case in itertools.islice(batteries()[f"Resize linear {dtype}"].cases(0), 0, None, 13):
        none_differs(case, SCHEMES[name])


def test_linear_in_whole_numbers():
    """Scales of 24 bits on two axes fit 64 bits; what does not is refused."""
    written, refused = 0, []
    for case in itertools.islice(batteries()["Resize linear int8"].cases(0), 0, None, 12):
        try:
            none_differs(case, SCHEMES["exact"])
            written += 1
        except ExportError as error:
            refused.append(str(error))
    assert written >= 8
    assert all("does not fit 64 bits" in words for words in refused)


def test_linear_of_reals_in_exact_is_refused():
    case = next(iter(batteries()["Resize linear float32"].cases(0)))
    with pytest.raises(ExportError, match="float32, float64 and ort_cpu"):
        c_source(case, SCHEMES["exact"])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("name", ["float32", "float64", "avx2"])
def test_groups(name, mode):
    for case in itertools.islice(batteries()[f"QDQ Resize {mode} int8"].cases(0), 0, None, 11):
        none_differs(case, SCHEMES[name])
