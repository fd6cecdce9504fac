"""A script in fresh processes: what is said of each way to end."""

import time

import pytest

from qlab.engines.ort import emulated_cpus
from qlab.export.verify import run_command, verify_script

DIFFERS = 'print("DIFFERENCE REPRODUCED")\n'
EQUAL = 'print("no difference")\n'


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (f"{DIFFERS}raise SystemExit(1)", "ran 3 of 3 times, difference reproduced"),
        (
            'print("REFUSAL REPRODUCED")\nraise SystemExit(1)',
            "ran 3 of 3 times, refusal reproduced",
        ),
        ('print("CRASH REPRODUCED")\nraise SystemExit(1)', "ran 3 of 3 times, crash reproduced"),
        (f"{EQUAL}raise SystemExit(0)", "ran 3 of 3 times, no difference on this machine"),
        (
            'print("it runs, no right result is known")',
            "ran 3 of 3 times, it runs, no right result is known",
        ),
        (
            "raise ValueError('no')",
            "ran 0 of 3 times, a run failed with exit status 1: ValueError: no",
        ),
        (f"{EQUAL}raise SystemExit(1)", "ran 0 of 3 times, a run failed with exit status 1: no difference"),
        (f"{DIFFERS}raise SystemExit(0)", "ran 0 of 3 times, a run failed with exit status 0: DIFFERENCE REPRODUCED"),
        ("raise SystemExit(5)", "ran 0 of 3 times, a run failed with exit status 5"),
        ("import os; os.abort()", "ran 0 of 3 times, 3 ended by signal 6"),
    ],
)  # fmt: skip
def test_how_it_ends(script, sentence):
    found = verify_script(script)
    assert found.sentence == sentence
    assert found.ok == sentence.startswith("ran 3")
    assert found.reproduced == sentence.endswith(" reproduced")


def test_a_script_that_does_not_end_is_ended_with_what_it_started(tmp_path):
    started = tmp_path / "started"
    code = f"import time; time.sleep(1); open({str(started)!r}, 'w')"
    script = f"import subprocess, sys\nsubprocess.call([sys.executable, '-c', {code!r}])"
    found = verify_script(script, times=2, timeout=0.5)
    assert found.sentence == "ran 0 of 2 times, a run did not end in time"
    time.sleep(0.8)
    assert not started.exists()


def test_runs_that_disagree_are_said():
    script = (
        "import os\n"
        "wrong = os.path.basename(os.getcwd()) == '1'\n"
        "print('DIFFERENCE REPRODUCED' if wrong else 'no difference')\n"
        "raise SystemExit(wrong)"
    )
    found = verify_script(script)
    assert found.sentence == (
        "ran 3 of 3 times, not the same each time: "
        "2 times no difference, 1 times difference reproduced"
    )
    assert not found.ok
    assert not found.reproduced


def test_a_warning_after_the_answer_does_not_hide_it():
    script = f"{DIFFERS}import sys, atexit\natexit.register(print, 'bye')\nsys.exit(1)"
    assert verify_script(script, times=1).reproduced


def test_a_script_sees_nothing_of_this_project():
    assert "No module named 'qlab'" in verify_script("import qlab", times=1).sentence


@pytest.mark.skipif(
    "avx2" not in emulated_cpus(), reason="qemu-user is not installed (apt install qemu-user)"
)
def test_on_another_cpu():
    found = verify_script(EQUAL, times=1, cpu="avx2")
    assert found.sentence == "ran 1 of 1 times on an emulated avx2 CPU, no difference"


def test_where_it_cannot_be_run_it_says_why(monkeypatch):
    found = verify_script(EQUAL, version="1.25.1", cpu="avx2")
    assert (found.ok, found.reproduced, found.output) == (False, False, "")
    assert found.sentence.startswith("was not run: onnxruntime 1.25.1 on an emulated avx2 CPU")
    monkeypatch.setenv("QLAB_INSTALL", "off")
    assert "installing is turned off" in verify_script(EQUAL, version="1.25.1").sentence


def test_the_command_for_a_release():
    assert " ".join(run_command("1.18.1")) == (
        "uv run --no-project --python 3.11 --with onnxruntime==1.18.1 --with numpy<2 --with onnx python"
    )
