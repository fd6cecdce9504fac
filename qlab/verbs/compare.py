"""``python -m qlab compare FILE [FILE]``: runs saved on one machine against another's, or against this one's."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

from qlab.errors import CaseError


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = "compare what run --save wrote on another machine with a second file, or with runs here"
    verb = verbs.add_parser("compare", help=words, description=words)
    verb.add_argument("saved", metavar="FILE", help="written by run --save")
    verb.add_argument("other", metavar="FILE", nargs="?", help="another; else the case is run here")
    verb.add_argument("--json", action="store_true", help="one JSON object instead of text")
    verb.set_defaults(command=_compare)


def _compare(options: argparse.Namespace) -> int:
    from qlab.formats.saved_run import SavedRun, load, of_report
    from qlab.graph import same_graph
    from qlab.reference import exact_trace, reference_of
    from qlab.session import run
    from qlab.wording import how_much

    one = load(options.saved)
    if not one.runs:
        raise CaseError(f"{options.saved}: holds no run of ONNX Runtime")
    levels = tuple(dict.fromkeys(r.level for r in one.runs))
    other = (
        load(options.other)
        if options.other
        else of_report(run(one.case, levels=levels, entries=one.runs[0].entries))
    )
    if not same_graph(one.case.graph, other.case.graph) or any(
        value.tobytes() != other.case.inputs[name].tobytes()
        for name, value in one.case.inputs.items()
        if name in other.case.inputs
    ):
        raise CaseError(f"{options.saved} and {options.other} hold different cases")
    reference = reference_of(one.case, exact_trace(one.case))

    def words(a: SavedRun, b: SavedRun) -> tuple[bool, str]:
        if a.status != b.status:
            return False, f"{a.status} in 1, {b.status} in 2"
        compared = reference.between((a.version, a.outputs), (b.version, b.outputs))
        return all(c.equal for c in compared), how_much(compared)

    pairs = [(a, b) for a in one.runs for b in other.runs if a.level == b.level]
    if not pairs:
        raise CaseError(f"{options.saved} and {options.other} have no level in common")
    judged = [(a, b, *words(a, b)) for a, b in pairs]
    if options.json:
        print(json.dumps(_document(one.machine, other.machine, judged), ensure_ascii=False))
    else:
        from qlab.__main__ import say

        say(f"1  {one.date}  {one.machine}\n2  {other.date}  {other.machine}\n")
        for a, b, equal, said in judged:
            who = " and ".join(f"{r.version} ({r.cpu or 'unknown class'})" for r in (a, b))
            say(f"{'=' if equal else '≠'} {a.level}: {who}: {said}")
    return 0 if all(equal for *_, equal, _ in judged) else 1


def _document(one: str, other: str, judged: Sequence[tuple[Any, Any, bool, str]]) -> dict[str, Any]:
    return {
        "qlab_compare": 1,
        "machines": [one, other],
        "comparisons": [
            {
                "level": a.level,
                "versions": [a.version, b.version],
                "cpus": [a.cpu, b.cpu],
                "equal": equal,
                "words": said,
            }
            for a, b, equal, said in judged
        ],
    }
