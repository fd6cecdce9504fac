"""Links: the case comes back bit for bit, and a damaged link says so."""

import base64
import zlib

import pytest
from hypothesis import given, settings

from qlab.errors import CaseError
from qlab.formats.share_link import LINK_LIMIT, pack, packed_of, unpack
from qlab.gallery import gallery_case, gallery_names
from tests.formats.cases import identity, same, tensors

PACKED = pack(gallery_case("qlinearadd-off-by-one"))


def wrapped(data: bytes, version: str = "1") -> str:
    return f"{version}.{zlib.crc32(data):08x}.{base64.urlsafe_b64encode(data).decode().rstrip('=')}"


@pytest.mark.parametrize("name", gallery_names())
def test_the_gallery_fits_and_comes_back(name):
    case = gallery_case(name)
    packed = pack(case)
    assert len(packed) <= LINK_LIMIT
    assert same(unpack(packed), case)
    assert pack(unpack(packed)) == packed


@settings(max_examples=100)
@given(tensors())
def test_any_bits_come_back(value):
    assert same(unpack(pack(identity(value, title="ü ≠"))), identity(value))


def test_every_changed_character_is_damage():
    for place, character in enumerate(PACKED):
        for other in ("A", "b", "7", "-", "_", ".", "=", "%", "é"):
            if other != character:
                with pytest.raises(CaseError, match="the link"):
                    unpack(PACKED[:place] + other + PACKED[place + 1 :])


def test_every_cut_is_damage():
    for end in range(len(PACKED)):
        with pytest.raises(CaseError, match="the link is damaged"):
            unpack(PACKED[:end])


@pytest.mark.parametrize("more", ["A", "AA", "AAAA", "=", " x", ".", "&"])
def test_more_is_damage(more):
    with pytest.raises(CaseError, match="the link is damaged"):
        unpack(PACKED + more)


@pytest.mark.parametrize(
    ("packed", "line"),
    [
        ("", "it does not hold a packed case"),
        (wrapped(b"x", "2"), "the link has version 2; this qlab reads version 1"),
        (wrapped(b"no zlib"), "it cannot be unpacked"),
        (wrapped(zlib.compress(b"{}")[:-2]), "it was cut or extended"),
        (wrapped(zlib.compress(b"{}") + b"x"), "it was cut or extended"),
        (wrapped(zlib.compress(b"\xff")), "it holds no text"),
        (wrapped(zlib.compress(b"{}")), "not a case"),
        (wrapped(zlib.compress(b" " * 16_000_001)), "the link holds more than 16,000,000 bytes"),
    ],
)
def test_what_is_wrong_is_one_line(packed, line):
    with pytest.raises(CaseError) as error:
        unpack(packed)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_the_packed_case_of_an_address():
    assert packed_of(f"http://127.0.0.1:8501/?case={PACKED}&cpu=avx2") == PACKED
    assert packed_of(f"  {PACKED}\n") == PACKED
    assert packed_of("qlinearadd-off-by-one") == ""
    assert packed_of("http://127.0.0.1:8501/") == ""


@pytest.mark.parametrize("address", ["http://[bad/?case=1", "http://℀/?case=1"])
def test_what_is_no_address_holds_no_case(address):
    assert packed_of(address) == ""
