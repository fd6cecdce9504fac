"""The report as an issue that a maintainer can act on: the six things that turned reports into fixes, by default.

A small input, expected and actual, two independent oracles, a count, a control case that passes, a regression test.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

import numpy as np

from qlab.case import Case
from qlab.engines.ort import run_ort
from qlab.engines.results import RunStatus, SessionConfig
from qlab.errors import ExportError, TraceError
from qlab.export.issue_form import IssueText, machine_values
from qlab.export.script import (
    exact_outputs,
    regression_test,
    reproducer_script,
    right_outputs,
    test_function,
)
from qlab.export.verify import Verification
from qlab.graph import same_outputs
from qlab.notation import integer, show, steps
from qlab.qtypes import Array, bounds, dtype_name, is_float, is_integer
from qlab.report import Report, run_label
from qlab.schemes import schemes
from qlab.trace import trace

SHOWN = 16
HALVED = "at half their distance from the middle of their type"


# whole; short: without what the script printed; test: the regression test in place of the script; brief: as test, and
# of the description the answer and the values only.
Length = Literal["whole", "short", "test", "brief"]
LENGTHS: tuple[Length, ...] = ("whole", "short", "test", "brief")


def issue_texts(
    report: Report, verification: Verification | None = None
) -> dict[Length, IssueText]:
    """Title and fields of an issue about the report, in every length, the longest first.

    Args:
        verification: what running the script gave.

    Raises:
        ExportError: a report without a run of ONNX Runtime.
    """
    nodes = ", ".join(dict.fromkeys(n.op_type for n in report.case.graph.nodes))
    title = " ".join(f"[quantization] {nodes}: {report.verdict.headline.rstrip('.')}".split())
    machine = machine_values(report)
    answer = [_headline(report), _table(report)]
    described = [*answer, _counts(report), _oracles(report), _elsewhere(report)]
    described += [_control(report), _answers(report)]
    texts: dict[Length, IssueText] = {}
    for length in LENGTHS:
        parts = answer if length == "brief" else described
        try:
            reproduce = _reproduction(report, verification, length)
            test = _test(report) if length in ("whole", "short") else ""
        except ExportError as error:
            words = inline(str(error))
            reproduce = f"The model and its data are attached (there is no script: {words})."
            test = ""
        values = {
            "issue-descript": "\n\n".join(part for part in (*parts, test) if part),
            "reproducibility": reproduce,
            **machine,
        }
        texts[length] = IssueText(_cut(title, 160), values)
    return texts


def _reproduction(report: Report, verification: Verification | None, length: Length) -> str:
    """What to run, and what came out here."""
    if length in ("test", "brief"):
        ran = f"As a script, it {verification.sentence}. " if verification is not None else ""
        return f"{ran}As a regression test:\n\n{fence(regression_test(report), 'python')}"
    ran = f"The script {verification.sentence}.\n\n" if verification is not None else ""
    script = f"{ran}{fence(reproducer_script(report), 'python')}"
    if length != "whole" or verification is None or not verification.endings:
        return script
    return f"{script}\n\nIt printed, on the machine named below:\n\n{fence(verification.output)}"


def _test(report: Report) -> str:
    imports = (
        "import numpy as np\nimport pytest\nfrom reproduce import EXPECTED, LEVELS, make_model, run"
    )
    code = f"{imports}\n\n\n{test_function(report)}"
    return (
        "**A regression test**, beside the script below as reproduce.py; it fails while the difference is there:"
        f"\n\n{fence(code, 'python')}"
    )


def inline(words: str) -> str:
    """A text on one line in which Markdown and HTML find nothing."""
    line = " ".join(words.split())
    for character in "\\`*_[]<>|~$":
        line = line.replace(character, "\\" + character)
    return line.replace("@", "@\u200b").replace("#", "#\u200b")  # names nobody, no other issue


def fence(code: str, language: str = "") -> str:
    """A code block that the code cannot end."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{code.rstrip()}\n{ticks}"


def _cut(words: str, limit: int) -> str:
    return words if len(words) <= limit else words[: limit - 1] + "…"


def _headline(report: Report) -> str:
    why = "\n".join(f"- {inline(sentence)}" for sentence in report.verdict.sentences)
    return inline(report.verdict.headline) + (f"\n\n{why}" if why else "")


def _table(report: Report) -> str:
    """Input, expected and actual, side by side."""
    rows = [(f"input {inline(name)}", values(value)) for name, value in report.case.inputs.items()]
    expected = right_outputs(report)
    for name in report.case.graph.outputs:
        if name in expected:
            rows.append((f"**expected** {inline(name)}", values(expected[name])))
        for run in report.ort_runs:
            if name in run.outputs:
                rows.append(
                    (f"**actual** {inline(name)}, {run.config.level}", values(run.outputs[name]))
                )
    listed = "\n".join(f"| {name} | {value} |" for name, value in rows)
    return f"| tensor | values |\n|---|---|\n{listed}"


def values(value: Array) -> str:
    """``int8 [1, 3]: −1, 0, 1``; the first of many."""
    flat = value.reshape(-1)
    texts = [show(v) if is_float(value.dtype) else integer(v) for v in flat[:SHOWN]]
    more = f", … ({flat.size:,} in all)" if flat.size > SHOWN else ""
    return f"{dtype_name(value.dtype)} {list(value.shape)}: {', '.join(texts) or 'empty'}{more}"


def _counts(report: Report) -> str:
    lines = []
    for run in report.ort_runs:
        for c in report.comparisons_of(run):
            unit = "ulp" if c.unit == "ulp" else "step"
            where = f"{run.config.level}, {inline(c.output)}"
            if c.equal:
                lines.append(f"- {where}: all {c.size:,} equal.")
            elif c.size < 0:
                lines.append(f"- {where}: {inline(c.why)}.")
            else:
                side = {"above": "all above", "below": "all below", "both": "on both sides"}[
                    c.direction
                ]
                lines.append(
                    f"- {where}: {c.mismatches:,} of {c.size:,} differ, {side}; largest difference "
                    f"{steps(c.max_difference, unit)}, mean {c.mean_difference:.4g}."
                )
    return (
        "**Count** (in quantization steps of the output where it has codes)\n\n" + "\n".join(lines)
        if lines
        else ""
    )


def _oracles(report: Report) -> str:
    """What the engine was compared with; an oracle that is itself in doubt is said to be."""
    lines = []
    if exact_outputs(report) is not None:
        lines.append(
            "- Exact rational arithmetic of the stored values, rounded half to even once: the expected values above."
        )
    elif report.case.expected:
        lines.append("- The expected values are given with the case.")
    float64 = report.scheme("float64")
    if float64 is not None and float64.trace is not None:
        lines.append(
            f"- The specification's formula in float64: {_agreement(report, float64.label)}."
        )
    for run in report.engine_runs:
        if run.engine == "onnx_reference":
            said = (
                _agreement(report, run_label(run))
                if run.status is RunStatus.OK
                else f"cannot run it ({inline(_cut(run.message, 120))})"
            )
            lines.append(f"- The ONNX reference evaluator, onnx {run.version}: {said}.")
    return "**Oracles**\n\n" + "\n".join(lines) if lines else ""


def _agreement(report: Report, label: str) -> str:
    compared = [c for c in report.comparisons if c.actual == label]
    if not compared:
        return "not compared"
    wrong = sum(max(c.mismatches, 0) for c in compared)
    if all(c.equal for c in compared):
        return "equal to exact"
    return f"{wrong:,} of {sum(c.size for c in compared):,} differ from exact, so it is no second witness here"


def _elsewhere(report: Report) -> str:
    """Last good, first bad, level, pass and CPU, where they are known."""
    if not report.elsewhere:
        return ""
    listed = "\n".join(f"- {inline(sentence)}" for sentence in report.elsewhere)
    return f"**Other releases, levels, passes and CPUs**\n\n{listed}"


def _control(report: Report) -> str:
    right = [
        r.config.level
        for r in report.ort_runs
        if r.status is RunStatus.OK and all(c.equal for c in report.comparisons_of(r))
    ]
    wrong = any(not c.equal for r in report.ort_runs for c in report.comparisons_of(r))
    if wrong and right and report.comparisons:
        return f"**Control**: the same model and input are right at {', '.join(right)}."
    if report.verdict.status not in ("differs", "failed"):
        return ""
    for finding in report.findings:
        if finding.fixed is not None and _is_right(finding.fixed, report):
            return (
                f"**Control**: with {inline(finding.nearest)} it runs, and equals exact arithmetic."
            )
    for words, control in _neighbours(report.case):
        if _is_right(control, report):
            return f"**Control**: with {words} every code is right."
    return ""


def _neighbours(case: Case) -> Iterator[tuple[str, Case]]:
    """Tamer cases of the same graph: they are controls where ONNX Runtime is right on them."""
    codes = {n: v for n, v in case.inputs.items() if _has_codes(v)}
    reals = {n: v for n, v in case.inputs.items() if is_float(v.dtype)}
    if codes:
        yield f"the codes of {_listed(codes)} {HALVED}", _with(case, codes, _half)
    if reals:
        yield f"{_listed(reals)} all ones", _with(case, reals, np.ones_like)
    for name, value in case.graph.constants.items():
        if value.ndim > 1 and _has_codes(value):
            half = _with(case, {name: value}, _half)
            yield f"the codes of {inline(name)} {HALVED}", half


def _with(case: Case, chosen: Mapping[str, Array], change: Callable[[Array], Array]) -> Case:
    for name, value in chosen.items():
        case = case.with_tensor(name, change(value))
    return case


def _has_codes(value: Array) -> bool:
    return is_integer(value.dtype) and value.dtype.itemsize <= 4


def _half(codes: Array) -> Array:
    middle = (sum(bounds(codes.dtype)) + 1) // 2
    return np.asarray((codes.astype(np.int64) - middle) // 2 + middle).astype(codes.dtype)


def _listed(names: Iterable[str]) -> str:
    return " and ".join(inline(name) for name in names)


def _is_right(case: Case, report: Report) -> bool:
    """True where ONNX Runtime was run on the case and equals exact arithmetic."""
    run = report.ort_runs[-1]
    cpu = run.cpu if run.emulated else "this"
    config = SessionConfig(run.config.level, run.config.entries)
    found = run_ort(case, config, cpu=cpu, version=run.version)
    if found.status is not RunStatus.OK or not found.repeatable:
        return False
    try:
        exact = trace(case.graph, case.inputs, schemes()["exact"])
    except TraceError:
        return False
    return same_outputs(found.outputs, exact.outputs)


def _answers(report: Report) -> str:
    """What maintainers ask first."""
    if report.findings:
        valid = "no: " + "; ".join(inline(f"{f.found} ({f.rule})") for f in report.findings)
    else:
        valid = "yes, no rule of the operator's specification that qlab knows is broken"
    entries = {k: v for r in report.ort_runs for k, v in r.config.entries.items()}
    settings = (
        ", ".join(f"{inline(k)} = {inline(v)}" for k, v in entries.items())
        or "none besides the level"
    )
    return (
        "**Asked first**\n\n"
        f"- Is the model valid? {valid[0].upper()}{valid[1:]}.\n"
        "- Which rounding is expected? Half to even, once, where the specification rounds.\n"
        f"- Which execution provider? The default CPU provider; session options: {settings}."
    )
