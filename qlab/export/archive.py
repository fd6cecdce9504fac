"""Everything that one takes away, as files: script, test, report, case, model with test data."""

import dataclasses
import io
import json
import zipfile
from pathlib import Path

from qlab.errors import ExportError
from qlab.export.issue_form import IssueLink, IssueText, issue_link
from qlab.export.markdown import issue_text
from qlab.export.script import regression_test, reproducer_script, right_outputs
from qlab.export.verify import Verification, verify_script
from qlab.formats.case_json import case_to_json
from qlab.formats.onnx_test_case import folder_files
from qlab.formats.report_json import report_to_json
from qlab.report import Report

SCRIPT = "reproduce.py"
TEST = "test_regression.py"
README = """\
reproduce.py        prints expected and actual; exit status 1 while the difference is there, 0 when it is not
test_regression.py  the same as a test: pytest test_regression.py
report.md           an issue in the shape of onnxruntime's form: gh issue create --repo microsoft/onnxruntime --title "…" --body-file report.md
case.json           the case: python -m qlab run case.json
model.onnx, test_data_set_0/  the model with inputs and expected outputs, in ONNX's own layout
results.json        what ran, with versions and CPU: python -m qlab run case.json --json
"""


@dataclasses.dataclass(frozen=True)
class Export:
    """The files by name, and what running the script gave.

    Attributes:
        issue: the whole report. link: the form filled with as much of it as an address holds.
        verification: None where there is no script; ``no_script`` then says why.
    """

    files: dict[str, bytes]
    issue: IssueText
    link: IssueLink
    verification: Verification | None
    no_script: str = ""

    @property
    def sentence(self) -> str:
        """``ran 3 of 3 times, difference reproduced``, or why there is no script."""
        return (
            self.verification.sentence if self.verification else f"is not there: {self.no_script}"
        )

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
        verification = verify_script(scripts[SCRIPT], times=times, cpu=_cpu(report))
    except ExportError as error:
        no_script = str(error)
    issue = issue_text(report, verification)
    shorter = (issue_text(report, verification, length) for length in ("untested", "brief"))
    link = issue_link(*shorter)
    texts = {
        **scripts,
        "report.md": issue.markdown,
        "case.json": case_to_json(case),
        "results.json": json.dumps(report_to_json(report), ensure_ascii=False, indent=1) + "\n",
        "README.txt": "".join(
            line + "\n"
            for line in README.splitlines()
            if scripts or not line.startswith((SCRIPT, TEST))
        ),
    }
    right = dataclasses.replace(case, expected=right_outputs(report))
    files = {name: text.encode() for name, text in texts.items()} | folder_files(right)
    return Export(files, issue, link, verification, no_script)


def _cpu(report: Report) -> str:
    """Where the engine ran: the script has to show the same there."""
    run = report.ort_runs[-1]
    return run.cpu if run.emulated else "this"


def write_export(report: Report, folder: str | Path) -> tuple[tuple[Path, ...], Export]:
    """Write all files to a folder, which is made where it is not there.

    Raises:
        ExportError: the folder cannot be written.
    """
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
