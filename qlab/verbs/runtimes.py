"""``python -m qlab runtimes list | add | remove | prune``."""

import argparse
import json
import sys
from typing import Any

from qlab.runtimes import store


def add_to(verbs: Any) -> None:
    """Add the verb to the parser."""
    words = "releases of ONNX Runtime on this machine: list, add, remove"
    verb = verbs.add_parser("runtimes", help=words, description=words)
    actions = verb.add_subparsers(
        dest="action", required=True, metavar="list | add | remove | prune"
    )
    listed = actions.add_parser("list", help="what is here, with sizes")
    listed.add_argument("--json", action="store_true", help="one JSON object")
    for name, what in (
        ("add", "install a release into the cache folder"),
        ("remove", "remove one"),
    ):
        action = actions.add_parser(name, help=what)
        action.add_argument("version", metavar="VERSION", nargs="+", help="such as 1.25.1")
        action.add_argument(
            "--cpu",
            choices=("this", "arm64"),
            default="this",
            help="arm64: for an emulated ARM64 CPU (x86-64 Linux with apt-get)",
        )
    prune = actions.add_parser("prune", help="remove what is broken or half made")
    prune.add_argument("--all", action="store_true", help="remove every runtime that was added")
    verb.set_defaults(command=_runtimes)


def _runtimes(options: argparse.Namespace) -> int:
    if options.action == "list":
        _list(as_json=options.json)
    elif options.action == "prune":
        print(f"freed {_megabytes(store.prune(everything=options.all))}")
    for version in getattr(options, "version", ()):
        machine = "arm64" if options.cpu == "arm64" else "native"
        if options.action == "add":
            runtime = store.add(version, machine, progress=_progress)
            print(f"onnxruntime {runtime.name} is here, {_megabytes(runtime.size)}")
        else:
            freed = store.remove(version, machine)
            print(f"onnxruntime {version} is removed, {_megabytes(freed)} freed")
    return 0


def _progress(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _list(*, as_json: bool) -> None:
    found = store.here()
    if as_json:
        rows = [
            {
                "version": r.version,
                "cpu": "arm64" if r.machine == "arm64" else "this",
                "size": r.size,
                "python": r.python,
                "installed_with_qlab": r.folder is None,
            }
            for r in found
        ]
        print(json.dumps({"runtimes": rows, "folder": str(store.cache_folder())}))
        return
    width = max((len(r.name) for r in found), default=0)
    for r in found:
        size = "installed with qlab" if r.folder is None else _megabytes(r.size)
        print(f"{r.name.ljust(width)}  {size}")
    total = sum(r.size for r in found)
    print(f"{_megabytes(total)} in {store.cache_folder()}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
