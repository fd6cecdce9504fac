"""The child process that runs ONNX Runtime: standard library, numpy, onnxruntime; Python 3.8 on.

It reads requests from stdin and answers on what was stdout; ``qlab/engines/pool.py`` is the other
end. A message is an 8-byte length, a JSON header of that length, and the blobs whose ``sizes`` the
header lists.

Request: ``level``, ``entries``, ``disabled_optimizers``, ``inputs`` (name, dtype, shape of each
blob after the first); the first blob is the model. The worker says ``{"accepted": true}`` when it
has read one, so that a process that died before can be told from one that the model killed.

With ``feeds`` (how many) the inputs stand that many times one after the other: one session runs
each once, and the answer has their ``outputs`` one after the other, no graph and no passes.

Answer: ``status``, ``message``, ``repeatable``, ``outputs`` (as ``inputs``), ``graph`` (True: the
first blob is the model that ONNX Runtime wrote out), ``passes`` (the optimizer passes that changed
it, by the log), ``cast`` (output → its type, ``tensor(int4)``, where numpy has none: nothing was
run, the model has to cast it).
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import struct
import sys
import tempfile
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

ADDRESS_SPACE = 4 * 2**30  # bytes that one worker may map beyond what it has mapped when it starts
_LENGTH = struct.Struct("<Q")
_INFO, _FATAL = 1, 4  # of ONNX Runtime's log
_CHANGED = re.compile(rb"GraphTransformer (\S+) modified: 1")
_M_PERTURB = -6  # malloc.h
_INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_PASSABLE = frozenset(
    f"tensor({name})" for name in ("bool", *_INTEGERS, "float16", "float", "double")
)


def write_message(stream: IO[bytes], header: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
    """Write one message and flush it."""
    text = json.dumps(dict(header, sizes=[len(blob) for blob in blobs])).encode()
    stream.write(_LENGTH.pack(len(text)) + text)
    stream.writelines(blobs)
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    """Read one message. Raises EOFError where the stream ends before the message does."""
    header = json.loads(_read(stream, _LENGTH.unpack(_read(stream, _LENGTH.size))[0]))
    return header, [_read(stream, size) for size in header.pop("sizes")]


def describe(name: str, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The entry of an array in a header; its blob is ``array.tobytes()``."""
    return {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)}


def restore(entry: dict[str, Any], blob: bytes) -> np.ndarray[Any, Any]:
    """The array of a header's entry: memory of its own, 0-d where the shape is empty."""
    return np.frombuffer(blob, np.dtype(entry["dtype"])).reshape(entry["shape"]).copy()


def _read(stream: IO[bytes], size: int) -> bytes:
    blob = stream.read(size)
    if len(blob) < size:
        raise EOFError("the stream ended inside a message")
    return blob


def _answer(
    ort: Any, request: dict[str, Any], blobs: Sequence[bytes], path: str
) -> tuple[dict[str, Any], list[bytes]]:
    try:
        session = _session(ort, request, blobs[0])
    except Exception as error:
        return {"status": "rejected", "message": _words(error)}, []
    types = {output.name: output.type for output in session.get_outputs()}
    cast = {name: kind for name, kind in types.items() if kind not in _PASSABLE}
    if cast:
        return {"status": "cast", "message": "", "cast": cast}, []
    if request.get("feeds"):
        return _answer_each(session, request, blobs[1:], list(types))
    written = _written(ort, request, blobs[0], path)
    # The second run is by the session that wrote its graph out: if another graph ran, it shows.
    second_session = written[0] if written else session
    try:
        first = _run(session, request, blobs[1:])
        _spoil_free_memory()
        second = _run(second_session, request, blobs[1:])
    except Exception as error:
        return {"status": "failed", "message": _words(error)}, []
    finally:
        _perturb(0)
    header = {
        "status": "ok",
        "message": "",
        "outputs": [describe(name, value) for name, value in zip(types, first)],
        "repeatable": all(
            a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(first, second)
        ),
        "graph": written is not None,
        "passes": written[2] if written else [],
    }
    return header, ([written[1]] if written else []) + [value.tobytes() for value in first]


def _answer_each(
    session: Any, request: dict[str, Any], blobs: Sequence[bytes], names: Sequence[str]
) -> tuple[dict[str, Any], list[bytes]]:
    entries, values = request["inputs"], []
    count = len(entries) // request["feeds"]
    try:
        for first in range(0, len(entries), count):
            one = {"inputs": entries[first : first + count]}
            values.append(_run(session, one, blobs[first : first + count]))
    except Exception as error:
        return {"status": "failed", "message": _words(error)}, []
    header = {
        "status": "ok",
        "message": "",
        "outputs": [describe(n, v) for each in values for n, v in zip(names, each)],
        "repeatable": True,
        "graph": False,
        "passes": [],
    }
    return header, [value.tobytes() for each in values for value in each]


def _session(ort: Any, request: dict[str, Any], model: bytes, path: str = "") -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = _INFO if path else _FATAL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Outputs come from malloc then, so that memory that a kernel never wrote can be made to show.
    options.enable_cpu_mem_arena = False
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, request["level"])
    for key, value in request["entries"].items():
        options.add_session_config_entry(key, value)
    if path:
        options.optimized_model_filepath = path
    return ort.InferenceSession(
        model,
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=request["disabled_optimizers"] or None,
    )


def _run(
    session: Any, request: dict[str, Any], blobs: Sequence[bytes]
) -> list[np.ndarray[Any, Any]]:
    inputs = {entry["name"]: restore(entry, blob) for entry, blob in zip(request["inputs"], blobs)}
    return [np.asarray(value) for value in session.run(None, inputs)]


def _written(
    ort: Any, request: dict[str, Any], model: bytes, path: str
) -> tuple[Any, bytes, list[str]] | None:
    """A second session, the graph that it wrote out, the passes; None where it cannot be written."""
    with tempfile.TemporaryFile(dir=os.path.dirname(path)) as log:
        kept = os.dup(2)
        os.dup2(log.fileno(), 2)  # the log is native code's, on stderr
        try:
            session = _session(ort, request, model, path)
            with open(path, "rb") as file:
                graph = file.read()
        except Exception:
            return None
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            if os.path.exists(path):
                os.remove(path)
        log.seek(0)
        passes = dict.fromkeys(name.decode() for name in _CHANGED.findall(log.read()))
    return session, graph, list(passes)


def _spoil_free_memory() -> None:
    """Fill memory that is free: an output that no kernel wrote then differs in the second run."""
    if not _perturb(0x5A):
        for size in (16, 32, 64, 128, 256, 1024, 4096, 1 << 16, 1 << 20):
            del [np.full(size, 0xA5, np.uint8) for _ in range(8)][:]


def _perturb(byte: int) -> bool:
    """Let malloc fill what it gives; 0 ends it. False where the C library cannot (glibc can)."""
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_PERTURB, byte))
    except (AttributeError, OSError, TypeError):
        return False


def _words(error: Exception) -> str:
    """ONNX Runtime's own words, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _limit_memory() -> None:
    """Cap the address space where the platform can: an allocation beyond it fails in the engine."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = mapped + ADDRESS_SPACE
        if hard == resource.RLIM_INFINITY or limit < hard:
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, OSError, ValueError):
        pass


def main(folder: str, limit_memory: bool) -> None:
    """Answer requests until stdin ends. ``folder`` is for the model that is written out."""
    # Anything that native code prints goes to stderr; only messages go where stdout was.
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # This folder's modules must not stand in for others of the same name.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    try:
        ort: Any = importlib.import_module("onnxruntime")
    except Exception as error:
        write_message(answers, {"version": "", "message": _words(error)})
        return
    if limit_memory:
        _limit_memory()
    write_message(answers, {"version": ort.__version__, "message": ""})
    path = os.path.join(folder, "optimized.onnx")
    while True:
        try:
            request, blobs = read_message(requests)
        except EOFError:
            return
        write_message(answers, {"accepted": True})
        write_message(answers, *_answer(ort, request, blobs, path))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "limited")
