"""The script of every gallery case runs in a fresh process and says what the report says."""

import ast
import contextlib
import dataclasses
import io
import platform
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest

from qlab.builder import build
from qlab.case import Case
from qlab.engines.ort import ort_version
from qlab.engines.results import RunStatus
from qlab.errors import ExportError
from qlab.export import literals
from qlab.export.script import regression_test, reproducer_script, test_function
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


def ast_value(expression):
    return eval(expression, {"np": np})


def made_model(script):
    """The model that a script makes, and its names, without running the rest of it."""
    space: dict = {"__name__": "script"}
    exec(compile(script, "script", "exec"), space)  # our own text, held below to be nothing else
    return onnx.ModelProto.FromString(space["make_model"]()), space


@pytest.fixture(scope="module")
def reports():
    return {name: run(gallery_case(name)) for name in gallery_names()}


@pytest.mark.parametrize("name", gallery_names())
def test_the_script_says_what_the_report_says(reports, name):
    found = verify_script(reproducer_script(reports[name]), times=1)
    assert found.ok, found.output
    kinds = {
        0: "no difference on this machine",
        1: "difference reproduced",
        3: "refusal reproduced",
    }
    assert found.sentence == f"ran 1 of 1 times, {kinds[reports[name].exit_status]}"


def test_the_regression_tests_fail_while_the_difference_is_there(reports, tmp_path):
    wanted = {}
    for name, report in reports.items():
        path = tmp_path / f"test_{name.replace('-', '_')}.py"
        path.write_text(regression_test(report), encoding="utf-8")
        for ran in report.ort_runs:
            right = ran.status is RunStatus.OK and all(c.equal for c in report.comparisons_of(ran))
            wanted[path.name, ran.config.level] = "PASSED" if right else "FAILED"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        ".",
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = re.findall(r"^(PASSED|FAILED) (\w+\.py)::test_\w+\[(\w+)\]", ran.stdout, re.MULTILINE)
    assert {(path, level): outcome for outcome, path, level in said} == wanted
    assert {"PASSED", "FAILED"} == set(wanted.values())


def test_the_script_prints_what_there_is_and_what_should_be(reports):
    printed = verify_script(reproducer_script(reports["qlinearadd-off-by-one"]), times=1).output
    assert f"onnxruntime {ort_version()} onnx {onnx.__version__} {platform.machine()}" in printed
    assert "ORT_ENABLE_ALL C differs in 1 of 1" in printed
    assert "  expected [-87]\n  actual   [-88]\n  largest difference 1.0 mean 1.0" in printed


def test_the_differing_values_are_printed_however_far_back_they_are():
    space = made_model(reproducer_script(run(build("QuantizeLinear"))))[1]
    expected = np.zeros((100, 3), np.int8)
    actual = expected.copy()
    actual[70, 1] = -128
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert not space["compare"]("y", expected, actual)
        assert not space["compare"]("y", expected, actual.astype(np.uint8))
        assert space["compare"]("y", np.array(np.nan), np.array(np.nan))
        assert not space["compare"]("y", np.array([True]), np.array([False]))
    assert "differs in 1 of 300\n  expected [0]\n  actual   [-128]" in out.getvalue()
    assert "largest difference 128.0 mean 128.0" in out.getvalue()
    assert "y has the type and shape uint8 (100, 3)" in out.getvalue()


@pytest.mark.parametrize("name", gallery_names())
def test_it_is_readable(reports, name):
    for text in (reproducer_script(reports[name]), regression_test(reports[name])):
        assert max(map(len, text.splitlines())) <= 100
        assert len(text.splitlines()) <= 120
        imported = set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE))
        assert imported <= {"numpy", "onnx", "onnxruntime", "platform", "sys", "pytest"}


@pytest.mark.parametrize("name", gallery_names())
def test_the_model_in_the_script_is_the_cases(reports, name):
    case = reports[name].case
    model, space = made_model(reproducer_script(reports[name]))
    given = case.model()
    assert model.ir_version == given.ir_version
    assert list(model.opset_import) == list(given.opset_import)
    assert [n.SerializeToString() for n in model.graph.node] == [
        node.SerializeToString() for node in given.graph.node
    ]
    made = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    for key, value in {**case.graph.constants, **case.inputs}.items():
        back = made[key] if key in made else space["INPUTS"][key]
        assert (back.dtype, back.shape, back.tobytes()) == (
            value.dtype,
            value.shape,
            value.tobytes(),
        )


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
    back = ast_value(literals.array(value))
    assert (back.dtype, back.shape, back.tobytes()) == (value.dtype, value.shape, value.tobytes())


def test_a_long_array_is_broken_into_lines_and_read_back():
    value = np.arange(-900, 900, dtype=np.int16).reshape(2, 30, 30)
    lines = literals.entry("w", value)
    assert max(map(len, lines.splitlines())) <= 100
    assert np.array_equal(ast_value(f"{{{lines}}}")["w"], value)


@pytest.mark.parametrize("name", [n for n in ODD if n != "payload"])
def test_every_value_survives_a_run(name):
    found = verify_script(reproducer_script(run(identity(ODD[name]))), times=1)
    assert found.sentence == "ran 1 of 1 times, no difference on this machine", found.output


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


@pytest.mark.parametrize("kind", ["int4", "uint4", "bfloat16"])
def test_an_output_that_python_cannot_read_is_cast(kind):
    if kind == "bfloat16":
        report = run(identity(np.array([1, 7, 2]).astype(DTYPES[kind])))
    else:
        zero_point = np.array(1).astype(DTYPES[kind])
        case = build("QuantizeLinear").with_tensor("y_zero_point", zero_point)
        opset = {"": 21}
        report = run(dataclasses.replace(case, graph=dataclasses.replace(case.graph, opset=opset)))
    script = reproducer_script(report)
    assert "y_as_" in script
    assert (
        verify_script(script, times=1).sentence == "ran 1 of 1 times, no difference on this machine"
    )


def quick_gelu(expected=None):
    """An operator that nothing here has arithmetic for."""
    node = Node("QuickGelu", ("x",), ("y",), "com.microsoft")
    graph = Graph((node,), {}, ("x",), ("y",), {"": 13, "com.microsoft": 1})
    return Case(graph, {"x": np.array([9], f32)}, expected=expected or {})


def test_where_no_right_result_is_known_none_is_claimed():
    script = reproducer_script(run(quick_gelu()))
    assert "# No right result is known: this only shows that it runs." in script
    found = verify_script(script, times=1)
    assert found.sentence == "ran 1 of 1 times, it runs, no right result is known"
    assert "exact rational" not in script.lower()


def test_an_operator_that_the_case_knows_the_result_of():
    script = reproducer_script(run(quick_gelu({"y": np.array([9], f32)})))
    assert "# What the case says is right." in script
    assert "# Exact rational" not in script


def test_after_a_crash_each_level_has_its_own_process(reports):
    report = reports["qlinearadd-off-by-one"]
    crashed = tuple(
        dataclasses.replace(r, status=RunStatus.CRASHED, outputs={}) for r in report.ort_runs
    )
    script = reproducer_script(dataclasses.replace(report, engine_runs=crashed))
    found = verify_script(script, times=1)
    assert found.sentence == "ran 1 of 1 times, difference reproduced", found.output
    aborting = script.replace(
        "    session = ", "    if level == 'ORT_ENABLE_ALL': import os; os.abort()\n    session = "
    )
    found = verify_script(aborting, times=1)
    assert found.sentence == "ran 1 of 1 times, crash reproduced", found.output
    assert "ORT_ENABLE_ALL exit status: -6" in found.output


def test_what_fails_in_the_script_itself_is_no_refusal(reports):
    script = reproducer_script(reports["qlinearadd-off-by-one"])
    broken = script.replace("TensorProto.INT8", "TensorProto.NOT_IN_THIS_RELEASE")
    assert verify_script(broken, times=1).sentence.startswith("ran 0 of 1 times, a run failed")


def test_session_entries_are_set():
    report = run(build("QuantizeLinear"), entries={"session.x64quantprecision": "1"})
    script = reproducer_script(report)
    assert 'options.add_session_config_entry("session.x64quantprecision", "1")' in script
    assert verify_script(script, times=1).ok


def test_without_a_run_there_is_no_script(reports):
    report = reports["quantizelinear-half-even"]
    without = dataclasses.replace(report, engine_runs=report.engine_runs[-1:])
    with pytest.raises(ExportError, match="nothing ran in ONNX Runtime: name a level"):
        reproducer_script(without)


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
    "coding: utf-7\n+AAo-import os+AAo-os.abort()+AAo-",
    "# -*- coding: cp037 -*-",
    "a  # int4 b",
    "@ENTRIES@ @JUDGE@ @NAME@",
    "z" * 300,
    "²",
]


@pytest.mark.parametrize("words", HOSTILE)
def test_no_text_of_a_case_becomes_code(words):
    plain = run(build("QuantizeLinear"))
    texts = {"title": words, "source": words, "note": words}
    hostile = dataclasses.replace(
        plain,
        case=dataclasses.replace(plain.case, **texts),
        verdict=dataclasses.replace(plain.verdict, headline=words),
    )
    for write in (reproducer_script, regression_test):
        # As bytes: only then does Python look for an encoding in the first two lines.
        parsed = [ast.dump(ast.parse(write(r).encode())) for r in (plain, hostile)]
        assert parsed[0] == parsed[1]


@pytest.mark.parametrize("words", [w for w in HOSTILE if "\ud800" not in w and "\x00" not in w])
def test_no_name_of_a_tensor_becomes_code(words):
    x = np.zeros(2, f32)
    c = np.ones(2).astype(DTYPES["int4"])
    nodes = (Node("Identity", (words,), (words + "y",)), Node("Identity", (words + "c",), ("c",)))
    graph = Graph(nodes, {words + "c": c, words + "f": x}, (words,), (words + "y", "c"), {"": 21})
    report = run(Case(graph, {words: x}))
    for write in (reproducer_script, regression_test):
        body = ast.parse(write(report).encode()).body
        allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.If)
        assert all(isinstance(item, allowed) for item in body)
    model, space = made_model(reproducer_script(report))
    assert model.graph.node[0].input[0] == words
    assert {t.name for t in model.graph.initializer} == {words + "c", words + "f"}
    assert list(space["INPUTS"]) == [words]


@pytest.mark.parametrize("words", HOSTILE)
def test_no_operator_becomes_code(words):
    node = Node(words, ("x",), ("y",), words, {"a": words, "b": (words, words)})
    text = literals.node(node)
    call = ast.parse(text.encode("utf-8", "surrogatepass"), mode="eval").body
    assert isinstance(call, ast.Call)
    assert all(isinstance(k.value, (ast.Constant, ast.List)) for k in call.keywords)
    report = run(build("QuantizeLinear"))
    graph = dataclasses.replace(report.case.graph, nodes=(node,))
    hostile = dataclasses.replace(report, case=dataclasses.replace(report.case, graph=graph))
    assert isinstance(ast.parse(test_function(hostile)).body[0], ast.FunctionDef)


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
