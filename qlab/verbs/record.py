"""``python -m qlab record``: run the gallery over the releases, levels and CPUs that are here, and keep the results."""

import argparse
import datetime
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from qlab.errors import CaseError, QlabError
from qlab.runtimes import store
from qlab.runtimes.versions import checked


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = (
        "run the gallery over the releases and CPUs that are here, at every level, and write the results, "
        "with CPU and date, where the gallery shows them as recorded"
    )
    verb = verbs.add_parser("record", help=words, description=words)
    verb.add_argument("case", metavar="CASE", nargs="*", help="gallery names; else all")
    verb.add_argument(
        "--runtime", action="append", metavar="VERSION", help="a release; else all that are here"
    )
    verb.add_argument(
        "--cpu",
        action="append",
        choices=("this", "avx2", "sse", "arm64"),
        help="else this machine's, and all that can be emulated here",
    )
    verb.add_argument("--out", metavar="DIR", help="the folder; else the gallery's own")
    verb.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for one run")
    verb.set_defaults(command=_record)


def _record(options: argparse.Namespace) -> int:
    from qlab.__main__ import check_timeout
    from qlab.engines.pool import emulated_cpus, launched
    from qlab.gallery import gallery_case, gallery_names
    from qlab.recorded import FOLDER

    check_timeout(options.timeout)
    if options.out is not None and not options.out.strip():
        raise CaseError("--out: no folder is named to write to")
    names = dict.fromkeys(options.case or gallery_names())
    cases = {name: gallery_case(name) for name in names}
    places = []
    for cpu in dict.fromkeys(options.cpu or ("this", *emulated_cpus())):
        here = store.versions_here("arm64" if cpu == "arm64" else "native")
        for version in dict.fromkeys(checked(v) for v in options.runtime or here):
            launched(cpu, version)  # raises where it is not here
            places.append((cpu, version))
    if not places:
        raise CaseError("there is no release to run; `runtimes add VERSION` installs one")
    folder = Path(options.out or Path(__file__).parents[1] / "gallery" / FOLDER)
    before = {name: _before(folder / f"{name}.json", case) for name, case in cases.items()}
    made: dict[str, list[Any]] = {name: [] for name in cases}
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(_place, cases, cpu, v, options.timeout) for cpu, v in places]
        for job, (cpu, version) in zip(jobs, places, strict=True):
            for name, recorded in job.result():
                made[name].append(recorded)
            print(f"{version} {cpu}", file=sys.stderr, flush=True)
    for name, case in cases.items():
        _write(folder / f"{name}.json", case, before[name], made[name])
    of = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
    print(f"{sum(map(len, made.values())):,} runs of {of} recorded in {folder}")
    return 0


def _place(cases: Any, cpu: str, version: str, timeout: float) -> Sequence[tuple[str, Any]]:
    """All runs of one release on one CPU: its worker is started once."""
    from qlab.engines.pool import worker

    try:
        return list(_runs(cases, cpu, version, timeout))
    finally:
        worker(cpu, version).end()


def _runs(cases: Any, cpu: str, version: str, timeout: float) -> Iterator[tuple[str, Any]]:
    from qlab.engines.cpu import cpu_name
    from qlab.engines.ort import run_ort
    from qlab.engines.results import LEVELS, RunStatus, SessionConfig
    from qlab.formats.recording_json import RecordedRun

    today = datetime.date.today().isoformat()
    for name, case in cases.items():
        runs = [
            run_ort(case, SessionConfig(level), cpu=cpu, version=version, timeout=timeout)
            for level in LEVELS
        ]
        late = next((run for run in runs if run.status is RunStatus.TIMED_OUT), None)
        if late is not None:
            words = f"{name}: {late.message}: not recorded; --timeout gives it longer"
            print(words, file=sys.stderr, flush=True)
            continue
        if not runs[0].cpu:
            raise QlabError(f"onnxruntime {version} does not tell the class of its CPU ({cpu})")
        for run in runs:
            yield name, RecordedRun(run, cpu_name(cpu), today)


def _before(path: Path, case: Any) -> Sequence[Any]:
    """What the file holds already. Raises CaseError where it is no recording of this case."""
    from qlab.formats.recording_json import recording_from_json

    try:
        if not path.is_file():
            return ()
        found = recording_from_json(path.read_bytes(), case)
    except OSError as error:
        raise CaseError(_cannot(path, error)) from None
    except CaseError as error:
        raise CaseError(f"{path}: {error}; remove it, or name another folder with --out") from None
    if not found:
        raise CaseError(
            f"{path}: was recorded of a case with other numbers; remove it, or name another folder with --out"
        )
    return found


def _write(path: Path, case: Any, before: Sequence[Any], runs: Sequence[Any]) -> None:
    """Write the runs; those of other releases and classes of CPU that were in the file stay."""
    from qlab.formats.recording_json import recording_to_json

    def place(recorded: Any) -> tuple[str, str]:
        return recorded.run.version, recorded.run.cpu

    renewed = {place(r) for r in runs}
    kept = [r for r in before if place(r) not in renewed]
    if not kept and not runs:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(recording_to_json(case, [*kept, *runs]), encoding="utf-8")
    except OSError as error:
        raise CaseError(_cannot(path, error)) from None


def _cannot(path: Path, error: OSError) -> str:
    return f"{str(path)[:120]}: cannot be written: {error.strerror}; --out names another folder"
