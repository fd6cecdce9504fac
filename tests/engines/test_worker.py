"""The worker as a program of its own: what it imports, its messages, and what its streams carry."""

import ast
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from qlab.engines import worker

SOURCE = Path(worker.__file__).read_text(encoding="utf-8")


def relu_model() -> bytes:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)],
        [helper.make_empty_tensor_value_info("y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    return model.SerializeToString()


def request(array: np.ndarray) -> tuple[dict, list[bytes]]:
    header = {
        "level": "ORT_ENABLE_ALL",
        "entries": {},
        "disabled_optimizers": [],
        "inputs": [worker.describe("x", array)],
    }
    return header, [relu_model(), array.tobytes()]


@pytest.fixture
def process():
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, worker.__file__, folder, "limited"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with child:
            yield child
            child.kill()


def test_imports_the_standard_library_numpy_and_onnxruntime_only():
    names = set()
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            names.add(node.args[0].value)
    assert "onnxruntime" in names
    assert names - set(sys.stdlib_module_names) == {"numpy", "onnxruntime"}


def test_is_python_3_8():
    tree = ast.parse(SOURCE, feature_version=(3, 8))
    newer = {"strict"}  # of zip, since 3.10
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg in newer]
    assert not [
        n
        for n in ast.walk(tree)
        if getattr(n, "attr", "").startswith("remove") and n.attr != "remove"
    ]


@pytest.mark.parametrize(
    "array",
    [
        np.array(3.5, np.float32),
        np.zeros((2, 0, 3), np.int8),
        np.array([[True, False]]),
        np.array([np.nan, -0.0, np.inf], np.float16),
        np.arange(6, dtype=np.uint16).reshape(2, 3).T,
    ],
)
def test_arrays_survive_a_message(array, tmp_path):
    with open(tmp_path / "m", "w+b") as stream:
        worker.write_message(stream, {"a": worker.describe("x", array)}, [array.tobytes(), b""])
        stream.seek(0)
        header, (blob, empty) = worker.read_message(stream)
    restored = worker.restore(header["a"], blob)
    assert empty == b""
    assert restored.dtype == array.dtype
    assert restored.shape == array.shape
    assert restored.tobytes() == array.tobytes()
    assert restored.flags.writeable


def test_a_message_cut_short_is_an_end(tmp_path):
    (tmp_path / "m").write_bytes(b"\x05\0\0\0\0\0\0\0{")
    with open(tmp_path / "m", "rb") as stream, pytest.raises(EOFError):
        worker.read_message(stream)


def test_answers_two_requests_and_ends_with_stdin(process):
    hello, _ = worker.read_message(process.stdout)
    assert hello["version"].count(".") == 2
    assert hello["message"] == ""
    for array in (np.array([-1, 2], np.float32), np.array(-3, np.float32)):
        worker.write_message(process.stdin, *request(array))
        assert worker.read_message(process.stdout) == ({"accepted": True}, [])
        header, (graph, blob) = worker.read_message(process.stdout)
        assert (header["status"], header["repeatable"], header["graph"]) == ("ok", True, True)
        assert b"Relu" in graph
        output = worker.restore(header["outputs"][0], blob)
        assert output.shape == array.shape
        assert output.tolist() == np.maximum(array, 0).tolist()
    process.stdin.close()
    assert process.wait(10) == 0


def test_what_is_printed_does_not_reach_the_answers():
    code = (
        "import os, sys\nsys.path.insert(0, os.path.dirname(sys.argv[1]))\nimport worker\n"
        "answer = worker._answer\n"
        "def noisy(*args):\n    print('noise', flush=True)\n    os.write(1, b'noise')\n"
        "    return answer(*args)\n"
        "worker._answer = noisy\nworker.main(sys.argv[2], False)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, "-c", code, worker.__file__, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with child:
            worker.read_message(child.stdout)
            worker.write_message(child.stdin, *request(np.array([5], np.float32)))
            worker.read_message(child.stdout)
            header, _ = worker.read_message(child.stdout)
            assert header["status"] == "ok"
            child.stdin.close()
            assert child.stdout.read() == b""
            assert child.stderr.read().count(b"noise") == 2
