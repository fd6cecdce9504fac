"""The search for the smallest case: takes what still differs in the same way, and keeps the steps."""

import hashlib
import re
import time
from collections.abc import Callable

from qlab.case import Case
from qlab.qtypes import dtype_name
from qlab.signature import Difference, Signature, difference


class Shrinking:
    """A `Search` that computes each candidate by both sides.

    Attributes:
        difference: of the smallest case so far. steps: words and case of each. trials: candidates computed.
        ended: why nothing more is tried; "" while there is no reason.
    """

    def __init__(
        self,
        first: Difference,
        signature: Signature,
        *,
        progress: Callable[[str], None] | None,
        stop: Callable[[], bool] | None,
        most_trials: int,
        seconds: float,
    ) -> None:
        self.difference = first
        self.steps: list[tuple[str, Case]] = []
        self.trials = 0
        self.ended = ""
        self._first, self._signature = first, signature
        self._progress, self._stop = progress, stop
        self._most, self._seconds = most_trials, seconds
        self._until = time.monotonic() + seconds
        self._seen = {_digest(first.case)}
        self._recorded = first.case

    @property
    def case(self) -> Case:
        """The smallest case so far."""
        return self.difference.case

    def offer(self, candidate: Case) -> bool:
        """Take a candidate that was not seen before where it differs in the same way."""
        digest = _digest(candidate)
        if digest in self._seen or not self.goes_on():
            return False
        self._seen.add(digest)
        found = self.compute(candidate)
        if not self.same(found):
            return False
        self.difference = found
        return True

    def record(self, words: str) -> None:
        """End a step, where something was taken since the last one."""
        if self.case is not self._recorded:
            self.steps.append((words, self.case))
            self._recorded = self.case
            self._say(words)

    def goes_on(self) -> bool:
        """False where a bound is met, or it was stopped; `ended` says which."""
        if not self.ended:
            if self._stop is not None and self._stop():
                self.ended = "it was stopped"
            elif self.trials >= self._most:
                self.ended = f"{self._most:,} cases were tried"
            elif time.monotonic() > self._until:
                self.ended = f"{self._seconds:g} seconds were over"
        return not self.ended

    def compute(self, candidate: Case) -> Difference:
        """Both sides on a case."""
        self.trials += 1
        if not self.trials % 20 and self.steps:
            self._say(self.steps[-1][0])
        expected, actual = self._first.expected.side, self._first.actual.side
        return difference(candidate, expected.run(candidate), actual.run(candidate))

    def same(self, found: Difference) -> bool:
        """True where a difference has the signature; a refusal must have the same reason, its numbers aside."""
        if not repeatable(self._first):
            return not repeatable(found)  # that is then what they have in common
        if found.signature != self._signature:
            return False
        refused = not found.comparisons and not self._first.comparisons
        return not refused or _reason(found.why) == _reason(self._first.why)

    def _say(self, words: str) -> None:
        if self._progress is not None:
            self._progress(f"{self.trials:,} cases tried; {words}")


def repeatable(found: Difference) -> bool:
    """False where an engine returned other values when it was run again."""
    return all(r.run is None or r.run.repeatable for r in (found.expected, found.actual))


def _reason(message: str) -> str:
    return re.sub(r"\d+", "", message)


def _digest(case: Case) -> bytes:
    """Of all that is computed: nodes, constants, inputs."""
    graph = case.graph
    hashed = hashlib.sha256(repr((graph.inputs, graph.outputs, dict(graph.opset))).encode())
    for node in graph.nodes:
        hashed.update(repr((node.qualified_name, node.inputs, node.outputs)).encode())
        for name, value in sorted(node.attributes.items()):
            hashed.update(name.encode())
            hashed.update(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode())
    for tensors in (graph.constants, case.inputs):
        for name, value in tensors.items():
            hashed.update(repr((name, dtype_name(value.dtype), value.shape)).encode())
            hashed.update(value.tobytes())
    return hashed.digest()
