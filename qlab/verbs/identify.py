"""``python -m qlab identify CASE --output FILE``: which arithmetic explains what your own implementation returned?"""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from qlab.errors import CaseError
from qlab.verbs import CASE

if TYPE_CHECKING:
    from qlab.identify import Identification

STATUS = """exit status:
  0  at least one arithmetic explains all of it
  1  none does
  2  the case, the values or the arguments are wrong (one line says what)"""


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = "which arithmetic explains what your own implementation returned?"
    verb = verbs.add_parser(
        "identify",
        help=words,
        description=words,
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("case", metavar="CASE", help=CASE)
    verb.add_argument(
        "--output",
        metavar="FILE",
        required=True,
        help="what yours returned: .npy, .csv, or text with a C array or a table; - reads standard input",
    )
    verb.add_argument(
        "--tensor", metavar="NAME", default="", help="of which tensor; else the output"
    )
    verb.add_argument(
        "--all-codes",
        action="store_true",
        help="for an operator on single elements: the case over all codes, the first input in the outer loop",
    )
    verb.add_argument("--json", action="store_true", help="one JSON object instead of text")
    verb.add_argument(
        "--save", metavar="FILE", help="write the input that tells them apart as a case"
    )
    verb.set_defaults(command=_identify)


def _identify(options: argparse.Namespace) -> int:
    from qlab.formats.case_json import case_to_json
    from qlab.formats.load import load_case
    from qlab.formats.output_values import LARGEST, values_from_bytes, values_from_file
    from qlab.identify import asked_for, identify
    from qlab.probes import all_codes

    case = load_case(options.case)
    if options.all_codes:
        whole = all_codes(case)
        if whole is None:
            raise CaseError(
                "--all-codes: this case has no element that stands alone, or its inputs are no 8-bit codes; "
                "give the case with the inputs that you ran"
            )
        case = whole
    tensor, dtype, shape = asked_for(case, options.tensor)
    if options.output == "-":
        if sys.stdin is None:
            raise CaseError("--output -: standard input is closed")
        content = sys.stdin.buffer.read(LARGEST + 1)
        output = values_from_bytes(content, "standard input", dtype, shape)
    else:
        output = values_from_file(options.output, dtype, shape)
    found = identify(case, output, tensor=tensor, progress=_progress())
    if options.json:
        print(json.dumps(_document(found), ensure_ascii=False))
    else:
        from qlab.__main__ import say
        from qlab.views.identify import identification_text

        say(identification_text(found, options.case))
    if options.save and found.separation is not None:
        try:
            with open(options.save, "w", encoding="utf-8") as file:
                file.write(case_to_json(found.separation.case))
        except OSError as error:
            raise CaseError(f"--save {options.save}: cannot be written: {error.strerror}") from None
    return 0 if found.explaining else 1


def _progress() -> Any:
    """A line that says what is being tried, where a person looks on."""
    if not sys.stderr.isatty():
        return None
    return lambda words: print(f"\r{words} …\x1b[K\r", end="", file=sys.stderr, flush=True)


def _document(found: "Identification") -> dict[str, Any]:
    import numpy as np

    from qlab.formats.case_json import case_to_document

    separation = found.separation
    return {
        "tensor": found.tensor,
        "size": found.output.size,
        "explaining": [c.label for c in found.explaining],
        "candidates": [
            {
                "label": c.label,
                "mismatches": c.mismatches,
                "first": c.first,
                "message": c.run.message,
            }
            for c in found.candidates
        ],
        "tried": found.tried,
        "separation": None
        if separation is None
        else {
            "case": case_to_document(separation.case),
            "tensor": separation.tensor,
            "indexes": separation.indexes,
            "other_parameters": separation.parameters,
            "answers": [
                {"values": [np.asarray(n).item() for n in v], "labels": labels}
                for v, labels in separation.answers
            ],
        },
    }
