"""The reproducer: one Python file that imports numpy, onnx and onnxruntime only, and its twin as a pytest file."""

import dataclasses
import platform
import re
from collections.abc import Mapping

from onnx import helper

from qlab.case import Case
from qlab.engines.ort import CARRIERS
from qlab.engines.results import RunStatus
from qlab.errors import ExportError
from qlab.export import literals
from qlab.graph import Node
from qlab.qtypes import Array, dtype_name
from qlab.report import Report

# The first two lines hold no text of the case: Python reads "coding: NAME" there, and a codec such as utf-7 can make
# code of the comments below.
SCRIPT_HEAD = """\
# Run it with Python, numpy, onnx and onnxruntime; nothing else is needed.
# Exit status 1 while the difference is there, 0 where it is not.
"""
TEST_HEAD = """\
# Run it with pytest, numpy, onnx and onnxruntime; nothing else is needed.
# It fails while the difference is there.
"""
FROM_ONNX = "from onnx import TensorProto, helper, numpy_helper\n"


def reproducer_script(report: Report) -> str:
    """A script that builds the model, runs it at each level of the report and compares with what is right.

    Its exit status is 1 where a difference (or a refusal) is still there, and 0 where all is equal. The last line that
    it prints says which (`qlab.export.verify`).

    Raises:
        ExportError: a tensor or attribute that a script cannot hold, or a report without a run of ONNX Runtime.
    """
    about, body = _parts(report)
    ended = any(r.status in (RunStatus.CRASHED, RunStatus.TIMED_OUT) for r in report.ort_runs)
    standard = "import platform\n" + ("import subprocess\n" if ended else "") + "import sys\n"
    right = "no difference" if right_outputs(report) else "it runs, no right result is known"
    judge = _JUDGE if right_outputs(report) else _SHOW
    main = (_COMPARE if right_outputs(report) else "") + _MAIN.replace("@RIGHT@", right)
    start = _EACH_IN_A_PROCESS if ended else _START
    return (
        f"{SCRIPT_HEAD}{about}{standard}\nimport numpy as np\nimport onnx\nimport onnxruntime as ort\n"
        f"{FROM_ONNX}\n{body}\n\n{main.replace('@JUDGE@', judge)}\n\n{start}"
    )


def regression_test(report: Report) -> str:
    """A pytest file: one test for each level, which fails while a code differs or the model is refused.

    Raises:
        ExportError: as `reproducer_script`.
    """
    about, body = _parts(report)
    return (
        f"{TEST_HEAD}{about}import numpy as np\nimport onnxruntime as ort\nimport pytest\n"
        f"{FROM_ONNX}\n{body}\n\n{test_function(report)}"
    )


def test_function(report: Report) -> str:
    """The test alone: it needs ``pytest``, ``np`` and the script's ``EXPECTED``, ``LEVELS`` and ``run``."""
    nodes = [n.op_type for n in report.case.graph.nodes]
    between = [name for name in nodes if name not in ("QuantizeLinear", "DequantizeLinear")]
    operators = "_".join(between or dict.fromkeys(nodes)).lower()
    if between and len(between) < len(nodes):
        operators = f"qdq_{operators}"
    # re.ASCII: "²" is a word character, but no part of a name in Python.
    name = re.sub(r"\W+", "_", operators, flags=re.ASCII)[:40].strip("_")
    return _TEST.replace("@NAME@", name or "case")


test_function.__test__ = False  # type: ignore[attr-defined]  # pytest collects by name


def right_outputs(report: Report) -> dict[str, Array]:
    """What exact arithmetic gives, or what the case says is right; {} where neither is known."""
    exact = exact_outputs(report)
    return exact if exact is not None else dict(report.case.expected)


def exact_outputs(report: Report) -> dict[str, Array] | None:
    """Exact arithmetic's outputs of the given graph; None where it has no arithmetic for a node."""
    run = report.scheme("exact")
    if run is None or run.trace is None or any(n.opaque for n in run.trace.nodes):
        return None
    return dict(run.trace.outputs)


def scriptable(case: Case, outputs: Mapping[str, Array]) -> tuple[Case, dict[str, str]]:
    """The case in types that Python can feed and read, as the engine ran it.

    An input that it cannot feed (int4, bfloat16 …) becomes a constant; an output that it cannot read goes through a
    Cast to a type that holds every value of it.

    Args:
        outputs: arrays of the outputs' types, where these are known.

    Returns:
        the case, and the new name of each output that is cast.
    """
    fixed = {n: v for n, v in case.inputs.items() if dtype_name(v.dtype) in CARRIERS}
    graph, casts, renamed = case.graph, [], {}
    taken = {name for node in graph.nodes for name in (*node.inputs, *node.outputs)}
    for name, value in outputs.items():
        carrier = CARRIERS.get(dtype_name(value.dtype))
        if carrier is not None and name in graph.outputs:
            renamed[name] = f"{name}_as_{carrier.name}"
            while renamed[name] in taken:
                renamed[name] += "_"
            to = int(helper.np_dtype_to_tensor_dtype(carrier))
            casts.append(Node("Cast", (name,), (renamed[name],), attributes={"to": to}))
    graph = dataclasses.replace(
        graph,
        nodes=(*graph.nodes, *casts),
        constants={**graph.constants, **fixed},
        inputs=tuple(n for n in graph.inputs if n not in fixed),
        outputs=tuple(renamed.get(n, n) for n in graph.outputs),
    )
    inputs = {n: v for n, v in case.inputs.items() if n not in fixed}
    return dataclasses.replace(case, graph=graph, inputs=inputs), renamed


def _parts(report: Report) -> tuple[str, str]:
    """What script and test have in common: the comment on top; and values, model and ``run``."""
    if not report.ort_runs:
        raise ExportError("nothing ran in ONNX Runtime: name a level, such as ORT_ENABLE_ALL")
    expected = right_outputs(report)
    ran = {name: value for r in report.ort_runs for name, value in r.outputs.items()}
    case, renamed = scriptable(report.case, {**expected, **ran})
    right = {renamed.get(n, n): _readable(v) for n, v in expected.items()}
    # Only what was seen is declared: an output's type that does not fit would be a refusal of another kind.
    types = {renamed.get(n, n): literals.enum(_readable(v)) for n, v in ran.items()}
    levels = literals.filled(
        "LEVELS = [", [literals.text(r.config.level) for r in report.ort_runs], "]"
    )
    body = (
        f"{_constants(case)}{_dict('INPUTS', {n: case.inputs[n] for n in case.graph.inputs})}"
        f"{_how(report)}{_dict('EXPECTED', right)}{levels}\n\n\n"
        f"{_make_model(case, types)}\n\n{_run(report)}"
    )
    return _about(report), body


def _readable(value: Array) -> Array:
    """The same values in a type that Python can read from ONNX Runtime."""
    return value.astype(CARRIERS.get(dtype_name(value.dtype), value.dtype))


def _about(report: Report) -> str:
    """The comment on top: which case, what came out, and where."""
    title = report.case.title or "A case of " + ", ".join(
        n.op_type for n in report.case.graph.nodes
    )
    source = f" ({report.case.source})" if report.case.source else ""
    run = report.ort_runs[-1]
    cpu = f", a CPU of the class {run.cpu}" if run.cpu else ""
    cpu += ", which was emulated" if run.emulated else ""
    seen = f"Seen with onnxruntime {run.version} on {platform.machine()}{cpu}."
    elsewhere = "".join(f"{literals.comment(words)}\n" for words in report.elsewhere)
    return (
        f"#\n{literals.comment(title + source)}\n{literals.comment(report.verdict.headline)}\n"
        f"{literals.comment(seen)}\n{elsewhere}\n"
    )


def _how(report: Report) -> str:
    """A comment: how what is expected comes about."""
    if exact_outputs(report) is not None:
        words = "Exact rational arithmetic of the stored values, rounded half to even once."
    elif report.case.expected:
        words = "What the case says is right."
    else:
        words = "No right result is known: this only shows that it runs."
    why = [c.why for r in report.ort_runs for c in report.comparisons_of(r) if c.why]
    if why:
        words += f" {why[-1][0].upper()}{why[-1][1:]}."
    return literals.comment(words) + "\n"


def _dict(name: str, values: Mapping[str, Array]) -> str:
    entries = "".join(f"{literals.entry(n, v)}\n" for n, v in values.items())
    return f"{name} = {{\n{entries}}}\n" if entries else f"{name} = {{}}\n"


def _plain(value: Array) -> bool:
    return dtype_name(value.dtype) in literals.PLAIN


def _constants(case: Case) -> str:
    plain = {n: v for n, v in case.graph.constants.items() if _plain(v)}
    return _dict("CONSTANTS", plain) if plain else ""


def _make_model(case: Case, output_types: Mapping[str, str]) -> str:
    """The function that returns the model's bytes."""
    graph = case.graph
    nodes = "".join(f"{literals.node(item, 8)},\n" for item in graph.nodes)
    packed = {n: v for n, v in graph.constants.items() if not _plain(v)}
    stored = "".join(
        f"        # {dtype_name(v.dtype)}: {', '.join(str(code) for code in v.reshape(-1)[:12])}"
        f"{' …' if v.size > 12 else ''}\n        {literals.tensor(n, v)},\n"
        for n, v in packed.items()
    )
    constants = "numpy_helper.from_array(value, name) for name, value in CONSTANTS.items()"
    constants = f"[{constants}]" if len(packed) < len(graph.constants) else "[]"
    added = f"    constants += [\n{stored}    ]\n" if stored else ""
    inputs = [
        f"helper.make_tensor_value_info({literals.text(n)}, "
        f"TensorProto.{literals.enum(case.inputs[n])}, {list(case.inputs[n].shape)})"
        for n in graph.inputs
    ]
    outputs = [
        f"helper.make_tensor_value_info({literals.text(n)}, TensorProto.{output_types[n]}, None)"
        if n in output_types
        else f"helper.make_empty_tensor_value_info({literals.text(n)})"
        for n in graph.outputs
    ]
    opsets = [f"helper.make_opsetid({literals.text(d)}, {int(v)})" for d, v in graph.opset.items()]
    return (
        f"def make_model():\n    nodes = [\n{nodes}    ]\n"
        f"    constants = {constants}\n{added}"
        f"{literals.filled('inputs = [', inputs, ']', 4)}\n"
        f"{literals.filled('outputs = [', outputs, ']', 4)}\n"
        '    graph = helper.make_graph(nodes, "case", inputs, outputs, constants)\n'
        f"{literals.filled('opsets = [', opsets, ']', 4)}\n"
        "    model = helper.make_model(graph, opset_imports=opsets)\n"
        f"    model.ir_version = {int(case.model().ir_version)}  # the oldest for this opset\n"
        "    return model.SerializeToString()\n"
    )


def _run(report: Report) -> str:
    entries = "".join(
        f"    options.add_session_config_entry({literals.text(k)}, {literals.text(v)})\n"
        for k, v in report.ort_runs[-1].config.entries.items()
    )
    return _RUN.replace("@ENTRIES@", entries)


_RUN = '''def run(model, level):
    """Outputs of ONNX Runtime by name, at one graph optimization level."""
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.log_severity_level = 4
@ENTRIES@    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, INPUTS)))
'''

_COMPARE = '''def compare(name, expected, actual):
    """Print both; True where every code is equal."""
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        print(name, "has the type and shape", actual.dtype, actual.shape)
        return False
    wrong = (actual != expected) & ((actual == actual) | (expected == expected))  # NaN is NaN
    shown = wrong if wrong.any() else ~wrong
    print(name, "differs in", wrong.sum(), "of", wrong.size)
    print("  expected", expected[shown][:16].tolist())
    print("  actual  ", actual[shown][:16].tolist())
    if wrong.any():
        off = abs(np.subtract(actual[wrong], expected[wrong], dtype="float64"))
        print("  largest difference", off.max(), "mean", off.mean())
    return not wrong.any()


'''

_MAIN = """def main():
    print("onnxruntime", ort.__version__, "onnx", onnx.__version__, platform.machine())
    model, answer = make_model(), "@RIGHT@"
    for level in LEVELS:
        try:
            outputs = run(model, level)
        except Exception as error:  # ONNX Runtime says why in its own words
            print(level, "refused:", error)
            answer = "REFUSAL REPRODUCED"
            continue
@JUDGE@    print(answer)
    return int(answer != "@RIGHT@")
"""

_JUDGE = """\
        if not all([compare(f"{level} {n}", EXPECTED[n], outputs[n]) for n in EXPECTED]):
            answer = "DIFFERENCE REPRODUCED"
"""

_SHOW = """\
        for name, actual in outputs.items():
            print(level, name, actual.dtype, actual.shape, actual.ravel()[:16].tolist())
"""

_START = """if __name__ == "__main__":
    sys.exit(main())
"""

_EACH_IN_A_PROCESS = """def supervise():
    \"\"\"Each level in a process of its own: ONNX Runtime ended or blocked its process here.\"\"\"
    statuses = []
    for level in LEVELS:
        try:
            statuses.append(subprocess.call([sys.executable, __file__, level], timeout=12))
        except subprocess.TimeoutExpired:
            statuses.append("none in 12 seconds")
        print(level, "exit status:", statuses[-1], flush=True)
    ended = [status for status in statuses if status not in (0, 1)]
    answer = "CRASH REPRODUCED" if ended else "DIFFERENCE REPRODUCED"
    print(answer if any(statuses) else "no difference")
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(supervise())
    LEVELS = sys.argv[1:]
    sys.exit(main())
"""

_TEST = """@pytest.mark.parametrize("level", LEVELS)
def test_@NAME@(level):
    outputs = run(make_model(), level)
    for name, expected in EXPECTED.items():
        assert (outputs[name].dtype, outputs[name].shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name)
"""
