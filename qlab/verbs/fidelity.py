"""``python -m qlab fidelity``: how often does ort_cpu mispredict ONNX Runtime? Counted over directed and random cases."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from qlab.errors import CaseError

if TYPE_CHECKING:
    from qlab.batteries import Battery
    from qlab.fidelity import Row

STATUS = """exit status:
  0  every output was predicted
  1  some were mispredicted, or had no prediction
  2  the arguments are wrong"""
MOST = 10**12  # outputs of a row


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = (
        "run directed and random batteries through ONNX Runtime and count the outputs that ort_cpu mispredicts, "
        "for each operator, data type and graph form"
    )
    verb = verbs.add_parser(
        "fidelity",
        help=words,
        description=words,
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("operator", metavar="OPERATOR", nargs="*", help="QLinearAdd …; else all")
    verb.add_argument(
        "--least", type=int, default=200_000, metavar="N", help="outputs of each row; 200000"
    )
    verb.add_argument("--seed", type=int, default=0, metavar="N", help="the first seed; 0")
    verb.add_argument(
        "--cpu",
        default="this",
        choices=("this", "avx2", "sse", "arm64"),
        help="avx2, sse and arm64 are emulated by qemu-user, about ten times slower",
    )
    verb.add_argument(
        "--runtime",
        default="",
        metavar="VERSION",
        help="the release of ONNX Runtime, one of `runtimes list`; else the installed one",
    )
    verb.add_argument("--json", action="store_true", help="one JSON object instead of text")
    verb.add_argument("--save", action="store_true", help="keep the counts in qlab's own table")
    verb.add_argument(
        "--table", action="store_true", help="print that table in Markdown; run nothing"
    )
    verb.set_defaults(command=_fidelity)


def _fidelity(options: argparse.Namespace) -> int:
    from qlab.fidelity import keep, measure, measured
    from qlab.runtimes import store
    from qlab.views.fidelity import HEADING, line, summary, table

    if options.table:
        print(table(measured()), end="")
        return 0
    if not 0 < options.least <= MOST or options.seed < 0:
        raise CaseError(f"--least must be from 1 to {MOST:,}, and --seed 0 or more")
    chosen = _chosen(options.operator)
    if options.runtime:
        store.find(options.runtime)
    rows = []
    if not options.json:
        print(HEADING)
    for battery in chosen:
        row = measure(
            battery,
            seed=options.seed,
            least=options.least,
            cpu=options.cpu,
            version=options.runtime,
            progress=_progress(),
        )
        rows.append(row)
        if options.save:
            keep([row])
        if not options.json:
            print(line(row), flush=True)
    if options.json:
        print(json.dumps({"rows": [dataclasses.asdict(row) for row in rows]}, ensure_ascii=False))
    else:
        print(summary(rows))
    return 0 if all(row.perfect for row in rows) else 1


def _chosen(operators: Sequence[str]) -> list["Battery"]:
    from qlab.batteries import batteries

    found = list(batteries().values())
    known = {b.operator.lower(): b.operator for b in found}
    for name in operators:
        if name.lower() not in known:
            words = ", ".join(sorted(set(known.values())))
            raise CaseError(f"there is no battery for {name!r}; there are {words}")
    wanted = {name.lower() for name in operators}
    return [b for b in found if not wanted or b.operator.lower() in wanted]


def _progress() -> "Callable[[Row], None] | None":
    """A line that says how far a row is, where a person looks on."""
    if not sys.stderr.isatty():
        return None

    def show(row: "Row") -> None:
        print(f"\r{row.name}: {row.compared:,} …\x1b[K\r", end="", file=sys.stderr, flush=True)

    return show
