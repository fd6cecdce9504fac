"""A script in fresh processes: what is said of each way to end."""

import pytest

from qlab.engines.ort import emulated_cpus
from qlab.export.verify import verify_script

SAYS = 'print("DIFFERENCE REPRODUCED")\n'


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (f"{SAYS}raise SystemExit(1)", "ran 3 of 3 times, difference reproduced"),
        ("raise SystemExit(0)", "ran 3 of 3 times, no difference on this machine"),
        ("raise ValueError('no')", "ran 0 of 3 times, a run ended with status 70: ValueError: no"),
        ("raise SystemExit(5)", "ran 0 of 3 times, a run ended with status 5: "),
        ("import os; os.abort()", "ran 0 of 3 times, 3 ended by signal 6"),
    ],
)
def test_how_it_ends(script, sentence):
    found = verify_script(script)
    assert found.sentence == sentence
    assert found.ok == sentence.startswith("ran 3")


def test_a_script_that_does_not_end_is_ended():
    found = verify_script("import time; time.sleep(60)", times=2, timeout=0.5)
    assert found.sentence == "ran 0 of 2 times, a run did not end in time"


def test_runs_that_disagree_are_said():
    script = f"import os\n{SAYS}raise SystemExit(os.path.basename(os.getcwd()) == '1')"
    assert verify_script(script).sentence == "ran 3 of 3 times, difference seen in 1 of them"


def test_a_script_sees_nothing_of_this_project():
    assert verify_script("import qlab", times=1).sentence.startswith("ran 0 of 1 times")


@pytest.mark.skipif(
    "avx2" not in emulated_cpus(), reason="qemu-user is not installed (apt install qemu-user)"
)
def test_on_another_cpu():
    found = verify_script("raise SystemExit(0)", times=1, cpu="avx2")
    assert found.sentence == "ran 1 of 1 times on an emulated avx2 CPU, no difference"
