"""Everything that one takes away, as files: script, test, report, case, model with test data."""

import dataclasses
import io
import json
import shlex
import zipfile
from pathlib import Path

from qlab.c import Written, written
from qlab.c.ran import as_ran
from qlab.errors import ExportError, TraceError
from qlab.export.issue_form import IssueLink, IssueText, issue_link
from qlab.export.markdown import issue_texts
from qlab.export.script import regression_test, reproducer_script, right_outputs
from qlab.export.verify import Verification, run_command, verify_script
from qlab.formats.case_json import case_to_json
from qlab.formats.onnx_test_case import folder_files
from qlab.formats.report_json import report_to_json
from qlab.report import Report
from qlab.runtimes.store import installed_version

SCRIPT = "reproduce.py"
TEST = "test_regression.py"
README = """\
reproduce.py        on the release that it is about: @RUN@
reproduce.py        prints expected and actual; exit status 1 while the difference is there, 0 when it is not
test_regression.py  the same as a test: pytest test_regression.py
report.md           an issue in the shape of onnxruntime's form: @COMMAND@
case.json           the case: python -m qlab run case.json@RUNTIME@
model.onnx, test_data_set_0/  the model with inputs and expected outputs, in ONNX's own layout
@C@  the same arithmetic as one C99 file that checks itself: the comment in it says how to compile it
results.json        what ran, with versions and CPU: python -m qlab run case.json@RUNTIME@ --json
"""


@dataclasses.dataclass(frozen=True)
class Export:
    """The files by name, and what running the script gave.

    Attributes:
        command: what runs the script on the release that the report is about.
        issue: the whole report. link: the form filled with as much of it as an address holds.
        verification: None where there is no script; ``no_script`` then says why.
        agrees: the script came to the same answer as the report.
        in_c: the case in C, as ort_cpu has it.
    """

    files: dict[str, bytes]
    command: str
    issue: IssueText
    link: IssueLink
    verification: Verification | None
    no_script: str = ""
    agrees: bool = True
    in_c: Written | None = None

    @property
    def sentence(self) -> str:
        """``ran 3 of 3 times, difference reproduced``, or why there is no script."""
        if self.verification is None:
            return f"is not there: {self.no_script}"
        doubt = "" if self.agrees else ", which is not what the report says"
        return f"{self.verification.sentence}{doubt}"

    def zip(self) -> bytes:
        """All files in one .zip; equal files give equal bytes."""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self.files.items():
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.external_attr = 0o644 << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, data)
        return stream.getvalue()


def export(report: Report, times: int = 3) -> Export:
    """Make all files; the script is run ``times`` times first."""
    case = report.case
    scripts: dict[str, str] = {}
    no_script, verification = "", None
    try:
        scripts = {SCRIPT: reproducer_script(report), TEST: regression_test(report)}
        version = report.ort_runs[-1].version
        verification = verify_script(
            scripts[SCRIPT], times=times, cpu=_cpu(report), version=version
        )
    except ExportError as error:
        no_script = str(error)
    in_c = _in_c(report)
    if in_c.source:
        scripts[in_c.name] = in_c.source
    issues = issue_texts(report, verification)
    issue, link = issues["whole"], issue_link(*issues.values())
    texts = {
        **scripts,
        "report.md": issue.markdown,
        "case.json": case_to_json(case),
        "results.json": json.dumps(report_to_json(report), ensure_ascii=False, indent=1) + "\n",
        "README.txt": _readme(report, issue, SCRIPT in scripts, in_c.name if in_c.source else ""),
    }
    wrong = report.exit_status != 0
    right = dataclasses.replace(case, expected=right_outputs(report))
    files = {name: text.encode() for name, text in texts.items()} | folder_files(right)
    agrees = verification is None or not verification.ok or verification.reproduced == wrong
    command = script_command(report)
    return Export(files, command, issue, link, verification, no_script, agrees, in_c)


def _in_c(report: Report) -> Written:
    """As ort_cpu has the graph that ran last."""
    try:
        return written(*as_ran(report.case, report.ort_runs[-1]))
    except (ExportError, TraceError) as error:
        return Written("", why_not=str(error))


def _readme(report: Report, issue: IssueText, with_script: bool, c_name: str) -> str:
    command = script_command(report)
    version = report.ort_runs[-1].version if report.ort_runs else ""
    runtime = f" --runtime {version}" if version not in ("", installed_version()) else ""
    text = README.replace("@RUNTIME@", runtime).replace("@RUN@", command)
    text = text.replace("@C@", c_name.ljust(18))
    lines = text.replace("@COMMAND@", issue.command).splitlines()
    absent = {*(() if with_script else (SCRIPT, TEST)), *(() if c_name else ("",))}
    kept = (line for line in lines if line.partition(" ")[0] not in absent)
    return "".join(f"{line}\n" for line in kept)


def script_command(report: Report) -> str:
    """The line that runs the script on the release that the report is about, wherever uv is; it needs that CPU too."""
    run = report.ort_runs[-1]
    command = shlex.join([*run_command(run.version), SCRIPT]) if run.version else f"python {SCRIPT}"
    return f"{command}  # on a CPU of the class {run.cpu}" if run.emulated and run.cpu else command


def _cpu(report: Report) -> str:
    """Where the engine ran: the script has to show the same there."""
    run = report.ort_runs[-1]
    return run.cpu if run.emulated else "this"


def write_export(report: Report, folder: str | Path) -> tuple[tuple[Path, ...], Export]:
    """Write all files to a folder, which is made where it is not there.

    Raises:
        ExportError: the folder cannot be written.
    """
    if not str(folder).strip():
        raise ExportError("no folder is named to write to")
    root = Path(folder)
    made = export(report)
    written = []
    try:
        for name, data in made.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            written.append(path)
    except OSError as error:
        raise ExportError(f"{folder}: cannot be written: {error.strerror}") from None
    return tuple(written), made
