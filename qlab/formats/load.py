"""What a person names as a case → the case."""

from pathlib import Path

from qlab.case import Case
from qlab.errors import CaseError, closest
from qlab.formats.case_json import LARGEST, case_from_json
from qlab.formats.onnx_test_case import DATA, MODEL, case_from_model, read_folder, read_zip
from qlab.formats.share_link import packed_of, unpack
from qlab.gallery import gallery_case, gallery_names


def load_case(name: str | Path) -> Case:
    """A gallery name, a JSON file, an ONNX test-case folder or its .zip, or a link copied from the page.

    Raises:
        CaseError: it is none of these, or cannot be read.
    """
    text = str(name)
    if "\0" in text:
        raise CaseError(f"{text[:200]!r}: no file can have this name")
    if text in gallery_names():
        return gallery_case(text)
    if packed := packed_of(text):
        return unpack(packed)
    if not text.strip():
        raise CaseError("no case is named; python -m qlab gallery lists the known ones")
    path = Path(text)
    try:
        if path.is_dir():
            return read_folder(path)
        if path.is_file():
            if path.name == MODEL and (path.parent / DATA).is_dir():
                return read_folder(path.parent)
            return case_from_bytes(_bytes(path), path.name)
    except OSError as error:
        raise CaseError(f"{text[:200]}: {error.strerror}") from None
    close = closest(text, gallery_names())
    hint = f"; did you mean {close}?" if close else "; python -m qlab gallery lists the known cases"
    raise CaseError(f"{text[:200]}: no such file or folder, and no gallery name{hint}")


def case_from_bytes(data: bytes, name: str) -> Case:
    """A case from a file's content: JSON, a zipped test-case folder, or a model without inputs.

    Raises:
        CaseError: it is none of these; the line begins with the file's name.
    """
    if data[:4] == b"PK\x03\x04" or name.endswith(".zip"):
        return read_zip(data, name)
    if name.endswith(".onnx"):
        return case_from_model(data, name)
    try:
        return case_from_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise CaseError(
            f"{name}: neither JSON text nor a .zip of an ONNX test-case folder"
        ) from None
    except CaseError as error:
        raise CaseError(f"{name}: {error}") from None


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > 2 * LARGEST:
        raise CaseError(f"{path}: larger than {2 * LARGEST:,} bytes, too large for a case")
    return path.read_bytes()
