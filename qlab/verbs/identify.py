"""``python -m qlab identify CASE --output FILE``: which arithmetic explains what your own implementation returned?"""

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qlab.errors import CaseError
from qlab.verbs import CASE

if TYPE_CHECKING:
    from qlab.identify import Identification
    from qlab.qtypes import Array
    from qlab.trace import Index

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
        help="for an operator on single elements: the case over all codes, each from the lowest to the highest, the first input in the outer loop",
    )
    verb.add_argument(
        "--also",
        metavar=("CASE", "FILE"),
        nargs=2,
        action="append",
        default=[],
        help="a further case, such as one from --save, and what yours returned there; may be repeated",
    )
    verb.add_argument("--json", action="store_true", help="one JSON object instead of text")
    verb.add_argument(
        "--save", metavar="FILE", help="write the input that tells them apart as a case"
    )
    verb.set_defaults(command=_identify)


def _identify(options: argparse.Namespace) -> int:
    if [options.output, *(file for _, file in options.also)].count("-") > 1:
        raise CaseError("standard input can be read once: give the other output as a file")
    from qlab.__main__ import say
    from qlab.candidates import Evidence
    from qlab.formats.case_json import case_to_json
    from qlab.formats.load import load_case
    from qlab.identify import asked_for, identify
    from qlab.probes import all_codes
    from qlab.views.identify import identification_text

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
    output = _values(options.output, dtype, shape)
    further = []
    for name, file in options.also:
        other = load_case(name)
        try:
            _, dtype, shape = asked_for(other, tensor)
            further.append(Evidence(other, _values(file, dtype, shape)))
        except CaseError as error:
            raise CaseError(f"--also {name}: {error}") from None
    found = identify(case, output, tensor=tensor, further=further, progress=_progress())
    if options.json:
        print(json.dumps(_document(found), ensure_ascii=False))
    else:
        say(identification_text(found, options.case))
    if options.save is not None and found.separation is not None:
        _save(options.save, case_to_json(found.separation.case))
    if not options.json and found.separation is not None:
        say(_next(options))
    elif options.save is not None and found.separation is None:
        print(f"--save: nothing is written; {_NOTHING[bool(found.explaining)]}", file=sys.stderr)
    return 0 if found.explaining else 1


_NOTHING = {
    True: "no input was found that tells apart what explains it",
    False: "nothing explains it, so there is nothing to tell apart",
}


def _values(file: str, dtype: str, shape: "Index") -> "Array":
    from qlab.formats.output_values import LARGEST, values_from_bytes, values_from_file

    if file != "-":
        return values_from_file(file, dtype, shape)
    if sys.stdin is None:
        raise CaseError("--output -: standard input is closed")
    content = sys.stdin.buffer.read(LARGEST + 1)
    return values_from_bytes(content, "standard input", dtype, shape)


def _save(path: str, content: str) -> None:
    try:
        Path(path).write_text(content, encoding="utf-8")
    except OSError as error:
        raise CaseError(f"--save {path}: cannot be written: {error.strerror}") from None


def _next(options: argparse.Namespace) -> str:
    """What to do with the input that tells them apart."""
    also = [word for pair in options.also for word in ("--also", *pair)]
    words = ["python", "-m", "qlab", "identify", options.case, "--output", options.output, *also]
    words += ["--tensor", options.tensor] if options.tensor else []
    words += ["--all-codes"] if options.all_codes else []
    saved = options.save or "apart.json"
    if options.save:
        then = [*words, "--also", saved, "FILE"]
        return f"Written: {saved}. Run it with yours, then: {shlex.join(then)}"
    return f"As a case: {shlex.join([*words, '--save', saved])}"


def _progress() -> Any:
    """A line that says what is being tried, where a person looks on."""
    if not sys.stderr.isatty():
        return None
    return lambda words: print(f"\r{words} …\x1b[K\r", end="", file=sys.stderr, flush=True)


def _document(found: "Identification") -> dict[str, Any]:
    import numpy as np

    from qlab.formats.case_json import case_to_document

    separation, returned = found.separation, found.returned
    return {
        "tensor": found.tensor,
        "size": found.output.size,
        "further": found.further,
        "explaining": [c.label for c in found.explaining],
        "candidates": [
            {
                "label": c.label,
                "mismatches": c.mismatches,
                "further": c.further,
                "first": c.first,
                "message": c.run.message,
            }
            for c in found.candidates
        ],
        "onnxruntime": {
            "version": returned.run.version,
            "status": returned.run.status,
            "mismatches": returned.mismatches,
            "first": returned.first,
        },
        "swapped": found.swapped.label if found.swapped else None,
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
