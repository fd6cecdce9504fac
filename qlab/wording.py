"""What the verdict's sentences are made of: engines, counts and values in words."""

from collections.abc import Sequence

from qlab.compare import Comparison
from qlab.engines.results import EngineRun
from qlab.notation import integer, show
from qlab.qtypes import Array, is_float
from qlab.report import Report

SHOWN = 4  # values listed in a sentence
FAR = 2**20  # a distance in units in the last place that tells nobody anything


def engine(run: EngineRun) -> str:
    """``ONNX Runtime 1.32.0``, with the CPU where that is emulated."""
    emulated = f" (on an emulated {run.cpu} CPU)" if run.emulated else ""
    return f"ONNX Runtime {run.version}{emulated}"


def reference(report: Report) -> str:
    """What the outputs are compared with."""
    compared = report.comparisons[0].expected if report.comparisons else "exact"
    return "exact arithmetic" if compared == "exact" else "the expected result"


def values_text(values: Array, limit: int = SHOWN) -> str:
    """The first values of a result: ``0, 0, 0.05``; repeats along the end are not cut, only the count is."""
    flat = values.reshape(-1)
    shown = [show(v) if is_float(values.dtype) else integer(v) for v in flat[:limit]]
    return ", ".join(shown) + (" …" if flat.size > limit else "")


def _unit(c: Comparison) -> str:
    unit = {"step": "step", "ulp": "unit in the last place"}[c.unit]
    if c.max_difference == 1:
        return f"1 {unit}"
    return f"{c.max_difference:,} {unit.replace('unit', 'units') if c.unit == 'ulp' else 'steps'}"


def count(c: Comparison) -> str:
    """``3 of 9 codes differ, by up to 6,294 steps``."""
    verb = "differs" if c.mismatches == 1 else "differ"
    by = "by" if c.mismatches == 1 else "by up to"
    of = "codes" if c.size != 1 else "code"
    if c.unit == "ulp":
        of = f"values of {c.output}" if c.size != 1 else f"value of {c.output}"
        if c.max_difference >= FAR:
            return f"{c.mismatches:,} of {c.size:,} {of} {verb}"
    return f"{c.mismatches:,} of {c.size:,} {of} {verb}, {by} {_unit(c)}"


def distinct(values: Array) -> Array:
    """One value a channel where a channel is constant: 0, 0, 0.05 instead of four of each."""
    if values.ndim < 3 or values.size == 0:
        return values
    per_channel = values.reshape(values.shape[0] * values.shape[1], -1)
    constant = bool((per_channel == per_channel[:, :1]).all())
    return per_channel[:, 0] if constant else values


def how_much(comparisons: Sequence[Comparison]) -> str:
    """All outputs of a run in few words: ``equal``, ``8 of 64 codes, by up to 18 steps``."""
    wrong = [c for c in comparisons if not c.equal]
    if not wrong:
        return "equal"
    if any(c.size < 0 for c in wrong):
        return "other shape or type"
    differing, size = sum(c.mismatches for c in wrong), sum(c.size for c in comparisons)
    largest = max(wrong, key=lambda c: c.max_difference)
    noun = "code" if largest.unit == "step" else "value"
    counted = f"{differing:,} of {size:,} {noun}{'' if size == 1 else 's'}"
    if largest.unit == "ulp" and largest.max_difference >= FAR:
        return counted
    return f"{counted}, {'by' if differing == 1 else 'by up to'} {_unit(largest)}"
