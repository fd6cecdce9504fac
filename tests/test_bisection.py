"""Bisection over releases: few runs, every change between neighbours, and what came and went."""

import dataclasses

import numpy as np
import pytest

from qlab.bisection import bisect
from qlab.engines.results import EngineRun, RunStatus, SessionConfig
from qlab.gallery import gallery_case
from qlab.matrix import Cell, Column
from qlab.reference import exact_trace, reference_of
from qlab.runtimes.versions import RELEASES, key

CASE = gallery_case("qlinearadd-off-by-one")
REFERENCE = reference_of(CASE, exact_trace(CASE))


def cell(version, what):
    """A cell that is right, differs, fails or is not here."""
    if what == "missing":
        return Cell(version, Column(), None, message="not here")
    status = RunStatus.REJECTED if what == "fails" else RunStatus.OK
    code = {"right": -87, "differs": -88}.get(what)
    outputs = {} if code is None else {"C": np.full((1, 1, 1, 1), code, np.int8)}
    run = EngineRun("onnxruntime", version, SessionConfig(), status, outputs=outputs)
    return Cell(version, Column(), run, REFERENCE.compare(version, outputs) if outputs else ())


def search(states, **options):
    """Bisect over all releases; ``states`` is what each has, from the release named on."""
    asked = []

    def run(version):
        asked.append(version)
        name = max((v for v in states if key(v) <= key(version)), key=key)
        return cell(version, states[name])

    return bisect(RELEASES, run, **options), asked


@pytest.mark.parametrize("first_right", [*RELEASES[1:]])
def test_every_place_of_a_change_is_found_with_few_runs(first_right):
    history, asked = search({"1.11.0": "differs", first_right: "right"})
    (change,) = history.changes
    assert (change.before.version, change.after.version) == (
        RELEASES[RELEASES.index(first_right) - 1],
        first_right,
    )
    assert not change.holds_after
    assert history.monotonic
    assert len(asked) <= 2 + 6
    assert history.sentences[0].startswith(
        f"Mended in {change.after.version}: last bad {change.before.version} (1 of 1 code, by 1 step), first good"
    )


def test_a_regression():
    history, _ = search({"1.11.0": "right", "1.25.0": "fails"})
    assert (
        history.sentences[0]
        == "Regression since 1.25.0: last good 1.24.4 (equal), first bad 1.25.0 (refused)."
    )


def test_what_came_and_went_is_seen_by_a_release_between():
    states = {"1.11.0": "right", "1.20.0": "differs", "1.25.0": "right"}
    history, _ = search(states)
    assert history.changes == ()
    assert history.sentences[0] == "In no release that was run it is wrong."
    history, _ = search(states, first=["1.22.0"])
    assert [c.after.version for c in history.changes] == ["1.20.0", "1.25.0"]
    assert not history.monotonic
    assert any("not monotonic" in sentence for sentence in history.sentences)


def test_releases_that_are_not_here_are_skipped_and_named():
    history, _ = search(
        {"1.11.0": "missing", "1.15.0": "differs", "1.20.0": "missing", "1.21.0": "right"}
    )
    (change,) = history.changes
    assert (change.before.version, change.after.version) == ("1.19.2", "1.21.0")
    assert "1.20.0" in history.skipped
    assert "could not be judged" in history.sentences[-1]


def test_nothing_that_can_be_run_is_said():
    history, asked = search({"1.11.0": "missing"})
    assert history.sentences == ("No release could be judged.",)
    assert len(asked) == len(RELEASES)
    assert bisect((), lambda v: cell(v, "right")).sentences == ("No release could be judged.",)


@pytest.mark.parametrize(
    ("predicate", "states", "changed_at"),
    [
        ("fails", {"1.11.0": "fails", "1.20.0": "differs"}, "1.20.0"),
        ("differs", {"1.11.0": "right", "1.20.0": "differs"}, "1.20.0"),
        ("changed", {"1.11.0": "right", "1.20.0": "differs"}, "1.20.0"),
        ("changed", {"1.11.0": "fails", "1.20.0": "differs"}, "1.20.0"),
    ],
)
def test_predicates(predicate, states, changed_at):
    history, _ = search(states, predicate=predicate)
    assert [c.after.version for c in history.changes] == [changed_at]


def test_a_failing_release_says_nothing_of_codes():
    history, _ = search({"1.11.0": "fails", "1.20.0": "differs"}, predicate="differs")
    assert history.changes == ()


def test_a_cell_says_it_in_words():
    assert [cell("1", w).words for w in ("right", "differs", "fails", "missing")] == [
        *("equal", "1 of 1 code, by 1 step", "refused", "not here"),
    ]
    varies = cell("1", "right")
    varies = dataclasses.replace(varies, run=dataclasses.replace(varies.run, repeatable=False))
    assert (varies.sign, varies.words, varies.wrong) == ("~", "not repeatable", True)
    assert dataclasses.replace(cell("1", "right"), comparisons=()).words == "ran"
