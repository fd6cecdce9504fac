"""The script of every gallery case runs in a fresh process and says what the report says."""

import ast
import dataclasses
import subprocess
import sys

import numpy as np
import onnx
import pytest

from qlab.build import build
from qlab.case import Case
from qlab.errors import ExportError
from qlab.export import literals
from qlab.export.script import regression_test, reproducer_script
from qlab.export.verify import verify_script
from qlab.gallery import gallery_case, gallery_names
from qlab.graph import Graph, Node
from qlab.qtypes import DTYPES
from qlab.session import run

f32 = np.float32


def identity(value, *, fed=True, dtype_in_graph=True):
    """A case that returns its input."""
    node = Node("Identity", ("x",), ("y",))
    constants, inputs = ({}, {"x": value}) if fed else ({"x": value}, {})
    return Case(Graph((node,), constants, tuple(inputs), ("y",), {"": 21}), inputs)


def made_model(script):
    """The model that a script makes, without running the rest of it."""
    space: dict = {}
    body = script.split("\n\ndef run(level)")[0].replace("import onnxruntime as ort\n", "")
    exec(compile(body, "script", "exec"), space)  # our own text, held below to be nothing else
    return space["make_model"](), space


@pytest.mark.parametrize("name", gallery_names())
def test_the_script_says_what_the_report_says(name):
    report = run(gallery_case(name))
    found = verify_script(reproducer_script(report), times=1)
    assert found.ok, found.output
    assert found.reproduced == (report.exit_status != 0)


@pytest.mark.parametrize("name", ["qlinearadd-off-by-one", "qlinearconv-per-channel-zero-points"])
def test_the_regression_test_fails_while_the_difference_is_there(name, tmp_path):
    report = run(gallery_case(name))
    path = tmp_path / "test_regression.py"
    path.write_text(regression_test(report), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == report.exit_status, ran.stdout
    assert "2 failed" in ran.stdout if report.exit_status else "2 passed" in ran.stdout


@pytest.mark.parametrize("name", gallery_names())
def test_the_model_in_the_script_is_the_cases(name):
    case = gallery_case(name)
    model, space = made_model(reproducer_script(run(case)))
    given = case.model()
    assert model.ir_version == given.ir_version
    assert [n.SerializeToString() for n in model.graph.node] == [
        dataclass.SerializeToString() for dataclass in given.graph.node
    ]
    for made, stored in zip(model.graph.initializer, given.graph.initializer, strict=False):
        a, b = onnx.numpy_helper.to_array(made), onnx.numpy_helper.to_array(stored)
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    for key, value in space["INPUTS"].items():
        assert value.tobytes() == case.inputs[key].tobytes()


ODD = {
    "float32": np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028235e38, 0.1], f32),
    "float16": np.array([np.nan, -np.inf, -0.0, 6e-8, 65504, 0.1], np.float16),
    "float64": np.array([np.nan, np.inf, -0.0, 5e-324, 0.1], np.float64),
    "payload": np.array([0x7FC00001, 0xFF800001, 0x3F800000], np.uint32).view(f32),
    "int64": np.array([-(2**63), 2**63 - 1]),
    "uint64": np.array([2**64 - 1], np.uint64),
    "bool": np.array([[True], [False]]),
    "uint16": np.array([65535], np.uint16),
    "empty": np.zeros((2, 0, 3), np.int8),
    "scalar": np.array(-5, np.int8),
}


@pytest.mark.parametrize("name", ODD)
def test_every_bit_survives_as_a_literal(name):
    value = ODD[name]
    back = eval(literals.array(value), {"np": np})
    assert (back.dtype, back.shape, back.tobytes()) == (value.dtype, value.shape, value.tobytes())


@pytest.mark.parametrize("kind", ["int4", "uint4", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,)])
def test_types_that_numpy_does_not_have_are_stored_bytes(kind, shape):
    value = np.ones(shape).astype(DTYPES[kind]) * np.array(3).astype(DTYPES[kind])
    value = np.asarray(value).astype(DTYPES[kind])
    space = {"helper": onnx.helper, "TensorProto": onnx.TensorProto}
    back = onnx.numpy_helper.to_array(eval(literals.tensor("w", value), space))
    assert (back.dtype, back.shape, back.tobytes()) == (value.dtype, value.shape, value.tobytes())


def test_inputs_that_python_cannot_feed_become_constants():
    report = run(gallery_case("dequantizelinear-blocked-int4"))
    script = reproducer_script(report)
    assert "INPUTS = {}" in script
    assert verify_script(script, times=1).ok


def test_an_output_that_python_cannot_read_has_no_script():
    report = run(identity(np.ones(2).astype(DTYPES["int4"])))
    with pytest.raises(
        ExportError, match="the output y is int4, which ONNX Runtime's Python interface"
    ):
        reproducer_script(report)


def test_a_tensor_that_is_too_long_has_no_script():
    with pytest.raises(
        ExportError, match="20,001 elements is too long for a script; at most 20,000"
    ):
        reproducer_script(run(identity(np.zeros(20_001, np.int8))))


HOSTILE = [
    "quote \" and ' and \\",
    "line\nimport os\nos.abort()",
    "carriage\rimport os",
    "\u2028import os  # another line end",
    "\x0cimport os",
    '"""\nimport os\n"""',
    "null \x00 byte",
    "emoji 😀 and \ud800",
    "```\n# heading",
    "{0} %s \\N{BULLET}",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_no_text_of_a_case_becomes_code(words):
    case = build("QuantizeLinear")
    case = dataclasses.replace(case, title=words, source=words, note=words)
    plain = ast.dump(ast.parse(reproducer_script(run(build("QuantizeLinear")))))
    script = reproducer_script(run(case))
    assert ast.dump(ast.parse(script)) == plain
    script.encode("utf-8")


@pytest.mark.parametrize("words", [w for w in HOSTILE if "\ud800" not in w and "\x00" not in w])
def test_no_name_of_a_tensor_becomes_code(words):
    node = Node("Identity", (words,), (words + "y",))
    x = np.zeros(2, f32)
    case = Case(Graph((node,), {}, (words,), (words + "y",), {"": 13}), {words: x})
    script = reproducer_script(run(case))
    assert {type(n).__name__ for n in ast.parse(script).body} <= {
        "Import",
        "ImportFrom",
        "FunctionDef",
        "Assign",
        "If",
    }
    model, space = made_model(script)
    assert model.graph.node[0].input[0] == words
    assert list(space["INPUTS"]) == [words]


def test_attributes_of_every_kind():
    attributes = {
        "i": 3, "f": 0.5, "n": float("nan"), "s": 'a"b', "ints": (1, 2), "floats": (0.5, float("-inf")),
        "strings": ("a", "b"), "t": np.array([1, 2], np.int8),
    }  # fmt: skip
    text = literals.node(Node("Op", ("a",), ("b",), "d", attributes))
    proto = eval(
        text, {"helper": onnx.helper, "numpy_helper": onnx.numpy_helper, "np": np, "float": float}
    )
    assert {a.name for a in proto.attribute} == set(attributes)


@pytest.mark.parametrize("name", ["name", "not an identifier", "class", "x=1)\nimport os\n("])
def test_an_attribute_that_is_no_keyword_has_no_script(name):
    with pytest.raises(ExportError, match="an attribute with the name"):
        literals.node(Node("Op", ("a",), ("b",), "d", {name: 1}))
