"""``python -m qlab versions CASE``: which release, level, pass or CPU changes the result."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

from qlab.errors import CaseError, QlabError
from qlab.history import Versions, elsewhere, versions_of
from qlab.matrix import Cell, Column, Matrix, columns
from qlab.report import Report
from qlab.runtimes import store, versions

PRESETS = "installed, latest (the newest of each of the last five minor releases), around:VERSION"


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """The options of this verb; CASE and --json are there already."""
    verb.add_argument("--preset", metavar="WHICH", help=f"the rows: {PRESETS}; else latest")
    verb.add_argument(
        "--runtime", action="append", metavar="VERSION", help="a row; may be given more than once"
    )
    verb.add_argument("--level", action="append", metavar="LEVEL", help="a column; else all four")
    verb.add_argument(
        "--cpu",
        action="append",
        choices=("this", "avx2", "sse", "arm64"),
        help="more columns: an emulated CPU",
    )
    verb.add_argument(
        "--entry",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="more columns: with this session config entry",
    )
    verb.add_argument(
        "--predicate",
        choices=("wrong", "differs", "fails", "changed"),
        help="what is searched for over the releases: wrong (the default: differs from exact or fails), differs, "
        "fails, changed (gives other codes than the newest, or than --than)",
    )
    verb.add_argument(
        "--than",
        metavar="VERSION[:LEVEL[:CPU]]",
        help="the run that --predicate changed compares with, such as 1.26.0:ORT_DISABLE_ALL",
    )
    verb.add_argument("--from", dest="oldest", default=versions.OLDEST_SEARCHED, metavar="VERSION")
    verb.add_argument("--to", dest="newest", metavar="VERSION", help="the newest searched")
    verb.add_argument("--no-search", action="store_true", help="the matrix only")
    verb.add_argument("--no-install", action="store_true", help="only releases that are here")
    verb.add_argument("--timeout", type=float, default=20.0, metavar="SECONDS", help="for one run")


def command(
    options: argparse.Namespace,
    levels: Sequence[str],
    entries: Sequence[Mapping[str, str]],
    than: tuple[str, Column] | None,
) -> int:
    """Run it; returns the exit status."""
    from qlab.formats.load import load_case
    from qlab.formats.versions_json import versions_to_json
    from qlab.views.versions import versions_text

    if than is not None and options.no_search:
        raise CaseError("--than is what the search compares with: leave out --no-search")
    if than is not None and options.predicate not in (None, "changed"):
        raise CaseError(f"--than goes with --predicate changed, not {options.predicate}")
    case = load_case(options.case)
    install = store.may_install() and not options.no_install
    matrix = Matrix(case, timeout=options.timeout, install=install, progress=_progress)
    cpus = tuple(dict.fromkeys(("this", *(options.cpu or ()))))
    try:
        found = versions_of(
            matrix,
            rows(options.preset, options.runtime, install=install),
            columns(levels, cpus=cpus, entries=[{}, *entries]),
            searched=()
            if options.no_search
            else searched(options.oldest, options.newest, install=install),
            predicate="changed" if than is not None else options.predicate or "wrong",
            than=than,
            on_cell=_live,
        )
    finally:
        matrix.stop.set()
    status = exit_status(found)
    if options.json:
        print(json.dumps(versions_to_json(case, found), ensure_ascii=False))
    else:
        from qlab.__main__ import say

        say(versions_text(case, found))
    return status


def search(report: Report, timeout: float) -> tuple[str, ...]:
    """What a report says of other releases, levels and passes: found by running them now, with the report's settings."""
    run = report.ort_runs[-1]
    cpu = run.cpu if run.emulated and run.cpu else "this"
    levels = [r.config.level for r in report.ort_runs]
    among_columns = columns(levels, cpus=(cpu,), entries=(run.config.entries,))
    install = store.may_install()
    matrix = Matrix(report.case, timeout=timeout, install=install, progress=_progress)
    among = searched(versions.OLDEST_SEARCHED, None, install=install)
    found = versions_of(matrix, [run.version], among_columns, searched=among)
    return elsewhere(found)


def rows(preset: str | None, named: Sequence[str] | None, *, install: bool) -> tuple[str, ...]:
    """The releases of the matrix. Raises QlabError where the preset or a release is unknown."""
    here = store.versions_here()
    if named:
        return tuple(sorted({versions.checked(v) for v in named}, key=versions.key))
    preset = preset or ("latest" if install else "installed")
    kind, _, version = preset.partition(":")
    if kind == "installed" and not version:
        return here
    if kind == "latest" and not version:
        return versions.newest_of_minors(also=here)
    if kind == "around" and version:
        return versions.around(versions.checked(version), also=here)
    raise CaseError(f"--preset {preset}: there is no such preset; there are {PRESETS}")


def searched(oldest: str, newest: str | None, *, install: bool) -> tuple[str, ...]:
    """The releases that are searched for the change."""
    here = store.versions_here()
    last = (
        versions.checked(newest) if newest else max((*versions.RELEASES, *here), key=versions.key)
    )
    first = versions.checked(oldest)
    if versions.key(first) > versions.key(last):
        raise CaseError(f"--from {first} is newer than --to {last}")
    if install:
        return versions.between(first, last, here)
    return tuple(v for v in here if versions.key(first) <= versions.key(v) <= versions.key(last))


def exit_status(found: Versions) -> int:
    """0 all cells are right, 1 some differ, 3 some fail. Raises QlabError where none could be run."""
    signs = {cell.sign for cell in found.cells}
    if signs <= {"–"}:
        raise QlabError(
            f"nothing could be run: {found.cells[0].message if found.cells else 'no release'}"
        )
    return 3 if "✕" in signs else 1 if signs & {"≠", "~"} else 0


def _progress(words: str) -> None:
    if sys.stderr.isatty():
        print(words, file=sys.stderr, flush=True)


def _live(cell: Cell) -> None:
    if sys.stderr.isatty():
        print(f"{cell.version} {cell.column.label}: {cell.sign} {cell.words}", file=sys.stderr)
