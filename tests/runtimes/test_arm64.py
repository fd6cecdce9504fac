"""The ARM64 system: what is missing is said; what is half made is never used."""

import pytest

from qlab.runtimes import arm64, installer
from qlab.runtimes.installer import InstallError

TARGETS = """\
Other bookworm http://mirror.example/other/
Debian bookworm-security http://mirror.example/debian-security/
Debian bookworm http://mirror.example/debian/
"""


@pytest.fixture
def apt(monkeypatch):
    monkeypatch.setattr(arm64.platform, "system", lambda: "Linux")
    monkeypatch.setattr(arm64.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(arm64.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(arm64, "_KEYRING", arm64.Path(__file__))
    monkeypatch.setattr(installer, "run", lambda *_, **__: TARGETS)


def test_the_mirror_is_the_machines_own(apt):
    assert arm64._mirror() == "http://mirror.example/debian"
    assert arm64.missing() == ""


def test_what_is_missing_is_said(apt, monkeypatch, tmp_path):
    monkeypatch.setattr(installer, "run", lambda *_, **__: "")
    assert "no mirror of Debian" in arm64.missing()
    monkeypatch.setattr(arm64, "_KEYRING", tmp_path / "none")
    assert "debian-archive-keyring" in arm64.missing()
    monkeypatch.setattr(arm64.shutil, "which", lambda _: None)
    assert "apt-get and dpkg-deb is not here" in arm64.missing()
    monkeypatch.setattr(arm64.platform, "machine", lambda: "riscv64")
    assert arm64.missing() == "it is set up on x86-64 Linux only"
    with pytest.raises(InstallError, match="the ARM64 system: it is set up on x86-64 Linux only"):
        arm64.set_up(tmp_path)


def test_a_failed_unpacking_leaves_nothing(apt, monkeypatch, tmp_path):
    def fail(making, progress, stop):
        making.mkdir()
        raise InstallError("the ARM64 system: no network")

    monkeypatch.setattr(arm64, "_unpack", fail)
    with pytest.raises(InstallError, match="no network"):
        arm64.set_up(tmp_path)
    assert arm64.system(tmp_path) is None
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]


def test_a_folder_without_its_description_is_no_system(tmp_path):
    (tmp_path / "arm64" / "root").mkdir(parents=True)
    assert arm64.system(tmp_path) is None
    (tmp_path / "arm64" / "system.json").write_text("{}")
    found = arm64.system(tmp_path)
    assert found.launcher[0].endswith("qemu-aarch64")
    assert found.python.endswith("/usr/bin/python3.11")
