"""A shrunk case as text: what differs in it, each step, what does not matter, the nearest case that agrees."""

from qlab.notation import show
from qlab.reductions.search import repeatable
from qlab.shrink import Shrunk, size_of
from qlab.views.markup import index_text
from qlab.views.terminal import table

MOST_VALUES = 8  # of a tensor that are written out


def headline(found: Shrunk) -> str:
    """What differs in the smallest case, in one sentence."""
    seen = found.difference
    who = f"{seen.actual.side.label} against {seen.expected.side.label}"
    if not seen.comparisons:
        return f"{who}: {seen.why}"
    differing = next(c for c in seen.comparisons if not c.equal)
    what = differing.why
    if seen.index or differing.size == 1:
        at = seen.index or (0,) * differing.actual_codes.ndim
        codes = differing.actual_codes[at], differing.expected_codes[at]
        place = index_text(differing.codes, at) if at else differing.codes
        what = f"{place} is {show(codes[0])} instead of {show(codes[1])}"
    return f"{who}: {what}" + (f": {seen.why}" if seen.why and seen.why != what else "")


def summary(found: Shrunk) -> str:
    """How much smaller it is, and how that was found."""
    before, after = size_of(found.given.case), size_of(found.case)
    tried = f"{found.trials:,} case" + ("s were tried" if found.trials != 1 else " was tried")
    if not found.steps:
        return f"Nothing could be made smaller: {after}; {tried}" + _ended(found)
    return f"From {before} to {after}; {tried}" + _ended(found)


def _ended(found: Shrunk) -> str:
    return (
        f". The search ended early: {found.ended}; a smaller one may exist." if found.ended else "."
    )


def signature(found: Shrunk) -> str:
    """What each step has kept."""
    if not repeatable(found.given):
        return "What every step keeps: the result is another one when it is run again."
    return f"Every step has the same signature: {found.given.signature}."


def agreement(found: Shrunk) -> str:
    """The nearest case that agrees, in one sentence."""
    if found.agreement is None:
        return "No near case was found on which both agree."
    return f"The nearest case on which both agree: {found.agreement.words}."


def tensors(found: Shrunk) -> list[tuple[str, str, str, str]]:
    """Name, type, shape and values of each input and constant of the smallest case."""
    case = found.case
    return [
        (
            name,
            str(value.dtype),
            " × ".join(map(str, value.shape)) or "one",
            ", ".join(show(v) for v in value.reshape(-1)[:MOST_VALUES])
            + (f" … ({value.size:,})" if value.size > MOST_VALUES else ""),
        )
        for name, value in (*case.inputs.items(), *case.graph.constants.items())
    ]


def step_rows(found: Shrunk) -> list[tuple[str, str, str, str, str]]:
    """Number, words, nodes, values and entries away from zero, of each step."""
    return [
        (
            str(number),
            step.words,
            f"{step.size.nodes:,}",
            f"{step.size.values:,}",
            f"{step.size.moving:,}",
        )
        for number, step in enumerate(found.steps, 1)
    ]


STEP_HEAD = ("", "step", "nodes", "values", "away from zero point")


def shrunk_text(found: Shrunk) -> str:
    """All of it for a terminal."""
    lines = [f"{headline(found)}.", summary(found)]
    nodes = " → ".join(node.qualified_name for node in found.case.graph.nodes)
    lines += ["", f"The smallest case found: {nodes}"]
    lines += [f"  {line}" for line in table(("tensor", "type", "shape", "values"), tensors(found))]
    if found.steps:
        lines += ["", *table(STEP_HEAD, step_rows(found), right=(0, 2, 3, 4)), signature(found)]
    if found.variations:
        lines += ["", *(f"{v.sentence[:1].upper()}{v.sentence[1:]}." for v in found.variations)]
    return "\n".join([*lines, "", agreement(found)])
