"""Which optimizer pass changes a result: found by switching passes off and running."""

import dataclasses
import itertools
from collections.abc import Mapping

from qlab.case import Case
from qlab.engines.ort import run_ort
from qlab.engines.results import EngineRun, RunStatus, SessionConfig
from qlab.graph import same_outputs

MOST_RUNS = 200


@dataclasses.dataclass(frozen=True)
class PassSearch:
    """What switching passes off gave.

    Attributes:
        plain: the run at ORT_DISABLE_ALL. optimized: the run at the level. restored: the run with ``disabled``.
        changed: the passes that changed the graph at the level, by ONNX Runtime's log, in their order.
        disabled: the smallest set of them without which the result is that of ``plain``; () where there is none.
        runs: how many runs it took.
    """

    plain: EngineRun
    optimized: EngineRun
    changed: tuple[str, ...]
    disabled: tuple[str, ...]
    restored: EngineRun | None
    runs: int

    @property
    def differs(self) -> bool:
        """True where the level gives another result than ORT_DISABLE_ALL."""
        return not _same(self.plain, self.optimized)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        level = self.optimized.config.level
        if not self.differs:
            return f"{level} gives what ORT_DISABLE_ALL gives: no pass changes the result."
        if self.disabled:
            names = " and ".join(self.disabled)
            return f"With {names} switched off {level} gives what ORT_DISABLE_ALL gives."
        if not self.changed:
            return f"{level} differs from ORT_DISABLE_ALL, and this release's log names no pass."
        return (
            f"{level} differs from ORT_DISABLE_ALL, and switching off what changed the graph "
            f"({', '.join(self.changed)}) does not mend it."
        )


def which_pass(
    case: Case,
    level: str = "ORT_ENABLE_ALL",
    *,
    version: str = "",
    cpu: str = "this",
    entries: Mapping[str, str] | None = None,
    timeout: float = 20.0,
) -> PassSearch:
    """Find the smallest set of ``disabled_optimizers`` that restores the result of ORT_DISABLE_ALL.

    Sets are tried by their size, so the first that restores it is the smallest; at most 200 runs.

    Raises:
        QlabError: an unknown level or CPU, or a release's name without its form.
    """
    runs = 0

    def run(at: str, disabled: tuple[str, ...] = ()) -> EngineRun:
        nonlocal runs
        runs += 1
        config = SessionConfig(at, dict(entries or {}), disabled)
        return run_ort(case, config, cpu=cpu, version=version, timeout=timeout)

    plain, optimized = run("ORT_DISABLE_ALL"), run(level)
    changed = optimized.passes
    if _same(plain, optimized) or not changed:
        return PassSearch(plain, optimized, changed, (), None, runs)
    for size in range(1, len(changed) + 1):
        for disabled in itertools.combinations(changed, size):
            if runs >= MOST_RUNS:
                return PassSearch(plain, optimized, changed, (), None, runs)
            tried = run(level, disabled)
            if _same(plain, tried):
                return PassSearch(plain, optimized, changed, disabled, tried, runs)
    return PassSearch(plain, optimized, changed, (), None, runs)


def _same(a: EngineRun, b: EngineRun) -> bool:
    if RunStatus.OK not in (a.status, b.status):
        return a.status == b.status
    return a.status == b.status and same_outputs(a.outputs, b.outputs)
