"""``python -m qlab c CASE --scheme SCHEME``: how do I write it? A C99 file that computes the same codes."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qlab.errors import ExportError
from qlab.verbs import CASE

if TYPE_CHECKING:
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
        help="whose arithmetic: exact, float32, 'tflite (single rounding)' … (an unknown one lists all); ort_cpu",
    )
    verb.add_argument("--cpu", choices=CPUS, help="of ort_cpu: the CPU's class; else this one's")
    verb.add_argument(
        "--runtime",
        metavar="VERSION",
        default="",
        help="of ort_cpu: the release; else the newest known",
    )
    verb.add_argument(
        "--fused", action="store_true", help="of a QDQ group: the operator that takes its place"
    )
    verb.add_argument(
        "--out",
        metavar="FILE",
        help="write it there, compile and run it; else it is printed",
    )
    verb.set_defaults(command=_c)


def _c(options: argparse.Namespace) -> int:
    from qlab.c import c_source, check
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
    source = c_source(case, _scheme(options.scheme, options.cpu, options.runtime))
    if not options.out:
        print(source, end="")
        return 0
    try:
        Path(options.out).write_text(source, encoding="ascii")
    except OSError as error:
        raise ExportError(f"--out {options.out}: cannot be written: {error.strerror}") from None
    from qlab.__main__ import say

    checked = check(source)
    say(f"{options.out}: {checked.sentence}")
    if checked.status or (checked.not_run and checked.output):
        say(checked.output)
        return 1
    return 0


def _scheme(label: str, cpu: str | None, version: str) -> "Scheme":
    from qlab.runtimes.versions import checked
    from qlab.schemes import variant
    from qlab.schemes.ort_cpu import OrtCpu

    if label != "ort_cpu":
        if cpu or version:
            raise ExportError(
                f"--cpu and --runtime are for ort_cpu; {label} is one arithmetic on every CPU and release"
            )
        return variant(label)
    if not cpu:
        from qlab.engines.cpu import cpu_class

        cpu = cpu_class() or "avx2"
    return OrtCpu(cpu, version=checked(version) if version else "")
