"""Query parameters: everything on the screen, there and back."""

import pytest

from qlab.errors import CaseError
from qlab.formats.share_link import pack
from qlab.gallery import DEFAULT, gallery_case
from qlab.runtimes.store import installed_version
from qlab.views.address import TOO_LONG, Address, Pick, Settings, command, from_query, to_query
from qlab.views.editing import with_text

CASE = gallery_case(DEFAULT)
EDITED = with_text(CASE, "A", 0, "-9")


@pytest.mark.parametrize("case", [CASE, EDITED])
@pytest.mark.parametrize(
    "settings", [Settings(), Settings(("ORT_ENABLE_BASIC",), "avx2", True, "1.26.0")]
)
@pytest.mark.parametrize("pick", [None, Pick("C", (0, 0, 0, 0), "exact"), Pick("C", ())])
def test_an_address_is_read_back(case, settings, pick):
    address = Address(case, settings, pick)
    read = from_query(to_query(address))
    assert pack(read.case) == pack(case)
    assert (read.settings, read.pick) == (settings, pick)


def test_a_packed_gallery_case_is_that_case():
    assert from_query({"case": pack(CASE)}).case is CASE


def test_the_installed_release_needs_no_name_and_another_is_checked():
    assert from_query({"release": installed_version()}).settings == Settings()
    assert "--runtime 1.26.0" in command(Address(CASE, Settings(version="1.26.0")))
    for odd in ("1.26", "1.26.0;rm", "x" * 5000, "0.1.0", ""):
        with pytest.raises(CaseError, match="the link asks for a release that there is not"):
            from_query({"release": odd})


def test_too_large_a_case_leaves_a_mark_that_says_so():
    large = EDITED.with_tensor("A", EDITED.inputs["A"].repeat(100_000).cumsum().astype("int8"))
    query = to_query(Address(large))
    if query["case"] == TOO_LONG:
        with pytest.raises(CaseError, match="too large for an address"):
            from_query(query)


@pytest.mark.parametrize(
    "query",
    [
        {"case": "x"},
        {"gallery": "x"},
        {"levels": "all"},
        {"cpu": "x"},
        {"element": "C"},
        {"element": "C:a"},
    ],
)
def test_a_damaged_address_is_one_line(query):
    with pytest.raises(CaseError) as caught:
        from_query(query)
    assert "\n" not in str(caught.value)


def test_the_command_line_says_the_same():
    settings = Settings(("ORT_ENABLE_ALL",), "avx2", True)
    assert command(Address(CASE)) == f"python -m qlab run {DEFAULT}"
    assert command(Address(EDITED, settings)) == (
        "python -m qlab run case.json --level ORT_ENABLE_ALL --cpu avx2 --entry session.x64quantprecision=1"
    )
