"""ONNX's own test-case folder: ``model.onnx`` and ``test_data_set_0/`` with ``input_0.pb``, ``output_0.pb`` …"""

import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from qlab.case import Case
from qlab.errors import CaseError
from qlab.graph import Graph, from_model, read_tensor
from qlab.qtypes import DTYPES, Array, dtype_name

MODEL = "model.onnx"
DATA = "test_data_set_0"
LARGEST = 64_000_000  # bytes of one file
LARGEST_ZIP = 64_000_000  # bytes of all files of an archive, unpacked
MOST_FILES = 500

Read = Callable[[str], bytes | None]


def read_folder(folder: Path) -> Case:
    """The case of a folder; outputs become what is expected.

    Raises:
        CaseError: a file is missing, cannot be read, or holds what a case cannot.
    """

    def read(name: str) -> bytes | None:
        path = folder / name
        if not path.is_file():
            return None
        if path.stat().st_size > LARGEST:
            raise CaseError(f"{path}: larger than {LARGEST:,} bytes")
        try:
            return path.read_bytes()
        except OSError as error:
            raise CaseError(f"{path}: {error.strerror}") from None

    return _read(read, str(folder))


def read_zip(data: bytes, name: str = "the archive") -> Case:
    """The case of a zipped folder; the folder may lie within another one. Raises CaseError."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if len(infos) > MOST_FILES or sum(info.file_size for info in infos) > LARGEST_ZIP:
                raise CaseError(f"{name}: more than {MOST_FILES} files or {LARGEST_ZIP:,} bytes")
            models = [info.filename for info in infos if PurePosixPath(info.filename).name == MODEL]
            if not models:
                raise CaseError(f"{name}: holds no {MODEL}; zip an ONNX test-case folder")
            root = PurePosixPath(min(models, key=len)).parent
            files = {info.filename: _unpacked(archive, info, name) for info in infos}
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
        ValueError,
    ) as error:
        if isinstance(error, CaseError):
            raise
        raise CaseError(f"{name}: cannot be unpacked: {error}") from None
    return _read(lambda part: files.get(str(root / part)), name)


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> bytes:
    """One file. What the archive says of its size is not believed."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # bzip2 and lzma unpack a whole block at once: no limit would hold.
        raise CaseError(f"{name}: {info.filename} is compressed by another method than deflate")
    with archive.open(info) as file:
        return file.read(info.file_size + 1)  # beyond its end, so that the checksum is compared


def case_from_model(data: bytes, name: str = MODEL) -> Case:
    """A case of a model alone, which must have no inputs. Raises CaseError."""
    return _read(lambda part: data if part == MODEL else None, name)


def write_folder(case: Case, folder: Path) -> tuple[Path, ...]:
    """Write the folder; returns the files."""
    written = []
    for name, data in folder_files(case).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        written.append(path)
    return tuple(written)


def folder_files(case: Case) -> dict[str, bytes]:
    """The folder's files by their names: model, inputs and, where they are known, outputs."""
    files = {MODEL: case.model(case.expected).SerializeToString(deterministic=True)}
    sets = (
        ("input", case.graph.inputs, case.inputs),
        ("output", case.graph.outputs, case.expected),
    )
    for kind, names, tensors in sets:
        for position, name in enumerate(names):
            if name in tensors:
                proto = numpy_helper.from_array(tensors[name], name)
                files[f"{DATA}/{kind}_{position}.pb"] = proto.SerializeToString(deterministic=True)
    return files


def _read(read: Read, where: str) -> Case:
    data = read(MODEL)
    if data is None:
        raise CaseError(
            f"{where}: has no {MODEL}; an ONNX test case is a folder with {MODEL} and {DATA}/"
        )
    graph = _graph(data, where)
    inputs = {}
    for position, name in enumerate(graph.inputs):
        part = f"{DATA}/input_{position}.pb"
        content = read(part)
        if content is None:
            raise CaseError(
                f"{where}: has no {part}, the value of the input {name!r}; a model needs its inputs beside it"
            )
        inputs[name] = _tensor(content, f"{where}: {part}")
    expected = {}
    for position, name in enumerate(graph.outputs):
        content = read(f"{DATA}/output_{position}.pb")
        if content is not None:
            expected[name] = _tensor(content, f"{where}: {DATA}/output_{position}.pb")
    return Case(graph, inputs, title=Path(where).stem, expected=expected)


def _graph(data: bytes, where: str) -> Graph:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise CaseError(f"{where}: {MODEL} is no ONNX model") from None
    if not model.graph.node:
        raise CaseError(f"{where}: {MODEL} has no nodes")
    if model.functions:
        raise CaseError(f"{where}: {MODEL} has functions of its own; a case holds operators only")
    try:
        graph = from_model(model)
    except CaseError as error:
        raise CaseError(f"{where}: {error}") from None
    except (ValueError, TypeError, LookupError, NotImplementedError) as error:
        raise CaseError(
            f"{where}: {MODEL} cannot be read: {' '.join(str(error).split())[:200]}"
        ) from None
    for name, value in graph.constants.items():
        _supported(value, f"{where}: {name}")
    return graph


def _tensor(data: bytes, where: str) -> Array:
    proto = onnx.TensorProto()
    try:
        proto.ParseFromString(data)
        value = read_tensor(proto)
    except CaseError as error:
        raise CaseError(f"{where}: {error}") from None
    except (DecodeError, ValueError, TypeError, LookupError, NotImplementedError) as error:
        raise CaseError(f"{where}: is no tensor: {' '.join(str(error).split())[:200]}") from None
    return _supported(value, where)


def _supported(value: Array, where: str) -> Array:
    if dtype_name(value.dtype) not in DTYPES:
        raise CaseError(
            f"{where}: {value.dtype} tensors cannot be held; there are {', '.join(DTYPES)}"
        )
    return value
