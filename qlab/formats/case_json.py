"""A case as JSON, version 1: docs/case-format.md."""

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from qlab.case import Case
from qlab.errors import CaseError, closest
from qlab.formats.tensor_json import tensor_from_json, tensor_to_json
from qlab.graph import Graph, Node
from qlab.qtypes import Array

VERSION = 1
LARGEST = 32_000_000  # characters of a case
KEYS = (
    *("qlab_case", "title", "source", "note", "opset", "nodes", "constants", "inputs", "outputs"),
    "expected",
)
NODE_KEYS = ("op_type", "inputs", "outputs", "domain", "attributes", "name")
TEXTS = ("title", "source", "note")


def case_to_json(case: Case, *, compact: bool = False) -> str:
    """The case as a JSON text: a line for each node and tensor; ``compact`` without any white space."""
    document = case_to_document(case)
    if compact:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and key == "nodes":
            rows = ",\n".join("    " + _line(entry) for entry in value).replace("\\\n", "\n")
            lines.append(f"  {_line(key)}: [\n{rows}\n  ]")
        elif isinstance(value, dict) and value and key != "opset":
            rows = ",\n".join(f"    {_line(name)}: {_line(entry)}" for name, entry in value.items())
            lines.append(f"  {_line(key)}: {{\n{rows}\n  }}")
        else:
            lines.append(f"  {_line(key)}: {_line(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def case_to_document(case: Case) -> dict[str, Any]:
    """The case as plain JSON values."""
    graph = case.graph
    texts = {key: getattr(case, key) for key in TEXTS}
    document: dict[str, Any] = {"qlab_case": VERSION}
    document |= {key: text for key, text in texts.items() if text}
    document["opset"] = dict(graph.opset)
    document["nodes"] = [node_to_document(node) for node in graph.nodes]
    for key, tensors in (("constants", graph.constants), ("inputs", case.inputs)):
        document[key] = {name: tensor_to_json(value) for name, value in tensors.items()}
    document["outputs"] = list(graph.outputs)
    if case.expected:
        document["expected"] = {
            name: tensor_to_json(value) for name, value in case.expected.items()
        }
    return document


def node_to_document(node: Node) -> dict[str, Any]:
    """A node as plain JSON values."""
    document: dict[str, Any] = {
        "op_type": node.op_type,
        "inputs": list(node.inputs),
        "outputs": list(node.outputs),
    }
    if node.domain:
        document["domain"] = node.domain
    if node.attributes:
        document["attributes"] = {
            key: tensor_to_json(value) if isinstance(value, np.ndarray) else value
            for key, value in node.attributes.items()
        }
    if node.name:
        document["name"] = node.name
    return document


def case_from_json(text: str) -> Case:
    """Read a case.

    Raises:
        CaseError: one line with where, what, and what is allowed.
    """
    if len(text) > LARGEST:
        raise CaseError(f"the case has {len(text):,} characters; at most {LARGEST:,} are read")
    try:
        document = json.loads(text, parse_float=Decimal, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise CaseError(
            f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise CaseError("not a case: the JSON is nested too deeply") from None
    except ValueError as error:
        raise CaseError(f"not JSON: {' '.join(str(error).split())[:120]}") from None
    try:
        json.dumps(document, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise CaseError("not a case: it holds half a surrogate pair (\\ud800 to \\udfff)") from None
    try:
        return _case(document)
    except RecursionError:
        raise CaseError("not a case: lists nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise CaseError(f"the key {twice!r} stands twice in one object")
    return document


def _case(document: Any) -> Case:
    if not isinstance(document, dict) or "qlab_case" not in document:
        raise CaseError('not a case: a case is a JSON object with "qlab_case": 1')
    version = document["qlab_case"]
    if version != VERSION or isinstance(version, bool):
        raise CaseError(
            f"qlab_case: version {_shown(version)} is not known; this qlab reads version {VERSION}"
        )
    _known_keys("", document, KEYS)
    for key in ("nodes", "outputs"):
        if key not in document:
            raise CaseError(f"{key}: missing")
    texts = {key: document.get(key, "") for key in TEXTS}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise CaseError(f"{key}: {_shown(value)} is not text")
    constants = _tensors(document, "constants")
    inputs = _tensors(document, "inputs")
    for name in inputs:
        if name in constants:
            raise CaseError(f"inputs.{name}: {name!r} is a constant too; a name has one meaning")
    nodes = _nodes(document["nodes"])
    outputs = _names(document["outputs"], "outputs")
    graph = Graph(nodes, constants, tuple(inputs), outputs, _opset(document.get("opset", {"": 13})))
    _check_names(graph)
    expected = _tensors(document, "expected")
    for name in expected:
        if name not in outputs:
            raise CaseError(
                f"expected.{name}: {name!r} is no output; there are {', '.join(outputs)}"
            )
    return Case(graph, inputs, **texts, expected=expected)


def _known_keys(where: str, document: Mapping[str, Any], allowed: Iterable[str]) -> None:
    for key in document:
        if key not in allowed:
            close = closest(key, allowed)
            hint = f", did you mean {close!r}?" if close else ""
            raise CaseError(f"{where}{key}: unknown key{hint} (there are {', '.join(allowed)})")


def _tensors(document: Mapping[str, Any], key: str) -> dict[str, Array]:
    given = document.get(key, {})
    if not isinstance(given, dict):
        raise CaseError(f"{key}: must be an object of tensors by name, not {_shown(given)}")
    if "" in given:
        raise CaseError(f"{key}: a tensor needs a name; the empty one means an absent input")
    return {name: tensor_from_json(value, f"{key}.{name}") for name, value in given.items()}


def _names(given: Any, where: str) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise CaseError(f"{where}: must be a list of names, not {_shown(given)}")
    return tuple(given)


def _opset(given: Any) -> dict[str, int]:
    if not isinstance(given, dict):
        raise CaseError(f'opset: must be an object like {{"": 13}}, not {_shown(given)}')
    for domain, version in given.items():
        if (
            not isinstance(version, int)
            or isinstance(version, bool)
            or not 1 <= version <= 2**31 - 1
        ):
            raise CaseError(
                f"opset.{domain or 'ai.onnx'}: {_shown(version)} is not a version like 13"
            )
    return {"" if domain == "ai.onnx" else domain: version for domain, version in given.items()}


def _nodes(given: Any) -> tuple[Node, ...]:
    if not isinstance(given, list) or not given:
        raise CaseError("nodes: must be a list with at least one node")
    return tuple(_node(entry, f"nodes[{i}]") for i, entry in enumerate(given))


def _node(given: Any, where: str) -> Node:
    if not isinstance(given, dict):
        raise CaseError(f"{where}: a node is an object, not {_shown(given)}")
    _known_keys(f"{where}.", given, NODE_KEYS)
    for key in ("op_type", "inputs", "outputs"):
        if key not in given:
            raise CaseError(f"{where}.{key}: missing")
    for key in ("op_type", "domain", "name"):
        if not isinstance(given.get(key, ""), str):
            raise CaseError(f"{where}.{key}: {_shown(given[key])} is not text")
    attributes = given.get("attributes", {})
    if not isinstance(attributes, dict):
        raise CaseError(f"{where}.attributes: must be an object, not {_shown(attributes)}")
    domain = given.get("domain", "")
    return Node(
        given["op_type"],
        _names(given["inputs"], f"{where}.inputs"),
        _names(given["outputs"], f"{where}.outputs"),
        "" if domain == "ai.onnx" else domain,
        {k: _attribute(v, f"{where}.attributes.{k}") for k, v in attributes.items()},
        given.get("name", ""),
    )


def _attribute(given: Any, where: str) -> Any:
    if isinstance(given, dict):
        return tensor_from_json(given, where)
    single = {Decimal: float, int: int, float: float, str: str}
    if isinstance(given, list):
        entries = [_attribute(entry, f"{where}[{i}]") for i, entry in enumerate(given)]
        if all(isinstance(e, (int, float)) for e in entries) and any(
            isinstance(e, float) for e in entries
        ):
            entries = [float(e) for e in entries]
        if len({type(e) for e in entries}) > 1 or any(
            isinstance(e, (tuple, np.ndarray)) for e in entries
        ):
            raise CaseError(f"{where}: a list holds integers, numbers or texts, all of one kind")
        return tuple(entries)
    if isinstance(given, bool) or type(given) not in single:
        raise CaseError(f"{where}: {_shown(given)} is no integer, number, text, list or tensor")
    if isinstance(given, int) and not -(2**63) <= given < 2**63:
        raise CaseError(f"{where}: {_shown(given)} does not fit an ONNX integer (64 bits)")
    return single[type(given)](given)


def _check_names(graph: Graph) -> None:
    """Each name is defined once, before it is read."""
    defined = {*graph.constants, *graph.inputs}
    for i, node in enumerate(graph.nodes):
        later = {o for n in graph.nodes[i:] for o in n.outputs if o}
        for name in node.inputs:
            if name and name not in defined:
                if name in later:
                    raise CaseError(
                        f"nodes[{i}].inputs: {name!r} is made by this or a later node; nodes stand in order"
                    )
                raise CaseError(
                    f"nodes[{i}].inputs: nothing defines {name!r}{_close(name, defined)}"
                )
        for name in node.outputs:
            if name in defined:
                raise CaseError(
                    f"nodes[{i}].outputs: {name!r} is defined already; a name has one meaning"
                )
            if name:
                defined.add(name)
        if not any(node.outputs):
            raise CaseError(f"nodes[{i}].outputs: a node has at least one output")
    if not graph.outputs:
        raise CaseError("outputs: at least one output is needed")
    for position, name in enumerate(graph.outputs):
        if name not in defined:
            raise CaseError(f"outputs: nothing defines {name!r}{_close(name, defined)}")
        if name in graph.outputs[:position]:
            raise CaseError(f"outputs: {name!r} stands twice")


def _close(name: str, defined: Iterable[str]) -> str:
    close = closest(name, defined)
    return f"; did you mean {close!r}?" if close else ""


def _shown(given: Any, limit: int = 40) -> str:
    text = repr(given)
    return text if len(text) <= limit else f"{text[:limit]}…"
