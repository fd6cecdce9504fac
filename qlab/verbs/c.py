"""``python -m qlab c CASE --scheme SCHEME``: how do I write it? A C99 file that computes the same codes."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qlab.engines.results import LEVELS
from qlab.errors import ExportError
from qlab.verbs import CASE

if TYPE_CHECKING:
    from qlab.case import Case
    from qlab.schemes import Scheme

CPUS = ("avx2", "sse", "vnni", "arm64")
STATUS = """exit status:
  0  written; where it was compiled and run, no code differs
  1  compiled and run, some codes differ, or the compiler refused it
  2  the case or the arguments are wrong, or it is not written in C (one line says what)"""


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = "a C99 function that computes the same codes as a scheme, with a main that checks it"
    verb = verbs.add_parser(
        "c",
        help=words,
        description=words,
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument(
        "case",
        metavar="CASE",
        help=CASE,
    )
    verb.add_argument(
        "--scheme",
        default="ort_cpu",
        metavar="LABEL",
        help="whose arithmetic, by its label in docs/schemes.md: exact, float32, 'tflite (single rounding)' …; ort_cpu",
    )
    verb.add_argument("--cpu", choices=CPUS, help="of ort_cpu: the CPU's class; else this one's")
    verb.add_argument(
        "--runtime",
        metavar="VERSION",
        help="of ort_cpu: the release; else the newest known",
    )
    verb.add_argument(
        "--level",
        choices=LEVELS,
        help="of ort_cpu: the graph optimization level whose graph is written; ORT_ENABLE_ALL",
    )
    verb.add_argument(
        "--fused", action="store_true", help="of a QDQ group: the operator that takes its place"
    )
    verb.add_argument(
        "--function",
        action="store_true",
        help="only the function, without the main that checks it (with --out it is checked all the same)",
    )
    verb.add_argument(
        "--out",
        metavar="FILE",
        help="write it there, compile and run it; else it is printed",
    )
    verb.set_defaults(command=_c)


def _c(options: argparse.Namespace) -> int:
    from qlab.c import c_program, check
    from qlab.c.running import compiler
    from qlab.formats.load import load_case
    from qlab.forms import to_qoperator

    case = load_case(options.case)
    if options.fused:
        fused = to_qoperator(case)
        if fused is None:
            raise ExportError(
                "--fused: the case is no QDQ group that one operator takes the place of"
            )
        case = fused
    case, scheme, note = _arithmetic(case, options)
    if options.fused:
        note = f"{note} This is the operator in the group's place, by itself: the group may give other codes.".strip()
    program = c_program(case, scheme, note)
    source = program.function_only if options.function else program.source
    if options.out is None:
        print(source, end="")
        return 0
    try:
        Path(options.out).write_text(source, encoding="ascii")
    except OSError as error:
        raise ExportError(f"--out {options.out}: cannot be written: {error.strerror}") from None
    from qlab.__main__ import say

    checked = check(program.source)
    with_main = "with its main " if options.function else ""
    say(f"{options.out}: {with_main}{checked.sentence}")
    if note:
        say(note)
    if checked.output and (checked.not_run or checked.status):
        say(checked.output)
    there = bool(compiler())  # without one the file is only written
    return 1 if there and checked.status != 0 else 0


def _arithmetic(case: "Case", options: argparse.Namespace) -> "tuple[Case, Scheme, str]":
    """The graph and the scheme to be written, and what is to be said of them."""
    from qlab.c.ran import as_ran
    from qlab.engines.cpu import cpu_class
    from qlab.engines.ort import run_ort
    from qlab.engines.pool import emulated_cpus
    from qlab.engines.results import SessionConfig
    from qlab.runtimes.store import MissingRuntimeError, find
    from qlab.runtimes.versions import checked
    from qlab.schemes import variant
    from qlab.schemes.ort_cpu import OrtCpu

    if options.scheme != "ort_cpu":
        if options.cpu or options.runtime is not None or options.level:
            raise ExportError(
                f"--cpu, --runtime and --level are for ort_cpu; {options.scheme} is one arithmetic everywhere"
            )
        return case, variant(options.scheme), ""
    version = "" if options.runtime is None else checked(options.runtime)
    own = cpu_class()
    cpu = options.cpu or own or "avx2"
    if cpu == own or cpu in emulated_cpus():
        config = SessionConfig(options.level or "ORT_ENABLE_ALL")
        try:
            find(version)
            run = run_ort(case, config, cpu="this" if cpu == own else cpu, version=version)
        except MissingRuntimeError:
            pass
        else:
            case, scheme, note = as_ran(case, run)
            return case, scheme, note if cpu == own else f"{note} That CPU was emulated."
    ran = f"onnxruntime {version}".strip()
    note = f"Not checked: {ran} on {cpu} does not run on this machine. The graph is the case's own."
    return case, OrtCpu(cpu, version=version), note
