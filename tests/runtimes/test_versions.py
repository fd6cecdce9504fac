"""Versions: their form, their order, the presets."""

import pytest

from qlab.errors import QlabError
from qlab.runtimes import versions


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "'' is no release of onnxruntime: write three numbers like 1.25.1"),
        ("1.25", "'1.25' is no release of onnxruntime"),
        ("1.25.1; rm -rf /", "is no release"),
        ("--index-url=x", "is no release"),
        ("1.25.1rc1", "did you mean 1.25.1?"),
        ("١.٢٥.١", "is no release"),
        ("../1.25.1", "is no release"),
        ("1.10.0", "onnxruntime 1.10.0 is too old: 1.11.0 is the oldest that can be run"),
    ],
)
def test_what_is_no_release_is_one_line(text, line):
    with pytest.raises(QlabError) as error:
        versions.checked(text)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_release_that_is_not_in_the_list_has_the_form():
    assert versions.checked(" 1.99.0 ") == "1.99.0"


def test_the_list_is_in_order_and_each_has_the_form():
    assert list(versions.RELEASES) == sorted(set(versions.RELEASES), key=versions.key)
    assert all(versions.checked(v) == v for v in versions.RELEASES)


def test_presets():
    assert versions.newest_of_minors(3) == ("1.30.0", "1.31.1", "1.32.0")
    assert versions.newest_of_minors(2, also=["1.33.0"]) == ("1.32.0", "1.33.0")
    assert versions.around("1.25.1", 1) == ("1.25.0", "1.25.1", "1.26.0")
    assert versions.around("1.11.0", 1) == ("1.11.0", "1.11.1")
    assert versions.between("1.30.0", "1.32.0", ["1.31.5"]) == (
        *("1.30.0", "1.31.0", "1.31.1"),
        *("1.31.5", "1.32.0"),
    )


def test_what_a_release_needs():
    assert versions.requirements("1.18.1") == ("onnxruntime==1.18.1", "numpy<2")
    assert versions.requirements("1.19.0") == ("onnxruntime==1.19.0", "numpy")
    assert versions.pythons("1.14.1")[0] == "3.9"
    assert versions.pythons("1.15.0")[0] == "3.11"
