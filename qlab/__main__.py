"""The command line: ``python -m qlab run | trace | export | versions | …``. The same verbs as the pages."""

import argparse
import contextlib
import dataclasses
import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from qlab import __version__
from qlab.errors import CaseError, QlabError
from qlab.verbs import (
    CASE,
    bench,
    c,
    compare,
    fidelity,
    identify,
    record,
    runtimes,
    shrink,
    sweep,
    versions,
)

LEVEL_NAMES = {
    "DISABLE_ALL": "ORT_DISABLE_ALL",
    "BASIC": "ORT_ENABLE_BASIC",
    "EXTENDED": "ORT_ENABLE_EXTENDED",
    "ALL": "ORT_ENABLE_ALL",
}
LONGEST = 86_400  # seconds for one request
EQUAL, DIFFERS, WRONG, FAILED = 0, 1, 2, 3
STATUS = """exit status:
  0  all compared codes agree with exact arithmetic
  1  some differ
  2  the case or the arguments are wrong (one line says what, where, and the way out)
  3  ONNX Runtime rejected the case, crashed or timed out"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, exit status 2."""
        self.exit(WRONG, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no ≠ gets \\u2260
    options = _parser().parse_args(arguments)
    try:
        status = int(options.command(options))
        sys.stdout.flush()
        return status
    except QlabError as error:
        print(f"qlab {options.verb}: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print(f"qlab {options.verb}: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone, as with `| head`: nothing is left to say
        return EQUAL
    except OSError as error:
        print(
            f"qlab {options.verb}: the answer cannot be written: {error.strerror}", file=sys.stderr
        )
        _forget_output()
        return WRONG


def say(text: str) -> None:
    """Print lines. What a stranger's case brings along to steer a terminal is shown as it is written."""
    print("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text))


def _forget_output() -> None:
    """What could not be written would be tried again at the end of the process, and fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m qlab",
        description="What a quantized ONNX operator computes, exactly, and where ONNX Runtime parts from it.",
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"qlab {__version__}")
    verbs = parser.add_subparsers(
        dest="verb",
        required=True,
        metavar="run | trace | export | identify | sweep | shrink | c | versions | compare | runtimes | record | fidelity | bench | gallery",
    )

    run = _verb(verbs, "run", _run, "run a case through ONNX Runtime and every scheme, and compare")
    trace = _verb(verbs, "trace", _trace, "every step of one element, in every scheme")
    trace.add_argument(
        "--element",
        metavar="I,J,…",
        help="index in the output, 0,0,0,0; else the first that differs",
    )
    trace.add_argument("--output", metavar="NAME", help="which tensor; else the first graph output")
    trace.add_argument(
        "--graph",
        metavar="WHICH",
        help="given, fused, or a level: the graph that ONNX Runtime ran there; else the one that differs",
    )
    trace.add_argument(
        "--view",
        choices=("decimal", "hexadecimal", "exact"),
        default="decimal",
        help="how numbers are written",
    )
    export = _verb(
        verbs, "export", _export, "write script, test, report, model and data; run the script"
    )
    export.add_argument("--out", metavar="DIR", required=True, help="the folder to write to")
    export.add_argument(
        "--search",
        action="store_true",
        help="search the releases and the passes first (installs what it needs), so that the report says since when",
    )
    for verb in (run, trace, export):
        _engine_options(verb)
    words = "which release, optimization level, pass or CPU changes the result"
    run.add_argument(
        "--save", metavar="FILE", help="write runs and machine to a file, for `compare` elsewhere"
    )
    versions.add_arguments(_verb(verbs, "versions", _versions, words))
    runtimes.add_to(verbs)
    compare.add_to(verbs)
    record.add_to(verbs)
    fidelity.add_to(verbs)
    identify.add_to(verbs)
    sweep.add_to(verbs)
    shrink.add_to(verbs)
    c.add_to(verbs)
    bench.add_to(verbs)
    gallery = verbs.add_parser("gallery", help="list the known cases")
    gallery.add_argument("--json", action="store_true", help="one JSON object")
    gallery.set_defaults(command=_gallery)
    return parser


def _verb(verbs: Any, name: str, command: Any, words: str) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=words,
        description=words,
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("case", metavar="CASE", help=CASE)
    verb.add_argument("--json", action="store_true", help="one JSON object instead of text")
    verb.set_defaults(command=command)
    return verb


def _engine_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--level",
        action="append",
        metavar="LEVEL",
        help="graph optimization level, such as ORT_ENABLE_ALL or ALL; may be given more than once; "
        "else ORT_DISABLE_ALL and ORT_ENABLE_ALL",
    )
    verb.add_argument(
        "--cpu",
        default="this",
        choices=("this", "avx2", "sse", "arm64"),
        help="avx2, sse and arm64 are emulated by qemu-user",
    )
    verb.add_argument(
        "--runtime",
        default="",
        metavar="VERSION",
        help="the release of ONNX Runtime, one of `runtimes list`; else the installed one",
    )
    verb.add_argument(
        "--entry",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="session config entry, such as session.x64quantprecision=1",
    )
    verb.add_argument(
        "--timeout",
        type=float,
        default=20.0,
        metavar="SECONDS",
        help="for one request to ONNX Runtime; 20",
    )


def _report(options: argparse.Namespace) -> Any:
    from qlab.formats.load import load_case
    from qlab.session import run

    levels = [_level(name) for name in options.level or ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")]
    check_timeout(options.timeout)
    return run(
        load_case(options.case),
        levels=tuple(dict.fromkeys(levels)),
        entries=_entries(options.entry),
        cpu=options.cpu,
        version=options.runtime,
        timeout=options.timeout,
    )


def check_timeout(seconds: float) -> None:
    """Raises CaseError where it is no time that a request may take."""
    if not 0 < seconds <= LONGEST:
        raise CaseError(f"--timeout {seconds:g} must be above 0 and at most {LONGEST:,} seconds")


def _level(name: str, option: str = "--level") -> str:
    from qlab.engines.results import LEVELS

    upper = name.upper()
    found = LEVEL_NAMES.get(upper.removeprefix("ORT_").removeprefix("ENABLE_"), upper)
    if found not in LEVELS:
        raise CaseError(f"{option} {name}: there is no such level; there are {', '.join(LEVELS)}")
    return found


def _entries(given: Sequence[str]) -> dict[str, str]:
    entries = {}
    for entry in given:
        key, equals, value = entry.partition("=")
        if not key or not equals:
            raise CaseError(
                f"--entry {entry}: write KEY=VALUE, such as session.x64quantprecision=1"
            )
        entries[key] = value
    return entries


def _run(options: argparse.Namespace) -> int:
    report = _report(options)
    if options.save:
        from qlab.formats.saved_run import save

        save(report, options.save)
    if options.json:
        from qlab.formats.report_json import report_to_json

        print(json.dumps(report_to_json(report), ensure_ascii=False))
    else:
        from qlab.views.terminal import report_text

        say(report_text(report))
    return int(report.exit_status)


def _trace(options: argparse.Namespace) -> int:
    from qlab.element import element_nodes, graph_of
    from qlab.views.fields import parse_index
    from qlab.views.outputs import default_pick

    report = _report(options)
    output, index, source = default_pick(report)
    output = options.output or output
    shapes = {
        name: value.shape
        for run in report.scheme_runs
        if run.trace is not None
        for name, value in run.trace.tensors.items()
    }
    if not shapes:
        reasons = dict.fromkeys(r.message for r in report.scheme_runs if r.message)
        raise CaseError("there is no trace: no scheme computes this case: " + "; ".join(reasons))
    if output not in shapes:
        known = ", ".join(shapes)
        raise CaseError(f"--output {output}: there is no such tensor; there are {known}")
    if options.element is not None:
        index = parse_index(options.element, shapes[output])
    elif options.output:
        index = (0,) * len(shapes[output])
    graph = options.graph or graph_of(report, source)
    if graph not in ("given", "fused"):
        graph = _level(graph, "--graph")
    nodes = element_nodes(report, output, index, graph)
    if options.json:
        from qlab.formats.report_json import nodes_to_json

        print(json.dumps(nodes_to_json(report, nodes, graph), ensure_ascii=False))
    else:
        from qlab.views.terminal import trace_text

        say(trace_text(nodes, options.view))
        if not any(node.parting for node in nodes):
            say(_rewriting(report, graph, output))
    return int(report.exit_status)


def _rewriting(report: Any, graph: str, output: str) -> str:
    """Why the graph that ran gives another result, where its arithmetic is not the reason."""
    found = (
        c.why
        for run in report.ort_runs
        if run.config.level == graph
        for c in report.comparisons_of(run)
        if c.output == output
    )
    why = next(found, "")
    return f"\nThis graph is not the given one: {why}" if why else ""


def _versions(options: argparse.Namespace) -> int:
    from qlab.engines.results import LEVELS

    check_timeout(options.timeout)
    levels = tuple(dict.fromkeys(_level(name) for name in options.level or LEVELS))
    entries = [_entries([entry]) for entry in options.entry]
    return versions.command(options, levels, entries, _than(options.than, levels[-1]))


def _than(given: str | None, level: str) -> Any:
    """The release and column that --than names; None where it is not given."""
    from qlab.engines.pool import CPUS
    from qlab.matrix import Column
    from qlab.runtimes.versions import checked

    if given is None:
        return None
    version, *rest = given.split(":")
    if len(rest) > 2 or (len(rest) == 2 and rest[1] not in CPUS):
        raise CaseError(
            f"--than {given[:40]}: write VERSION[:LEVEL[:CPU]]; CPUs are {', '.join(CPUS)}"
        )
    at = _level(rest[0][:40], "--than") if rest and rest[0] else level
    try:
        version = checked(version)
    except QlabError as error:
        raise CaseError(f"--than: {error}") from None
    return version, Column(at, rest[1] if len(rest) == 2 else "this")


def _export(options: argparse.Namespace) -> int:
    from qlab.export.archive import write_export
    from qlab.recorded import elsewhere

    report = _report(options)
    said = elsewhere(report.case)
    if options.search:
        said = (*versions.search(report, options.timeout), *said)
    report = dataclasses.replace(report, elsewhere=said)
    written, made = write_export(report, options.out)
    if options.json:
        files = [str(path) for path in written]
        answer = {"files": files, "script": made.sentence, "command": made.command}
        print(json.dumps(answer, ensure_ascii=False))
    else:
        say(f"{report.verdict.headline}\nThe script {made.sentence}.")
        say("\n".join(f"  {path}" for path in written))
        if options.runtime:
            say(f"Where uv is: {made.command}")
    return int(report.exit_status)


def _gallery(options: argparse.Namespace) -> int:
    from qlab.gallery import gallery_case, gallery_names

    cases = {name: gallery_case(name) for name in gallery_names()}
    if options.json:
        rows = [
            {"name": n, "title": c.title, "source": c.source, "note": c.note}
            for n, c in cases.items()
        ]
        print(json.dumps({"gallery": rows}, ensure_ascii=False))
        return EQUAL
    width = max(map(len, cases))
    for name, case in cases.items():
        print(f"{name.ljust(width)}  {case.title}" + (f"  ({case.source})" if case.source else ""))
    return EQUAL


if __name__ == "__main__":
    sys.exit(main())
