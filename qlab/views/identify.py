"""What identify found, in sentences, as text for the terminal and as data for the page."""

import shlex
from collections.abc import Sequence

import numpy as np

from qlab.candidates import Candidate
from qlab.case import Case
from qlab.element import ElementNode, way
from qlab.engines.results import RunStatus
from qlab.identify import RAN, Identification
from qlab.notation import integer, show
from qlab.probes import elementwise
from qlab.qtypes import Array, is_float, is_integer
from qlab.schemes import variants
from qlab.separation import Separation
from qlab.trace import Index, broadcasts
from qlab.views.markup import index_text
from qlab.views.terminal import trace_text

SHOWN = 6  # groups listed on the terminal
ENDED = {
    RunStatus.REJECTED: "rejects this case",
    RunStatus.FAILED: "fails on this case",
    RunStatus.CRASHED: "crashed on this case",
    RunStatus.TIMED_OUT: "did not end in time on this case",
}
FEW = 8  # values of an input that are written out


def headline(found: Identification) -> str:
    """The answer in a sentence."""
    size = found.output.size
    noun = _noun(found, size)
    if not found.explaining:
        best = found.best
        if best is None:
            return "Nothing that is known here computes this case."
        if best.mismatches < 0:
            return "Nothing that is known here gives this shape."
        if best.mismatches == size:
            return f"No arithmetic here explains {'it' if size == 1 else 'any of them'}: {noun}."
        group = found.groups[0]
        comes = "comes" if len(group) == 1 else "come"
        if not best.mismatches:
            return (
                f"No arithmetic here explains {noun} and the {_further(found)}: {names(group)} {comes} closest, "
                f"with {best.further:,} further {'one' if best.further == 1 else 'ones'} left."
            )
        return (
            f"No arithmetic here explains {noun}: {names(group)} {comes} closest, "
            f"with {best.mismatches:,} of {size:,} left."
        )
    if found.further:
        noun += f" and the {_further(found)}"
    labels = names(found.explaining)
    verb = "explains" if len(found.explaining) == 1 else "explain"
    return f"{labels} {verb} {noun}."


def limits_sentence(found: Identification) -> str:
    """What "explains" does not mean: an operator that none of them computes, or an arithmetic that is not known."""
    best = found.best
    nodes = best.run.trace.nodes if best is not None and best.run.trace is not None else ()
    opaque = dict.fromkeys(n.node.op_type for n in nodes if n.opaque)
    if opaque:
        types = ", ".join(opaque)
        return f"No arithmetic here has {types}: for each of them the ONNX reference evaluator computed it."
    if not found.explaining or found.separation is not None:
        return ""
    count = sum(c.run.trace is not None for c in found.candidates)
    return f"{count:,} arithmetics were tried; one that is not known here may give the same too."


def returned_sentence(found: Identification) -> str:
    """Where ONNX Runtime's own output is another one, with the inputs there; "" where that tensor is no output."""
    returned = found.returned
    run = returned.run
    engine = f"ONNX Runtime {run.version}"
    if run.status is not RunStatus.OK:
        message = run.message.splitlines()[0] if run.message else ""
        return f"{engine} {ENDED[run.status]}{f': {message}' if message else ''}"
    if not run.repeatable:
        return f"{engine} gave two outputs in two runs of this case."
    if returned.mismatches < 0:
        return ""
    if returned.first is None:
        return f"{engine} returned the same here."
    value = returned.run.outputs[found.tensor][returned.first]
    at = index_text(found.tensor, returned.first)
    mine = _value(found.output[returned.first])
    noun = "code" if is_integer(found.output.dtype) else "value"
    times = f"{returned.mismatches:,} of {found.output.size:,} {noun}s"
    first = "" if returned.mismatches == 1 else "first "
    where = "" if found.output.size == 1 else f" in {times}, {first}at {at}"
    there = _inputs_at(found.case, found.output.shape, returned.first)
    return (
        f"{engine} differs{where}: it returned {_value(value)}, yours is {mine}"
        f"{f' ({there})' if there else ''}."
    )


def _inputs_at(case: Case, shape: Index, index: Index) -> str:
    """``A = −8, B = −64``: the inputs of an element that stands alone; else ""."""
    if not elementwise(case.graph):
        return ""
    said = []
    for name, value in case.inputs.items():
        if not broadcasts(value.shape, shape):
            return ""
        at = np.broadcast_to(value, shape)[index]
        said.append(f"{name} = {_value(at)}")
    return ", ".join(said)


def swapped_sentence(found: Identification) -> str:
    """The hint that rows and columns may have been written the other way round; else ""."""
    if found.swapped is None:
        return ""
    return (
        f"With the last two axes swapped, {found.swapped.label} explains all of it: "
        "the values are expected with the last axis fastest."
    )


def separation_sentence(found: Identification) -> str:
    """Can those that explain it be told apart, and with what?"""
    if len(found.explaining) < 2 or found.explaining[0].run.of == RAN:
        return ""
    tried = f"{found.tried:,} further results that were tried"
    results = f"all {tried}" if found.tried else "all of these"
    if found.separation is None:
        return f"They gave the same in {results}, and with other scales and zero points too."
    if found.separation.parameters:
        return f"With these scales and zero points they gave the same in {results}; with others they part."
    return "They part on another input."


def names(group: Sequence[Candidate], limit: int = 3) -> str:
    """Who they are, in words; beyond ``limit`` by schemes."""
    return listed([c.label for c in group], limit)


def listed(labels: Sequence[str], limit: int = 3) -> str:
    """``exact, float64``; beyond ``limit`` a scheme's variants are counted: ``float64 (6 variants)``.

    Where a scheme with its own rounding is not among them, that is said: ``exact rounded otherwise (3 variants)``.
    """
    if len(labels) > limit:
        schemes: dict[str, list[str]] = {}
        for label in labels:
            schemes.setdefault(label.partition(" (")[0], []).append(label)
        labels = [
            of[0] if len(of) == 1 else f"{scheme}{_otherwise(scheme, of)} ({len(of)} variants)"
            for scheme, of in schemes.items()
        ]
    return ", ".join(labels[:-1]) + (" and " if len(labels) > 1 else "") + labels[-1]


def _otherwise(scheme: str, labels: Sequence[str]) -> str:
    """`` rounded otherwise`` where the scheme itself is known, and only variants of it are among the labels."""
    own = not scheme.startswith("ort_cpu") and scheme in variants() and scheme not in labels
    return " rounded otherwise" if own else ""


def answers(separation: Separation) -> tuple[tuple[str, str], ...]:
    """(values, who gives them) of the input that tells them apart."""
    return tuple(
        (", ".join(_value(v) for v in values), listed(labels, 8))
        for values, labels in separation.answers
    )


def where(separation: Separation) -> str:
    """``C[0]``; ``C[0], C[1], C[2]``: the elements that tell."""
    return ", ".join(index_text(separation.tensor, index) for index in separation.indexes)


def inputs(separation: Separation) -> tuple[tuple[str, str], ...]:
    """(name, values) of what is to be run: every input, and the parameters where they are others."""
    tensors = dict(separation.case.inputs)
    if separation.parameters:
        tensors |= {
            name: value
            for name, value in separation.case.graph.constants.items()
            if value.size <= FEW
        }
    return tuple((name, _values(value)) for name, value in tensors.items())


def group_words(found: Identification, group: Sequence[Candidate]) -> str:
    """``= all 65,536 codes``, or ``≠ 3 of 65,536 codes, first at C[0, 3]: 41, yours 40``."""
    first, size = group[0], found.output.size
    further = f"{first.further:,} of " if found.further > 1 else ""
    beside = f"{further}the {_further(found)}" if first.further else ""
    if first.mismatches == 0:
        same = f"= {_noun(found, size)}"
        return f"{same}, but ≠ {beside}" if beside else same
    if first.first is None or first.run.trace is None:
        return "another shape"
    traced = first.run.trace
    value = traced.outputs.get(found.tensor, traced.tensors[found.tensor])[first.first]
    mine = found.output[first.first]
    at = index_text(found.tensor, first.first)
    return (
        f"≠ {first.mismatches:,} of {_counted(found, size)}{f' and {beside}' if beside else ''}, first at {at}: "
        f"{_value(value)}, yours {_value(mine)}"
    )


def nodes_at_first(found: Identification) -> tuple[ElementNode, ...]:
    """The nodes to the first element that the best candidate does not explain; () where it explains all."""
    best = found.best
    if best is None or best.first is None or best.run.trace is None:
        return ()
    steps = way(best.run.graph, best.run.trace, found.tensor, best.first)
    return tuple(
        ElementNode(number, best.run.graph.nodes[number].op_type, name, at, (best.run,), None)
        for number, name, at in steps
    )


def c_command(found: Identification, case: str) -> str:
    """The command that writes the first arithmetic that explains it in C; "" where none does. ``case`` names it."""
    if not found.explaining:
        return ""
    # ONNX Runtime's own where it returned the same; else a scheme itself before its variants.
    same = found.returned.mismatches == 0
    first = min(
        found.explaining, key=lambda c: (same and c.scheme.name != "ort_cpu", "(" in c.label)
    )
    words = ["python", "-m", "qlab", "c", case]
    if first.run.of == RAN:
        return shlex.join([*words, "--cpu", first.scheme.cpu])
    label, of_fused, _ = first.label.partition(" of the fused form")
    return shlex.join([*words, "--scheme", label, *(["--fused"] if of_fused else [])])


def identification_text(found: Identification, case: str = "CASE") -> str:
    """Everything for the terminal. ``case``: what the person called it."""
    lines = [headline(found)]
    lines += filter(
        None, (limits_sentence(found), swapped_sentence(found), returned_sentence(found))
    )
    separation = found.separation
    sentence = separation_sentence(found)
    if sentence:
        lines.append(sentence + (" Run this one:" if separation is not None else ""))
    if separation is not None:
        # With the sign that a program reads.
        lines += [f"    {name} = {value}".replace("−", "-") for name, value in inputs(separation)]
        lines += [f"  if {where(separation)} is"]
        lines += [f"    {value}: you are {who}" for value, who in answers(separation)]
    lines.append("")
    for group in found.groups[:SHOWN]:
        lines.append(f"  {group_words(found, group)}")
        lines.append(f"      {names(group, 99)}")
    if len(found.groups) > SHOWN:
        lines.append(f"  and {len(found.groups) - SHOWN} other results, further away")
    lines += [
        f"  not computed by {names(group)}: {why}" for why, group in without_result(found).items()
    ]
    nodes = nodes_at_first(found)
    if nodes:
        best = found.best
        assert best is not None
        lines += ["", f"The first that {best.label} does not explain:", trace_text(nodes)]
    if found.explaining:
        which = "In C" if len(found.explaining) == 1 else "One of them in C"
        lines += ["", f"{which}: {c_command(found, case)}"]
    return "\n".join(lines)


def without_result(found: Identification) -> dict[str, list[Candidate]]:
    """Reason → those that do not compute the case for it."""
    reasons: dict[str, list[Candidate]] = {}
    for candidate in found.candidates:
        if candidate.run.trace is None:
            reasons.setdefault(candidate.run.message, []).append(candidate)
    return reasons


def _further(found: Identification) -> str:
    return "further one" if found.further == 1 else f"{found.further:,} further ones"


def _noun(found: Identification, size: int) -> str:
    counted = _counted(found, size)
    return f"the one {counted[2:]}" if size == 1 else f"all {counted}"


def _counted(found: Identification, size: int) -> str:
    """``65,536 codes``, ``1 value``."""
    noun = "value" if is_float(found.output.dtype) else "code"
    return f"{size:,} {noun}{'' if size == 1 else 's'}"


def _value(value: object) -> str:
    return integer(value) if isinstance(value, int | np.integer) else show(value)


def _values(value: Array) -> str:
    flat = value.reshape(-1)
    shown = [show(v) if is_float(value.dtype) else integer(v) for v in flat[:FEW]]
    text = ", ".join(shown)
    return text if flat.size <= FEW else f"{text} … ({flat.size:,}; in the case's file)"
