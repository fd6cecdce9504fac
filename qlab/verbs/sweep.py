"""``python -m qlab sweep CASE``: over all inputs, where do two results differ?"""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qlab.errors import CaseError
from qlab.verbs import CASE, SIDES

if TYPE_CHECKING:
    from qlab.sweep import Sweep

STATUS = """exit status:
  0  the two agree everywhere
  1  they differ somewhere
  2  the case or the arguments are wrong (one line says what)
  3  one of them has no result: ONNX Runtime rejected the case, crashed or timed out"""


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = "over all inputs of a case, where do two results differ? Every code is tried, none is sampled"
    verb = verbs.add_parser(
        "sweep",
        help=words,
        description=words,
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("case", metavar="CASE", help=f"{CASE}; its scales and zero points are kept")
    verb.add_argument("--expected", metavar="SIDE", default="exact", help=f"what is right: {SIDES}")
    verb.add_argument("--actual", metavar="SIDE", default="ort", help="what is compared with it")
    verb.add_argument("--csv", metavar="FILE", help="write every place that differs")
    verb.add_argument("--json", action="store_true", help="one JSON object instead of text")
    verb.set_defaults(command=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    from qlab.__main__ import say
    from qlab.formats.load import load_case
    from qlab.sides import side
    from qlab.sweep import sweep
    from qlab.views.sweep import sweep_text, to_csv

    sides = side(options.expected), side(options.actual)
    found = sweep(load_case(options.case), *sides)
    if options.csv:
        try:
            Path(options.csv).write_text(to_csv(found), encoding="utf-8")
        except OSError as error:
            raise CaseError(f"--csv {options.csv}: cannot be written: {error.strerror}") from None
    if options.json:
        print(json.dumps(_document(found), ensure_ascii=False))
    else:
        say(sweep_text(found))
    if found.comparison is None:
        return 3
    return 0 if found.comparison.equal else 1


def _document(found: "Sweep") -> dict[str, Any]:
    import numpy as np

    c = found.comparison
    return {
        "expected": found.expected.side.label,
        "actual": found.actual.side.label,
        "failure": found.failure,
        "exhaustive": True,
        "axes": [{"name": a.name, "codes": a.codes.tolist()} for a in found.axes],
        "size": c.size if c else 0,
        "mismatches": c.mismatches if c else 0,
        "max_difference": c.max_difference if c else 0,
        "direction": c.direction if c else "",
        "unit": c.unit if c else "",
        "ties": None if found.ties is None else int(found.ties.sum()),
        "points": [
            {
                "codes": p.codes,
                "expected": np.asarray(p.expected).item(),
                "actual": np.asarray(p.actual).item(),
                "difference": p.difference,
                "tie": p.tie,
            }
            for p in found.points()
        ],
    }
