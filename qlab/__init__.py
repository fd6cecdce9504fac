"""qlab: what a quantized ONNX operator computes, exactly, and where ONNX Runtime parts from it.

    >>> import qlab
    >>> report = qlab.run(qlab.load_case("qlinearadd-off-by-one"))
    >>> print(report.verdict.headline)

Nothing heavy is imported until a name is used: ``import qlab`` loads neither onnxruntime nor streamlit.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qlab.builder import build, buildable
    from qlab.case import Case
    from qlab.errors import CaseError, ExportError, QlabError, TraceError
    from qlab.export.archive import write_export
    from qlab.formats.case_json import case_from_json, case_to_json
    from qlab.formats.load import load_case
    from qlab.gallery import gallery_case, gallery_names
    from qlab.session import Report, run
    from qlab.trace import Trace

_MODULES = {
    "qlab.builder": ("build", "buildable"),
    "qlab.case": ("Case",),
    "qlab.errors": ("CaseError", "ExportError", "QlabError", "TraceError"),
    "qlab.export.archive": ("write_export",),
    "qlab.formats.case_json": ("case_from_json", "case_to_json"),
    "qlab.formats.load": ("load_case",),
    "qlab.gallery": ("gallery_case", "gallery_names"),
    "qlab.session": ("Report", "run"),
    "qlab.trace": ("Trace",),
}
# No name here may be a module's: Python sets a package's attribute to each module that is imported from it.
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Case",
    "CaseError",
    "ExportError",
    "QlabError",
    "Report",
    "Trace",
    "TraceError",
    "build",
    "buildable",
    "case_from_json",
    "case_to_json",
    "gallery_case",
    "gallery_names",
    "load_case",
    "run",
    "write_export",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(
            f"module 'qlab' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
