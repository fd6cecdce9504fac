"""``python -m qlab bench``: how fast the parts are, measured here."""

import argparse
import sys
from pathlib import Path
from typing import Any

from qlab.errors import CaseError

STATUS = """exit status:
  0  every goal was met, or none was judged
  1  one was not
  2  the arguments are wrong"""


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = "measure how fast the parts are, each in a process of its own: layers, all pairs, growth, import, the page"
    verb = verbs.add_parser(
        "bench",
        help=words,
        description=words,
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("name", metavar="NAME", nargs="*", help="layer, pairs, growth …; else all")
    verb.add_argument(
        "--quick",
        action="store_true",
        help="few repetitions on small sizes: shows that all of it runs, and measures nothing",
    )
    verb.add_argument("--json", action="store_true", help="one JSON object instead of text")
    verb.add_argument(
        "--write",
        metavar="DIR",
        nargs="?",
        const="",
        help="write bench.json and bench.md to a folder; else to docs",
    )
    verb.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> int:
    from qlab.__main__ import say
    from qlab.bench import DOCS, figure, markdown, run_bench, spread, to_json
    from qlab.benchmarks import benchmarks

    if options.write is not None and options.quick:
        raise CaseError("--write with --quick: a quick run measures nothing that is worth keeping")
    folder = Path(options.write) if options.write else DOCS
    if options.write is not None and not folder.is_dir():
        raise CaseError(f"--write {folder}: there is no such folder")
    found = run_bench(options.name, quick=options.quick, progress=_progress)
    if options.json:
        print(to_json(found), end="")
    else:
        say(f"{found.machine}, {found.date}")
        for name, lines in found.lines.items():
            say(f"\n{benchmarks()[name].words}")
            for line in lines:
                met = {True: "met: ", False: "NOT MET: ", None: ""}[line.met]
                said = "; ".join(filter(None, (met + line.goal if line.goal else "", line.note)))
                between = f"  ({spread(line)})" if spread(line) else ""
                say(f"  {figure(line):>14s}{between}  {line.what}" + (f"; {said}" if said else ""))
    if options.write is not None:
        for name, text in (("bench.json", to_json(found)), ("bench.md", markdown(found))):
            try:
                (folder / name).write_text(text, encoding="utf-8")
            except OSError as error:
                raise CaseError(
                    f"--write {folder / name}: it cannot be written: {error.strerror}"
                ) from None
    return 1 if found.missed else 0


def _progress(words: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{words} …\x1b[K\r", end="", file=sys.stderr, flush=True)
