"""What the address bar holds: the case, the settings and the chosen element."""

import dataclasses
from collections.abc import Mapping

from qlab.case import Case
from qlab.engines.pool import CPUS
from qlab.engines.results import LEVELS
from qlab.errors import CaseError, QlabError
from qlab.formats.share_link import LINK_LIMIT, pack, unpack
from qlab.gallery import DEFAULT, gallery_case, gallery_name, gallery_names
from qlab.runtimes.store import installed_version
from qlab.runtimes.versions import checked
from qlab.trace import Index

QUANTPRECISION = "session.x64quantprecision"
DEFAULT_LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")
TOO_LONG = "-"


@dataclasses.dataclass(frozen=True)
class Settings:
    """How ONNX Runtime is to run the case.

    Attributes:
        levels: graph optimization levels. cpu: ``this``, or an emulated one.
        version: the release; "" is the installed one.
        quantprecision: the session entry session.x64quantprecision is "1".
    """

    levels: tuple[str, ...] = DEFAULT_LEVELS
    cpu: str = "this"
    quantprecision: bool = False
    version: str = ""

    @property
    def entries(self) -> dict[str, str]:
        """The session config entries."""
        return {QUANTPRECISION: "1"} if self.quantprecision else {}


@dataclasses.dataclass(frozen=True)
class Pick:
    """The element that is traced: of an output, as some source computed it; ``source`` is a label or ""."""

    output: str
    index: Index
    source: str = ""


@dataclasses.dataclass(frozen=True)
class Address:
    """All that a link says."""

    case: Case
    settings: Settings = Settings()
    pick: Pick | None = None


def to_query(address: Address) -> dict[str, str]:
    """The query parameters; a case that is too large leaves a mark that says so."""
    name = gallery_name(address.case)
    if name:
        query = {"gallery": name}
    else:
        packed = pack(address.case)
        query = {"case": packed if len(packed) <= LINK_LIMIT else TOO_LONG}
    settings = address.settings
    if settings.levels != DEFAULT_LEVELS:
        query["levels"] = ",".join(settings.levels)
    if settings.cpu != "this":
        query["cpu"] = settings.cpu
    if settings.quantprecision:
        query[QUANTPRECISION] = "1"
    if settings.version:
        query["release"] = settings.version
    if address.pick is not None:
        query["element"] = f"{address.pick.output}:{','.join(str(i) for i in address.pick.index)}"
        if address.pick.source:
            query["of"] = address.pick.source
    return query


def from_query(query: Mapping[str, str]) -> Address:
    """What a link says; without any parameter, the gallery's first case.

    Raises:
        CaseError: the link is damaged; one line.
    """
    return Address(case_of(query), _settings(query), _pick(query))


def case_of(query: Mapping[str, str]) -> Case:
    """The case of a link, whatever else the link says. Raises CaseError."""
    if query.get("case") == TOO_LONG:
        raise CaseError(
            "the link holds no case: it was too large for an address; ask for its JSON file"
        )
    if "case" in query:
        case = unpack(query["case"])
        same = (name for name in gallery_names() if pack(gallery_case(name)) == query["case"])
        name = next(same, "")
        return gallery_case(name) if name else case
    return gallery_case(query.get("gallery", DEFAULT))


def _settings(query: Mapping[str, str]) -> Settings:
    levels = tuple(query["levels"].split(",")) if "levels" in query else DEFAULT_LEVELS
    for level in levels:
        if level not in LEVELS:
            raise CaseError(
                f"the link asks for the level {level[:40]!r}; there are {', '.join(LEVELS)}"
            )
    cpu = query.get("cpu", "this")
    if cpu not in CPUS:
        raise CaseError(f"the link asks for the CPU {cpu[:40]!r}; there are {', '.join(CPUS)}")
    return Settings(
        tuple(dict.fromkeys(levels)), cpu, query.get(QUANTPRECISION) == "1", _release(query)
    )


def _release(query: Mapping[str, str]) -> str:
    """The release that the link asks for; "" for the installed one."""
    if "release" not in query:
        return ""
    try:
        version = checked(query["release"])
    except QlabError as error:
        raise CaseError(f"the link asks for a release that there is not: {error}") from None
    return "" if version == installed_version() else version


def _pick(query: Mapping[str, str]) -> Pick | None:
    if "element" not in query:
        return None
    output, _, listed = query["element"].rpartition(":")
    parts = [part for part in listed.split(",") if part]
    if not output or not all(part.isdigit() and len(part) < 10 for part in parts):
        raise CaseError(
            f"the link asks for the element {query['element'][:60]!r}; it is written C:0,0,0,0"
        )
    return Pick(output, tuple(int(part) for part in parts), query.get("of", ""))


def command(address: Address, verb: str = "run") -> str:
    """The same on the command line; a case that is not in the gallery stands in ``case.json``."""
    settings = address.settings
    parts = ["python -m qlab", verb, gallery_name(address.case) or "case.json"]
    if settings.levels != DEFAULT_LEVELS:
        parts += [f"--level {level}" for level in settings.levels]
    if settings.cpu != "this":
        parts.append(f"--cpu {settings.cpu}")
    if settings.version:
        parts.append(f"--runtime {settings.version}")
    parts += [f"--entry {key}={value}" for key, value in settings.entries.items()]
    return " ".join(parts)
