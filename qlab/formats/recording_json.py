"""Recorded runs of one case as JSON: each result that differs stands once, with where it was seen."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from typing import Any

from qlab.case import Case
from qlab.engines.results import LEVELS, EngineRun, RunStatus, SessionConfig
from qlab.errors import CaseError, QlabError
from qlab.formats.case_json import case_from_json, case_to_document
from qlab.formats.tensor_json import tensor_from_json, tensor_to_json
from qlab.graph import Graph
from qlab.runtimes.versions import checked, key
from qlab.schemes.ort_cpu import CPUS

VERSION = 1
TEXTS = ("title", "source", "note", "expected")  # what a run does not depend on


@dataclasses.dataclass(frozen=True)
class RecordedRun:
    """A run of ONNX Runtime, made earlier.

    Attributes:
        machine: the CPU in words: ``Haswell, emulated by qemu``. date: ``2026-12-02``.
    """

    run: EngineRun
    machine: str
    date: str

    @property
    def where(self) -> str:
        """``2026-12-02, Haswell, emulated by qemu``."""
        return f"{self.date}, {self.machine}"


def recording_to_json(case: Case, runs: Iterable[RecordedRun]) -> str:
    """The runs as a JSON text; a line for each result and for each release on each class of CPU.

    All levels of a release on a class of CPU were run on one machine on one day: they are recorded together.
    """
    results: list[str] = []
    machines: list[dict[str, Any]] = []
    releases: dict[str, dict[str, dict[str, Any]]] = {}
    for recorded in sorted(runs, key=_order):
        run = recorded.run
        line = json.dumps(_result(run), ensure_ascii=False)
        if line not in results:
            results.append(line)
        machine = {"name": recorded.machine, "emulated": run.emulated}
        if machine not in machines:
            machines.append(machine)
        release = releases.setdefault(run.cpu, {}).setdefault(
            run.version,
            {
                "date": recorded.date,
                "machine": machines.index(machine),
                "results": [None] * len(LEVELS),
            },
        )
        release["results"][LEVELS.index(run.config.level)] = results.index(line)
    listed = ",\n".join(f"  {line}" for line in results)
    shown = ",\n".join(
        f"  {json.dumps(cpu)}: {{\n"
        + ",\n".join(f"   {json.dumps(v)}: {json.dumps(r)}" for v, r in versions.items())
        + "\n  }"
        for cpu, versions in releases.items()
    )
    return (
        f'{{\n "qlab_recording": {VERSION},\n "case": "{case_digest(case)}",\n'
        f' "machines": {json.dumps(machines, ensure_ascii=False)},\n'
        f' "levels": {json.dumps(LEVELS)},\n'
        f' "results": [\n{listed}\n ],\n "runs": {{\n{shown}\n }}\n}}\n'
    )


def recording_from_json(text: str | bytes, case: Case) -> tuple[RecordedRun, ...]:
    """The recorded runs; () where they are of a case with other numbers.

    Raises:
        CaseError: the text is no recording.
    """
    try:
        document = json.loads(text)
        if any(cpu not in CPUS for cpu in document["runs"]):
            raise CaseError(f"there are the CPUs {', '.join(CPUS)}")
        if document["qlab_recording"] != VERSION:
            raise CaseError(f"version {document['qlab_recording']!r}; this qlab reads {VERSION}")
        if document["case"] != case_digest(case):
            return ()
        results = dict(enumerate(_parsed(entry, case) for entry in document["results"]))
        machines = dict(enumerate(document["machines"]))
        return tuple(
            RecordedRun(
                dataclasses.replace(
                    results[position],
                    version=checked(version),
                    config=SessionConfig(LEVELS[LEVELS.index(level)]),
                    cpu=cpu,
                    emulated=machines[release["machine"]]["emulated"],
                ),
                machines[release["machine"]]["name"],
                release["date"],
            )
            for cpu, releases in document["runs"].items()
            for version, release in releases.items()
            for level, position in zip(document["levels"], release["results"], strict=True)
            if position is not None
        )
    except CaseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, QlabError) as error:
        words = " ".join(f"{type(error).__name__} {error}".split())
        raise CaseError(f"is no recording: {words[:120]}") from None


def case_digest(case: Case) -> str:
    """A digest of all that a run depends on: graph and inputs."""
    document = {k: v for k, v in case_to_document(case).items() if k not in TEXTS}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _order(recorded: RecordedRun) -> tuple[str, tuple[int, ...], int]:
    run = recorded.run
    return run.cpu, key(run.version), LEVELS.index(run.config.level)


def _result(run: EngineRun) -> dict[str, Any]:
    document: dict[str, Any] = {"status": run.status.value}
    if run.message:
        document["message"] = run.message
    if run.status is not RunStatus.OK:
        return document
    if run.repeatable:
        document["outputs"] = {k: tensor_to_json(v) for k, v in run.outputs.items()}
    else:
        document["repeatable"] = False  # the next run gives others: there is nothing to keep
    if run.passes:
        document["passes"] = list(run.passes)
    if run.notes:
        document["notes"] = list(run.notes)
    if run.graph is not None:
        used = {"", *(node.domain for node in run.graph.nodes)}
        opset = {domain: version for domain, version in run.graph.opset.items() if domain in used}
        graph = case_to_document(Case(dataclasses.replace(run.graph, opset=opset), {}))
        document["graph"] = {k: v for k, v in graph.items() if k != "inputs"}
    return document


def _parsed(document: dict[str, Any], case: Case) -> EngineRun:
    return EngineRun(
        "onnxruntime",
        "",
        SessionConfig(),
        RunStatus(document["status"]),
        message=document.get("message", ""),
        outputs={
            k: tensor_from_json(v, f"outputs.{k}") for k, v in document.get("outputs", {}).items()
        },
        graph=_graph(document["graph"], case) if "graph" in document else None,
        repeatable=document.get("repeatable", True),
        passes=tuple(document.get("passes", ())),
        notes=tuple(document.get("notes", ())),
    )


def _graph(document: dict[str, Any], case: Case) -> Graph:
    """The graph that ran has the inputs of its case; a recording does not repeat them."""
    inputs = {
        k: tensor_to_json(v) for k, v in case.inputs.items() if k not in document["constants"]
    }
    return case_from_json(json.dumps({**document, "inputs": inputs})).graph
