"""Runtimes: whole or not there; found, made, removed. The installer is a stand-in here; tests/runtimes/test_live.py has the real one."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from qlab.errors import QlabError
from qlab.runtimes import installer, store
from qlab.runtimes.installer import InstallError
from qlab.runtimes.store import MissingRuntimeError

OTHER = "1.25.1"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("QLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("QLAB_INSTALL", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def uv(monkeypatch):
    """A stand-in for uv; returns the calls. A call of ``fail`` raises it."""
    calls = []
    fail = []

    def call(arguments, what, *, stop=None):
        calls.append(arguments)
        if arguments[0] == "venv":
            python = Path(arguments[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.write_bytes(bytes(1000))
        elif fail:
            raise InstallError(f"{what}: {fail[0]}")
        return ""

    monkeypatch.setattr(installer, "call", call)
    monkeypatch.setattr(installer, "run", lambda arguments, what, *, stop=None: f"{OTHER}\n")
    call.calls, call.fail = calls, fail
    return call


def leftovers(cache):
    return sorted(p.name for p in (cache / "runtimes").iterdir() if p.is_dir())


def test_the_installed_one_is_always_there():
    runtime = store.find()
    assert (runtime.python, runtime.folder) == (sys.executable, None)
    assert store.find(runtime.version) == runtime
    assert store.here() == (runtime,)
    assert store.add(runtime.version) == runtime
    with pytest.raises(QlabError, match="is the one qlab was installed with; it stays"):
        store.remove(runtime.version)


def test_one_that_is_not_here_says_how_to_get_it():
    with pytest.raises(MissingRuntimeError, match=r"python -m qlab runtimes add 1\.25\.1$"):
        store.find(OTHER)
    with pytest.raises(MissingRuntimeError, match=r"runtimes add 1\.25\.1 --cpu arm64$"):
        store.find(OTHER, "arm64")


def test_made_listed_and_removed(cache, uv):
    said = []
    runtime = store.add(OTHER, progress=said.append)
    assert runtime == store.find(OTHER)
    assert runtime.size == 1000
    assert leftovers(cache) == [OTHER]
    assert store.versions_here() == (OTHER, store.installed_version())
    assert any("downloading" in words for words in said)
    asked = len(uv.calls)
    assert store.add(OTHER) == runtime
    assert len(uv.calls) == asked
    assert store.remove(OTHER) == 1000
    assert leftovers(cache) == []


def test_a_failed_install_leaves_nothing(cache, uv):
    uv.fail.append("the package index cannot be reached")
    with pytest.raises(InstallError, match=r"onnxruntime 1\.25\.1: the package index"):
        store.add(OTHER)
    assert leftovers(cache) == []
    assert store.versions_here() == (store.installed_version(),)


def test_another_python_is_tried_where_there_is_no_wheel(uv):
    uv.fail.append("has no wheel for this Python and platform")
    with pytest.raises(InstallError, match="has no wheel"):
        store.add(OTHER)
    pythons = {a[a.index("--python") + 1] for a in uv.calls if a[0] == "venv"}
    assert {"3.12", "3.13", "3.14"} <= pythons


def test_a_release_that_is_another_than_asked_for_is_not_kept(cache, uv, monkeypatch):
    monkeypatch.setattr(installer, "run", lambda *_, **__: "1.0.0\n")
    with pytest.raises(InstallError, match="says it is"):
        store.add(OTHER)
    assert leftovers(cache) == []


def test_what_a_killed_install_left_is_never_taken_for_whole(cache, uv):
    half = cache / "runtimes" / OTHER / "bin"
    half.mkdir(parents=True)
    (half / "python").touch()
    (cache / "runtimes" / f"{OTHER}.making").mkdir()
    with pytest.raises(MissingRuntimeError):
        store.find(OTHER)
    assert store.add(OTHER).version == OTHER
    assert leftovers(cache) == [OTHER]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "1.25.1"}', '{"version": "1.27.0", "machine": "native", "python": "bin/python", "size": 1}'])  # fmt: skip
def test_a_description_that_is_damaged_is_no_runtime(cache, text):
    folder = cache / "runtimes" / OTHER
    folder.mkdir(parents=True)
    (folder / "runtime.json").write_text(text)
    assert store.versions_here() == (store.installed_version(),)
    assert store.prune() == len(text)
    assert leftovers(cache) == []


def test_prune_keeps_what_is_whole(cache, uv):
    store.add(OTHER)
    (cache / "runtimes" / "1.27.0.making").mkdir()
    assert store.prune() == 0
    assert leftovers(cache) == [OTHER]
    assert store.prune(everything=True) >= 1000
    assert leftovers(cache) == []


def test_installing_can_be_turned_off(monkeypatch, uv):
    monkeypatch.setenv("QLAB_INSTALL", "off")
    with pytest.raises(InstallError, match="installing is turned off here"):
        store.add(OTHER)
    assert uv.calls == []


def test_a_version_is_checked_before_anything_is_run(uv):
    with pytest.raises(QlabError, match="is no release"):
        store.add("1.25.1 --index-url http://x")
    assert uv.calls == []


def test_a_full_disk_is_said_before_it_is_filled(monkeypatch, uv):
    monkeypatch.setattr(store, "_NEEDED", 10**18)
    with pytest.raises(InstallError, match=r"MB are free, [\d,]+ are needed"):
        store.add(OTHER)
    assert uv.calls == []


def test_two_that_ask_at_once_make_it_once(uv):
    threads = [threading.Thread(target=store.add, args=(OTHER,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [a[0] for a in uv.calls] == ["venv", "pip"]


HOLD = """
import sys, time
from qlab.runtimes import store
with store._locked("1.25.1"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_another_process_is_waited_for_and_its_death_frees_the_lock(uv):
    root = Path(store.__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, env=environment
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        said = []

        def heard(words):
            said.append(words)
            holder.kill()

        assert store.add(OTHER, progress=heard).version == OTHER
    assert "1.25.1: another process is making it; waiting" in said


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path, monkeypatch, uv):
    (tmp_path / "file").touch()
    monkeypatch.setenv("QLAB_CACHE", str(tmp_path / "file"))
    with pytest.raises(InstallError, match="cannot be written|file"):
        store.add(OTHER)


def test_the_description_says_what_it_is(cache, uv):
    store.add(OTHER)
    described = json.loads((cache / "runtimes" / OTHER / "runtime.json").read_text())
    assert described["version"] == OTHER
