"""A case packed into text that fits an address: version, checksum, compressed JSON.

``1.CHECKSUM.DATA``: CRC-32 in eight hexadecimal digits, then URL-safe base64 (without padding) of deflated JSON.
"""

import base64
import binascii
import re
import zlib
from urllib.parse import parse_qs, urlsplit

from qlab.case import Case
from qlab.errors import CaseError
from qlab.formats.case_json import case_from_json, case_to_json

LINK_LIMIT = 7000  # characters of a packed case: with the rest of the address below the 8 kB where proxies stop
_LARGEST = 16_000_000  # bytes of JSON that are unpacked
_PACKED = re.compile(r"(?P<version>\d{1,9})\.(?P<checksum>[0-9a-f]{8})\.(?P<data>[A-Za-z0-9_-]+)")
_WAY_OUT = "copy it again as a whole, or ask for the case's JSON file"


def pack(case: Case) -> str:
    """The case as one word of URL-safe characters; equal cases give equal words."""
    data = zlib.compress(case_to_json(case, compact=True).encode(), 9)
    encoded = base64.urlsafe_b64encode(data).decode().rstrip("=")
    return f"1.{zlib.crc32(data):08x}.{encoded}"


def unpack(packed: str) -> Case:
    """The case of a packed word.

    Raises:
        CaseError: it is damaged, of an unknown version, or holds no case.
    """
    match = _PACKED.fullmatch(packed.strip())
    if match is None:
        raise CaseError(f"the link is damaged: it does not hold a packed case; {_WAY_OUT}")
    if match["version"] != "1":
        raise CaseError(
            f"the link has version {match['version']}; this qlab reads version 1, a newer one may read it"
        )
    data = match["data"]
    try:
        compressed = base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))
    except (binascii.Error, ValueError):
        raise CaseError(f"the link is damaged: it was cut; {_WAY_OUT}") from None
    # The last character carries unused bits, which the decoder ignores: only the one spelling is valid.
    if base64.urlsafe_b64encode(compressed).decode().rstrip("=") != data:
        raise CaseError(f"the link is damaged: its end was changed; {_WAY_OUT}")
    if f"{zlib.crc32(compressed):08x}" != match["checksum"]:
        raise CaseError(f"the link is damaged: its checksum does not fit; {_WAY_OUT}")
    return case_from_json(_inflate(compressed))


def packed_of(address: str) -> str:
    """The packed case in an address (``…?case=1.…``) or the word itself; "" where there is none."""
    text = address.strip()
    if _PACKED.fullmatch(text):
        return text
    if text.startswith(("http://", "https://")):
        try:
            return parse_qs(urlsplit(text).query).get("case", [""])[0]
        except ValueError:
            return ""  # no address: brackets or letters that no host can have
    return ""


def _inflate(compressed: bytes) -> str:
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(compressed, _LARGEST)
    except zlib.error:
        raise CaseError(f"the link is damaged: it cannot be unpacked; {_WAY_OUT}") from None
    if stream.unconsumed_tail:
        raise CaseError(f"the link holds more than {_LARGEST:,} bytes; take the case's JSON file")
    if not stream.eof or stream.unused_data:
        raise CaseError(f"the link is damaged: it was cut or extended; {_WAY_OUT}")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CaseError(f"the link is damaged: it holds no text; {_WAY_OUT}") from None
