"""Real installs, where the package index can be reached: set QLAB_REQUIRE_NETWORK=1 to fail where it cannot."""

import dataclasses
import os

import numpy as np
import pytest

from qlab.bisection import bisect
from qlab.engines.pool import end_workers
from qlab.export.archive import export
from qlab.gallery import gallery_case
from qlab.history import elsewhere, versions_of
from qlab.matrix import Column, Matrix, columns
from qlab.runtimes import store
from qlab.runtimes.installer import InstallError
from qlab.session import run

OLD, FIRST_RIGHT = "1.26.0", "1.27.0"


@pytest.fixture(scope="module", autouse=True)
def runtimes():
    """The two releases between which most of the gallery changed, in the user's cache."""
    try:
        for version in (OLD, FIRST_RIGHT):
            store.add(version)
    except InstallError as error:
        if os.environ.get("QLAB_REQUIRE_NETWORK") == "1":
            raise
        pytest.skip(f"no other release can be installed here: {error}")
    yield
    end_workers()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("qlinearconv-per-channel-zero-points", "failed"),
        ("qdq-conv-bias-scale", "12 of 12 codes, by up to 119 steps"),
    ],
)
def test_the_last_release_that_is_wrong_and_the_first_that_is_right(name, words):
    matrix = Matrix(gallery_case(name))
    history = bisect(
        (OLD, FIRST_RIGHT, store.installed_version()), lambda v: matrix.cell(v, Column())
    )
    assert (
        history.sentences[0]
        == f"Mended in {FIRST_RIGHT}: last bad {OLD} ({words}), first good {FIRST_RIGHT} (equal)."
    )
    assert history.monotonic


def test_the_pass_that_ignores_the_bias_scale():
    matrix = Matrix(gallery_case("qdq-conv-bias-scale"))
    found = versions_of(matrix, (OLD, FIRST_RIGHT), columns())
    signs = [found.cell(OLD, column).sign for column in columns()]
    assert signs == ["=", "=", "≠", "≠"]
    wrong = found.cell(OLD, columns()[-1]).run.outputs["y"].reshape(-1)[::4]
    assert wrong.tolist() == np.array([0, 0, 0.05], np.float32).tolist()
    assert found.passes.disabled == ("QDQSelectorActionTransformer",)
    right = found.passes.restored.outputs["y"].reshape(-1)[::4]
    assert right.tolist() == np.array([0.05, 1.35, 6], np.float32).tolist()


def test_the_script_is_run_on_the_release_that_the_report_is_about():
    case = gallery_case("qdq-conv-bias-scale")
    report = run(case, version=OLD)
    assert report.ort_explained is True
    found = versions_of(Matrix(case), [OLD], columns(), searched=(OLD, FIRST_RIGHT))
    said = elsewhere(found)
    assert said[0].startswith(f"At ORT_ENABLE_ALL: mended in {FIRST_RIGHT}: last bad {OLD} (12 of")
    assert any("EXTENDED, ALL" in sentence and OLD in sentence for sentence in said)
    assert any("QDQSelectorActionTransformer switched off" in sentence for sentence in said)
    made = export(dataclasses.replace(report, elsewhere=said), times=1)
    assert made.command.startswith("uv run ")
    assert made.verification.by_uv
    assert "mended in" in made.files["report.md"].decode()
    assert made.sentence == f"ran 1 of 1 times on onnxruntime {OLD}, difference reproduced"
    assert (
        f"uv run --no-project --python 3.11 --with onnxruntime=={OLD}"
        in made.files["README.txt"].decode()
    )
