"""``python -m qlab shrink CASE``: the smallest case on which two results still differ in the same way."""

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qlab.errors import CaseError
from qlab.verbs import CASE, SIDES

if TYPE_CHECKING:
    from qlab.shrink import Shrunk

STATUS = """exit status:
  0  the smallest case found, with the same difference
  1  nothing differs, or a side has no result (one line says which)
  2  the case or the arguments are wrong (one line says what)"""


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = "the smallest case on which two results still differ in the same way"
    verb = verbs.add_parser(
        "shrink",
        help=words,
        description=words,
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("case", metavar="CASE", help=CASE)
    verb.add_argument("--expected", metavar="SIDE", default="exact", help=f"what is right: {SIDES}")
    verb.add_argument("--actual", metavar="SIDE", default="ort", help="what is compared with it")
    verb.add_argument("--out", metavar="FILE", help="write the smallest case")
    verb.add_argument("--steps", metavar="DIR", help="write the case after each step: 01.json …")
    verb.add_argument("--json", action="store_true", help="one JSON object instead of text")
    verb.set_defaults(command=_shrink)


def _shrink(options: argparse.Namespace) -> int:
    from qlab.__main__ import say
    from qlab.formats.case_json import case_to_json
    from qlab.formats.load import load_case
    from qlab.shrink import NothingToShrink, shrink
    from qlab.sides import side
    from qlab.views.shrinking import shrunk_text

    case = load_case(options.case)
    sides = side(options.expected), side(options.actual)
    try:
        found = shrink(case, *sides, progress=_progress())
    except NothingToShrink as error:
        say(f"{error}")
        return 1
    if options.out:
        _write(Path(options.out), case_to_json(found.case), "--out")
    if options.steps:
        for number, step in enumerate(found.steps, 1):
            _write(Path(options.steps) / f"{number:02}.json", case_to_json(step.case), "--steps")
    if options.json:
        print(json.dumps(_document(found), ensure_ascii=False))
        return 0
    say(shrunk_text(found))
    say(_next(options))
    return 0


def _write(path: Path, content: str, option: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise CaseError(f"{option} {path}: cannot be written: {error.strerror}") from None


def _next(options: argparse.Namespace) -> str:
    """What to do with the smallest case."""
    if options.out:
        commands = [["python", "-m", "qlab", verb, options.out] for verb in ("run", "export")]
        return f"Written: {options.out}. Next: " + "; ".join(map(shlex.join, commands))
    words = ["python", "-m", "qlab", "shrink", options.case]
    for name, usual in (("expected", "exact"), ("actual", "ort")):
        if getattr(options, name) != usual:
            words += [f"--{name}", getattr(options, name)]
    return f"As a case: {shlex.join([*words, '--out', 'smallest.json'])}"


def _progress() -> Any:
    """A line that says what is being tried, where a person looks on."""
    if not sys.stderr.isatty():
        return None
    return lambda words: print(f"\r{words} …\x1b[K\r", end="", file=sys.stderr, flush=True)


def _document(found: "Shrunk") -> dict[str, Any]:
    from qlab.formats.case_json import case_to_document
    from qlab.shrink import size_of

    signature = found.given.signature
    assert signature is not None
    return {
        "expected": found.given.expected.side.label,
        "actual": found.given.actual.side.label,
        "signature": {
            "operator": signature.operator,
            "step": signature.step,
            "direction": signature.direction,
        },
        "why": found.difference.why,
        "output": found.difference.output,
        "index": found.difference.index,
        "given": vars(size_of(found.given.case)),
        "smallest": vars(size_of(found.case)),
        "case": case_to_document(found.case),
        "steps": [
            {"words": s.words, **vars(s.size), "case": case_to_document(s.case)}
            for s in found.steps
        ],
        "variations": [
            {"tensor": v.tensor, "tried": v.tried, "holding": v.holding} for v in found.variations
        ],
        "agreement": None
        if found.agreement is None
        else {
            "words": found.agreement.words,
            "case": case_to_document(found.agreement.case),
        },
        "trials": found.trials,
        "ended": found.ended,
    }
