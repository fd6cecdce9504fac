"""Known cases on which quantized operators have surprised people: one JSON file each, with its source."""

import functools
from importlib import resources

from qlab.case import Case
from qlab.errors import CaseError, closest
from qlab.formats.case_json import case_from_json

DEFAULT = "qlinearadd-off-by-one"


@functools.cache
def gallery_names() -> tuple[str, ...]:
    """The names, in alphabetical order, so that the cases of one operator stand together."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(".json") for f in files if f.name.endswith(".json")))


@functools.cache
def gallery_case(name: str) -> Case:
    """A case by its name. Raises CaseError for an unknown name."""
    if name not in gallery_names():
        close = closest(name, gallery_names())
        hint = f"did you mean {close}?" if close else f"there are {', '.join(gallery_names())}"
        raise CaseError(f"{name[:100]!r} is not in the gallery; {hint}")
    return case_from_json((resources.files(__name__) / f"{name}.json").read_text(encoding="utf-8"))


def gallery_name(case: Case) -> str:
    """The gallery's name of a case that is unchanged; "" for any other."""
    return next((name for name in gallery_names() if gallery_case(name) is case), "")
