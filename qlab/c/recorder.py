"""Which primitives of a scheme an operator called, with what arguments, and the steps that each of them yielded."""

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, cast

from qlab.case import Case
from qlab.errors import TraceError
from qlab.ops import Steps
from qlab.qtypes import Array
from qlab.schemes import Scheme
from qlab.trace import NodeTrace, Step, Trace, trace


@dataclasses.dataclass(frozen=True)
class Primitive:
    """One call of a scheme's primitive: arguments by name, its steps, the value that it returned."""

    name: str
    arguments: Mapping[str, Any]
    steps: tuple[Step, ...]
    value: Array

    def __getitem__(self, argument: str) -> Any:
        return self.arguments[argument]

    def step(self, name: str) -> Step:
        """A step by its name. Raises TraceError where there is none, with those that there are."""
        found = self.find(name)
        if found is None:
            raise TraceError(
                f"{self.name} has no step {name!r}; it has {', '.join(s.name for s in self.steps)}"
            )
        return found

    def find(self, name: str) -> Step | None:
        """A step by its name, None where there is none."""
        return next((s for s in self.steps if s.name == name), None)


class Recorder:
    """A scheme that computes as another one does and keeps every call of a primitive."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self.primitives: list[Primitive] = []

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._scheme, name)
        if not inspect.isgeneratorfunction(value):
            return value
        return lambda *given, **named: self._record(name, value, given, named)

    def _record(
        self, name: str, method: Any, given: tuple[Any, ...], named: dict[str, Any]
    ) -> Steps:
        bound = inspect.signature(method).bind(*given, **named)
        bound.apply_defaults()
        steps: list[Step] = []
        generator = method(*given, **named)
        while True:
            try:
                step = next(generator)
            except StopIteration as end:
                self.primitives.append(Primitive(name, bound.arguments, tuple(steps), end.value))
                return cast(Array, end.value)
            steps.append(step)
            yield step


def record(case: Case, scheme: Scheme) -> tuple[Trace, tuple[tuple[Primitive, ...], ...]]:
    """The trace of a case, and for each node of it the primitives that it called, in order."""
    recorder = Recorder(scheme)
    made = trace(case.graph, case.inputs, cast(Scheme, recorder))
    return made, _by_node(made.nodes, recorder.primitives)


def _by_node(
    nodes: tuple[NodeTrace, ...], primitives: list[Primitive]
) -> tuple[tuple[Primitive, ...], ...]:
    """Steps are told apart by identity: two nodes may yield equal ones.

    An operator that renames the steps of a primitive yields those of a later one as they are.
    """
    owner = {id(step): place for place, node in enumerate(nodes) for step in node.steps}
    found: list[list[Primitive]] = [[] for _ in nodes]
    waiting: list[Primitive] = []
    for primitive in primitives:
        waiting.append(primitive)
        place = next((owner[id(s)] for s in primitive.steps if id(s) in owner), None)
        if place is not None:
            found[place] += waiting
            waiting = []
    return tuple(tuple(called) for called in found)
