"""``python -m qlab c CASE --scheme SCHEME``: how do I write it? A C99 file that computes the same codes."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qlab.errors import ExportError

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
        help="a gallery name, a JSON file, an ONNX test-case folder or its .zip, or a link",
    )
    verb.add_argument(
        "--scheme", default="ort_cpu", metavar="NAME", help="whose arithmetic; ort_cpu"
    )
    verb.add_argument("--cpu", choices=CPUS, help="of ort_cpu: the CPU's class; else this one's")
    verb.add_argument(
        "--out",
        metavar="FILE",
        help="write it there, compile and run it; else it is printed",
    )
    verb.set_defaults(command=_c)


def _c(options: argparse.Namespace) -> int:
    from qlab.c import c_source, check
    from qlab.formats.load import load_case

    source = c_source(load_case(options.case), _scheme(options.scheme, options.cpu))
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


def _scheme(name: str, cpu: str | None) -> "Scheme":
    from qlab.schemes import scheme
    from qlab.schemes.ort_cpu import OrtCpu

    if name != "ort_cpu":
        if cpu:
            raise ExportError(f"--cpu {cpu} is for ort_cpu; {name} is the same on every CPU")
        return scheme(name)
    if not cpu:
        from qlab.engines.cpu import cpu_class

        cpu = cpu_class() or "avx2"
    return OrtCpu(cpu)
