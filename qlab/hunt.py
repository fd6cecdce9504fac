"""Hunt: search parameters and inputs for cases on which two sides differ; one find for each signature.

The work is cut into chunks, each a pure function of the hunt and the chunk's number, and merged in the order of the
numbers. So a seed and a number of chunks have the same finds, whatever number of processes did the work.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future

import numpy as np

from qlab.case import Case
from qlab.compare import differing
from qlab.engines.ort import run_ort_each
from qlab.engines.results import RunStatus, SessionConfig
from qlab.errors import CaseError
from qlab.probes import elementwise
from qlab.prospects import Quarry, prospect
from qlab.qtypes import Array
from qlab.separation import alone_of
from qlab.sides import Side, side
from qlab.signature import Signature, difference
from qlab.trace import Index, Number

PROSPECTS = 32  # of a chunk
CONFIRMED = 4  # elements of a chunk that are looked at wholly, which costs a full run of both sides
AHEAD = 2  # chunks in work for each process


@dataclasses.dataclass(frozen=True)
class Hunt:
    """What is hunted: everything that decides what is found, but for how long.

    Attributes:
        quarry: operator, form, types. expected, actual: names of the two sides. seed: from 0 on.
    """

    quarry: Quarry
    expected: str = "exact"
    actual: str = "onnxruntime"
    seed: int = 0

    def checked(self) -> "Hunt":
        """The same with the sides' full names.

        Raises:
            QlabError: there is no such operator, form, type or side, or both sides are one.
        """
        self.quarry.base()
        labels = [side(name).label for name in (self.expected, self.actual)]
        if labels[0] == labels[1]:
            raise CaseError(f"both sides are {labels[0]}: they cannot differ")
        if self.seed < 0:
            raise CaseError(f"seed {self.seed} must be 0 or more")
        return dataclasses.replace(self, expected=labels[0], actual=labels[1])


@dataclasses.dataclass(frozen=True)
class Find:
    """A case on which the sides differ, confirmed by full runs of both.

    Attributes:
        signature: what makes it another find than the others.
        output, index: the element. expected, actual: what each side has there. why: one sentence; "" where not known.
        prospect: the number of the case that it was found in.
    """

    signature: Signature
    case: Case
    output: str
    index: Index
    expected: Number
    actual: Number
    why: str
    prospect: int


@dataclasses.dataclass(frozen=True)
class Chunk:
    """What came of one chunk: codes compared, and the first find of each signature in it."""

    number: int
    compared: int
    differing: int
    finds: tuple[Find, ...]


@dataclasses.dataclass
class Bag:
    """What a hunt has so far, from the chunks before ``next``."""

    next: int = 0
    compared: int = 0
    differing: int = 0
    finds: dict[Signature, Find] = dataclasses.field(default_factory=dict)

    def add(self, chunk: Chunk) -> tuple[Find, ...]:
        """Merge the next chunk; returns the finds that are new."""
        assert chunk.number == self.next
        self.next += 1
        self.compared += chunk.compared
        self.differing += chunk.differing
        new = tuple(f for f in chunk.finds if f.signature not in self.finds)
        self.finds |= {f.signature: f for f in new}
        return new


def search(hunt: Hunt, number: int) -> Chunk:
    """One chunk. The same each time; may run in any process."""
    first = number * PROSPECTS
    cases = [prospect(hunt.quarry, hunt.seed, first + k) for k in range(PROSPECTS)]
    sides = side(hunt.expected), side(hunt.actual)
    results = [_outputs(one, cases) for one in sides]
    compared = wrong = looked = 0
    finds: dict[Signature, Find] = {}
    for k, case in enumerate(cases):
        expected, actual = results[0][k], results[1][k]
        for name in case.graph.outputs:
            if expected is None or actual is None or name not in expected or name not in actual:
                continue
            if expected[name].shape != actual[name].shape:
                continue
            compared += expected[name].size
            places = np.argwhere(differing(expected[name], actual[name]))
            wrong += len(places)
            for place in _apart(places, expected[name], actual[name]):
                if looked >= CONFIRMED:
                    break
                looked += 1
                found = _confirmed(case, sides, (name, place))
                if found is not None and found.signature not in finds:
                    finds[found.signature] = dataclasses.replace(found, prospect=first + k)
    return Chunk(number, compared, wrong, tuple(finds.values()))


def hunting(
    hunt: Hunt,
    bag: Bag,
    executor: Executor | None,
    *,
    jobs: int = 1,
    chunks: int | None = None,
    seconds: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Chunk, tuple[Find, ...]]]:
    """Hunt on from what is in the bag; yields each chunk as it is merged, with the finds that are new.

    Args:
        executor: where chunks are searched: processes, or a Dask cluster's; None is this process.
        jobs: how many are searched at a time. chunks: ends before the chunk of this number.
        seconds: ends after this time. stop: asked between chunks.
    """
    until = None if seconds is None else time.monotonic() + seconds

    def over() -> bool:
        return stop() or (until is not None and time.monotonic() > until)

    if executor is None:
        while (chunks is None or bag.next < chunks) and not over():
            chunk = search(hunt, bag.next)
            yield chunk, bag.add(chunk)
        return
    submitted = bag.next
    waiting: list[Future[Chunk]] = []
    try:
        while not over():
            while len(waiting) < jobs * AHEAD and (chunks is None or submitted < chunks):
                waiting.append(executor.submit(search, hunt, submitted))
                submitted += 1
            if not waiting:
                return
            try:
                chunk = waiting[0].result(timeout=0.1)
            except TimeoutError:
                continue
            waiting.pop(0)
            yield chunk, bag.add(chunk)
    finally:
        for future in waiting:
            future.cancel()


def _outputs(one: Side, cases: Sequence[Case]) -> list[dict[str, Array] | None]:
    """What a side gives for each case; None where it has no result."""
    if one.engine == "onnxruntime" and all(_free(case) for case in cases):
        return _in_one_session(one, cases)
    results = (one.run(case, once=True) for case in cases)
    return [None if r.message else dict(r.outputs) for r in results]


def _free(case: Case) -> bool:
    """One operator of its own whose parameters can be fed: it has nothing that an optimizer could rewrite."""
    return len(case.graph.nodes) == 1 and elementwise(case.graph)


def _in_one_session(one: Side, cases: Sequence[Case]) -> list[dict[str, Array] | None]:
    """ONNX Runtime with scales and zero points fed instead of constant: one session for many parameters."""
    graph = cases[0].graph
    names = tuple(graph.constants)
    free = dataclasses.replace(graph, constants={}, inputs=(*graph.inputs, *names))
    feeds = [{**case.inputs, **case.graph.constants} for case in cases]
    fed = dataclasses.replace(cases[0], graph=free, inputs=feeds[0], expected={})
    config = SessionConfig(one.level)
    runs = run_ort_each(fed, feeds, config, cpu=one.cpu, version=one.version, timeout=60.0)
    return [dict(r.outputs) if r.status is RunStatus.OK else None for r in runs]


def _apart(places: Array, expected: Array, actual: Array) -> list[Index]:
    """The first element above and the first below: two kinds of difference at most have a chance to be seen."""
    found: dict[bool, Index] = {}
    for place in places[:256]:
        index = tuple(int(i) for i in place)
        found.setdefault(bool(actual[index] > expected[index]), index)
        if len(found) == 2:
            break
    return list(found.values())


def _confirmed(case: Case, sides: tuple[Side, Side], at: tuple[str, Index]) -> Find | None:
    """The element alone where it can stand alone, computed wholly by both sides; None where they agree there."""
    alone = alone_of(case, (at[1],)) if elementwise(case.graph) else case
    found = difference(alone, *(one.run(alone) for one in sides), at=at if alone is case else None)
    compared = next((c for c in found.comparisons if c.output == found.output), None)
    if found.signature is None or compared is None or compared.size < 0:
        return None
    operators = ", ".join(dict.fromkeys(node.op_type for node in alone.graph.nodes))
    named = dataclasses.replace(
        alone, title=f"{operators}: found by a hunt", note=f"{found.signature}: {found.why}"
    )
    return Find(
        found.signature,
        named,
        found.output,
        found.index,
        compared.expected_codes[found.index],
        compared.actual_codes[found.index],
        found.why,
        0,
    )
