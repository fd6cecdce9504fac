"""The gallery's cases are whole, and each says where it comes from."""

import pytest

from qlab.errors import CaseError
from qlab.gallery import DEFAULT, gallery_case, gallery_names


def test_the_default_is_there():
    assert DEFAULT in gallery_names()
    assert len(gallery_names()) >= 19


@pytest.mark.parametrize("name", gallery_names())
def test_a_case_says_what_and_whence(name):
    case = gallery_case(name)
    assert case.title
    assert case.source
    assert case.note
    assert len(case.title) < 130
    assert gallery_case(name) is case


def test_an_unknown_name():
    with pytest.raises(
        CaseError, match="'qlinearad' is not in the gallery; did you mean qlinearadd-"
    ):
        gallery_case("qlinearad")
