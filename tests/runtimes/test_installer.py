"""The installer's failures in words."""

import sys
import threading
import time

import pytest

from qlab.runtimes import installer
from qlab.runtimes.installer import InstallError, meaning, run


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "error: No solution found when resolving dependencies\n  cause: Because there is no version of "
            "onnxruntime==1.99.0 and you require onnxruntime==1.99.0, we can conclude",
            "there is no release 1.99.0 of onnxruntime",
        ),
        (
            "cause: Because onnxruntime==1.11.0 has no wheels with a matching Python ABI tag (e.g., `cp311`)",
            "has no wheel for this Python and platform",
        ),
        (
            "error: Failed to fetch: `https://a/simple/onnxruntime/`\n  cause: dns error",
            "the package index cannot be reached: a network is needed",
        ),
        ("error: failed to copy: No space left on device (os error 28)", "no space is left on the disk"),
        ("error: No interpreter found for Python 3.9 in managed installations", "no such Python"),
        ("warning: a\nerror: something new\n", "error: something new"),
        ("", "it ended without a word"),
    ],
)  # fmt: skip
def test_what_it_means(said, words):
    assert words in meaning(said)


def test_a_program_that_fails_is_one_line():
    program = "import sys; print('error: a\\nb'); sys.exit(1)"
    with pytest.raises(InstallError, match="^the thing: error: a$"):
        run([sys.executable, "-c", program], "the thing")


def test_a_program_that_is_not_here_is_one_line():
    with pytest.raises(InstallError, match="the thing: /nonexistent cannot be run"):
        run(["/nonexistent"], "the thing")


def test_it_can_be_stopped():
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    started = time.monotonic()
    with pytest.raises(InstallError, match="stopped"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], "the thing", stop=stop)
    assert time.monotonic() - started < 10


def test_a_python_is_looked_for_where_pythons_are(tmp_path, monkeypatch):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    path = tmp_path / "versions" / "3.9.1" / "bin" / "python"
    path.parent.mkdir(parents=True)
    path.touch()
    assert installer.interpreters("3.9") == [str(path), "3.9"]
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert installer.interpreters(own)[0] == sys.executable
