"""onnxruntime's form for a general issue, as data, and a link that fills it."""

import dataclasses
import platform
import re
import shlex
from urllib.parse import quote

from qlab.engines.cpu import cpu_name
from qlab.errors import ExportError
from qlab.report import Report

REPOSITORY = "microsoft/onnxruntime"
ADDRESS = f"https://github.com/{REPOSITORY}/issues/new"
TEMPLATE = "08-general.yml"
LINK_LIMIT = 7500  # characters of the encoded address; the server stops at about 8,190
PLATFORMS = (*("Windows", "Linux", "Mac", "Android", "iOS", "Web Browser", "Other / Unknown"),)
INSTALLATIONS = ("Built from Source", "Released Package", "Other / Unknown")
APIS = (*("Python", "C++", "C#", "C", "Java", "JavaScript", "Obj-C", "WinML", "Other / Unknown"),)
ARCHITECTURES = ("X64", "X86", "ARM64", "ARM32", "IBM Power", "Other / Unknown")
PROVIDERS = (
    *("Default CPU", "CoreML", "CUDA", "DirectML", "oneDNN", "OpenVINO", "TensorRT", "NNAPI"),
    *("ACL", "ArmNN", "MIGraphX", "Rockchip NPU", "SNPE", "TVM", "Vitis AI", "Other / Unknown"),
)


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of the form. ``options`` is () for text; only text can be filled by a link."""

    id: str
    label: str
    options: tuple[str, ...] = ()
    required: bool = True


FIELDS = (
    Field("issue-descript", "Describe the issue"),
    Field("reproducibility", "To reproduce"),
    Field("urgency", "Urgency", required=False),
    Field("platform", "Platform", PLATFORMS),
    Field("os-dist", "OS Version"),
    Field("ort-installation", "ONNX Runtime Installation", INSTALLATIONS),
    Field("ort-version", "ONNX Runtime Version or Commit ID"),
    Field("inf-api", "ONNX Runtime API", APIS),
    Field("arch", "Architecture", ARCHITECTURES),
    Field("ep", "Execution Provider", PROVIDERS),
    Field("ep-version", "Execution Provider Library Version", required=False),
)


@dataclasses.dataclass(frozen=True)
class IssueText:
    """An issue: its title and, for each field of the form, what to write or choose."""

    title: str
    values: dict[str, str]

    @property
    def markdown(self) -> str:
        """The whole issue in the form's own shape."""
        parts = (f"### {f.label}\n\n{self.values.get(f.id) or '_No response_'}" for f in FIELDS)
        return "\n\n".join(parts) + "\n"

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """(label, option) of each list: a link cannot choose them."""
        return tuple((f.label, self.values[f.id]) for f in FIELDS if f.options)

    @property
    def command(self) -> str:
        """The command line that files it from report.md. Only ever shown."""
        title = shlex.quote(self.title)
        return f"gh issue create --repo {REPOSITORY} --title {title} --body-file report.md"


@dataclasses.dataclass(frozen=True)
class IssueLink:
    """A prefilled form.

    Attributes:
        paste: what did not fit and has to be pasted: ``""`` where all did, else one line that says what, and where.
    """

    url: str
    paste: str


def machine_values(report: Report) -> dict[str, str]:
    """The fields that this machine answers.

    Raises:
        ExportError: nothing ran in ONNX Runtime.
    """
    if not report.ort_runs:
        raise ExportError("nothing ran in ONNX Runtime: name a level, such as ORT_ENABLE_ALL")
    systems = {"Linux": "Linux", "Darwin": "Mac", "Windows": "Windows"}
    machines = {
        "x86_64": "X64",
        "AMD64": "X64",
        "aarch64": "ARM64",
        "arm64": "ARM64",
        "i686": "X86",
    }
    run = report.ort_runs[-1]
    emulated = f", emulated on {cpu_name()}" if run.emulated else ""
    return {
        "urgency": "",
        "platform": systems.get(platform.system(), "Other / Unknown"),
        "os-dist": f"{platform.platform(terse=True)}, {cpu_name()} (arithmetic class {run.cpu}{emulated})",
        "ort-installation": "Released Package",
        "ort-version": run.version,
        "inf-api": "Python",
        "arch": machines.get(platform.machine(), "Other / Unknown"),
        "ep": "Default CPU",
        "ep-version": "",
    }


def issue_link(*candidates: IssueText) -> IssueLink:
    """The address that opens the form with the text fields filled.

    Args:
        candidates: the same issue, the longest first; the first that fits is taken, its script without comments if
            need be. Where none fits, the last one's description goes without the script.
    """
    for issue in candidates:
        bare = {
            **issue.values,
            "reproducibility": without_comments(issue.values["reproducibility"]),
        }
        for values in (issue.values, bare):
            link = _address(issue.title, values)
            if len(link) <= LINK_LIMIT:
                return IssueLink(link, "")
    for issue in candidates:
        link = _address(issue.title, {**issue.values, "reproducibility": "(paste the script here)"})
        if len(link) <= LINK_LIMIT:
            return IssueLink(
                link, "The script is too long for a link: paste reproduce.py into “To reproduce”."
            )
    paste = "The report is too long for a link: paste its parts into “Describe the issue” and “To reproduce”."
    return IssueLink(_address(candidates[-1].title, _machine_only(candidates[-1].values)), paste)


def _machine_only(values: dict[str, str]) -> dict[str, str]:
    """The fields without the two long ones."""
    return {k: v for k, v in values.items() if k not in ("issue-descript", "reproducibility")}


def without_comments(text: str) -> str:
    """A fenced script without the lines that hold only a comment."""
    lines = [line for line in text.splitlines() if not re.match(r"\s*#", line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _address(title: str, values: dict[str, str]) -> str:
    texts = {f.id: values.get(f.id, "") for f in FIELDS if not f.options}
    filled = {"template": TEMPLATE, "title": title, **{k: v for k, v in texts.items() if v}}
    return f"{ADDRESS}?" + "&".join(f"{k}={quote(v, safe='')}" for k, v in filled.items())
