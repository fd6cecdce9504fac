"""The reproducer: one Python file that imports numpy, onnx and onnxruntime only, and its twin as a pytest file."""

import dataclasses
import re

from qlab.case import Case
from qlab.engines.results import RunStatus
from qlab.errors import ExportError
from qlab.export import literals
from qlab.qtypes import Array, dtype_name
from qlab.report import Report

FED = literals.PLAIN


@dataclasses.dataclass(frozen=True)
class _Parts:
    """What script and test have in common."""

    head: str
    model: str
    inputs: str
    expected: str
    levels: str
    entries: str
    how: str


def reproducer_script(report: Report) -> str:
    """A script that builds the model, runs it at each level of the report and compares with what is right.

    Its exit status is 1 where a difference (or a refusal) is still there, and 0 where all is equal.

    Raises:
        ExportError: a tensor that a script cannot hold.
    """
    parts = _parts(report)
    return (
        f"{parts.head}\nimport platform\nimport sys\n\nimport numpy as np\nimport onnx\nimport onnxruntime as ort\n"
        "from onnx import TensorProto, helper, numpy_helper\n\n\n"
        f"def make_model():\n{parts.model}\n\n"
        f"INPUTS = {parts.inputs}\n\n{parts.how}EXPECTED = {parts.expected}\nLEVELS = {parts.levels}\n"
        f"\n\n{_RUN.replace('@ENTRIES@', parts.entries)}\n\n{_MAIN}"
    )


def regression_test(report: Report) -> str:
    """A pytest file: one test for each level, which fails while a code differs or the model is refused.

    Raises:
        ExportError: a tensor that a script cannot hold.
    """
    parts = _parts(report)
    name = re.sub(r"\W+", "_", "_".join(n.op_type for n in report.case.graph.nodes).lower())[
        :40
    ].strip("_")
    return (
        f"{parts.head}\nimport numpy as np\nimport onnxruntime as ort\nimport pytest\n"
        "from onnx import TensorProto, helper, numpy_helper\n\n\n"
        f"def make_model():\n{parts.model}\n\n"
        f"INPUTS = {parts.inputs}\n\n{parts.how}EXPECTED = {parts.expected}\nLEVELS = {parts.levels}\n"
        f"\n\n{_RUN.replace('@ENTRIES@', parts.entries)}\n\n"
        f'@pytest.mark.parametrize("level", LEVELS)\ndef test_{name}(level):\n'
        "    for name, actual in run(level).items():\n"
        "        np.testing.assert_array_equal(actual, EXPECTED[name], err_msg=name)\n"
        "        assert actual.dtype == EXPECTED[name].dtype\n"
    )


def right_outputs(report: Report) -> dict[str, Array]:
    """What exact arithmetic gives, or what the case says is right; {} where neither is known."""
    exact = report.scheme("exact")
    if (
        exact is not None
        and exact.trace is not None
        and not any(n.opaque for n in exact.trace.nodes)
    ):
        return dict(exact.trace.outputs)
    return dict(report.case.expected)


def _parts(report: Report) -> _Parts:
    case, expected = scriptable(report.case), right_outputs(report)
    for name, value in expected.items():
        if dtype_name(value.dtype) not in FED:
            raise ExportError(
                f"the output {name} is {dtype_name(value.dtype)}, which ONNX Runtime's Python interface cannot "
                "return: take the model and its data"
            )
    run = report.ort_runs[-1]
    ran = {name: literals.enum(value) for r in report.ort_runs for name, value in r.outputs.items()}
    types = ran or {name: literals.enum(value) for name, value in expected.items()}
    inputs = "".join(
        f"    {literals.text(n)}: {literals.array(case.inputs[n])},\n" for n in case.graph.inputs
    )
    listed = "".join(f"    {literals.text(n)}: {literals.array(v)},\n" for n, v in expected.items())
    levels = "".join(f'    "{r.config.level}",\n' for r in report.ort_runs)
    entries = "".join(
        f"    options.add_session_config_entry({literals.text(k)}, {literals.text(v)})\n"
        for k, v in run.config.entries.items()
    )
    title = case.title or "A case of " + ", ".join(n.op_type for n in case.graph.nodes)
    source = f" ({case.source})" if case.source else ""
    return _Parts(
        f"{literals.comment(title + source)}\n#\n{literals.comment(report.verdict.headline)}\n",
        literals.model(case.graph, case.inputs, types, case.model().ir_version),
        f"{{\n{inputs}}}" if inputs else "{}",
        f"{{\n{listed}}}" if listed else "{}",
        f"[\n{levels}]",
        entries,
        _how(report),
    )


def scriptable(case: Case) -> Case:
    """The case with inputs that Python cannot feed (int4, bfloat16 …) as constants."""
    fixed = {n: v for n, v in case.inputs.items() if dtype_name(v.dtype) not in FED}
    if not fixed:
        return case
    graph = dataclasses.replace(
        case.graph,
        constants={**case.graph.constants, **fixed},
        inputs=tuple(n for n in case.graph.inputs if n not in fixed),
    )
    return dataclasses.replace(
        case, graph=graph, inputs={n: v for n, v in case.inputs.items() if n not in fixed}
    )


def _how(report: Report) -> str:
    """A comment: how what is expected comes about."""
    exact = report.scheme("exact")
    if exact is None or exact.trace is None:
        words = (
            "What the case says is right."
            if report.case.expected
            else "No right result is known: only that it runs."
        )
        return literals.comment(words) + "\n"
    words = "By exact rational arithmetic of the stored values, rounded half to even once."
    run = next((r for r in report.ort_runs if r.status is RunStatus.OK), None)
    compared = [c for r in report.ort_runs for c in report.comparisons_of(r) if c.why]
    if run is not None and compared:
        words += f" {compared[-1].why[0].upper()}{compared[-1].why[1:]}."
    return literals.comment(words) + "\n"


_RUN = '''def run(level):
    """Outputs of ONNX Runtime at one graph optimization level."""
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.log_severity_level = 4
@ENTRIES@    model = make_model().SerializeToString()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, INPUTS)))
'''

_MAIN = """def main():
    print("onnxruntime", ort.__version__, "on", platform.system(), platform.machine())
    failed = 0
    for level in LEVELS:
        try:
            outputs = run(level)
        except Exception as error:
            print(level, "refused:", error)
            failed += 1
            continue
        for name, actual in outputs.items():
            expected = EXPECTED.get(name, actual)
            if (actual.shape, actual.dtype) == (expected.shape, expected.dtype):
                same = (actual == expected) | ((actual != actual) & (expected != expected))
            else:
                same = np.zeros(actual.shape, bool)
            print(level, name, "differs in", int((~same).sum()), "of", same.size)
            print("  expected", expected.ravel()[:16])
            print("  actual  ", actual.ravel()[:16])
            failed += int(not same.all())
    print("DIFFERENCE REPRODUCED" if failed else "no difference")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
"""
