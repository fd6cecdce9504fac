"""record: the gallery's runs are written with where and when; what was there stays."""

from qlab.__main__ import main
from qlab.engines.results import LEVELS
from qlab.formats.recording_json import recording_from_json
from qlab.gallery import gallery_case
from qlab.runtimes.store import installed_version

NAME = "qlinearadd-off-by-one"


def _recorded(folder):
    return recording_from_json((folder / f"{NAME}.json").read_text(), gallery_case(NAME))


def test_a_case_is_recorded_here(tmp_path, capsys):
    assert main(["record", NAME, "--cpu", "this", "--out", str(tmp_path)]) == 0
    assert "runs of 1 case recorded" in capsys.readouterr().out
    runs = [r for r in _recorded(tmp_path) if r.run.version == installed_version()]
    assert [r.run.config.level for r in runs] == list(LEVELS)
    assert all(r.machine and not r.run.emulated for r in runs)


def test_what_is_not_run_again_stays(tmp_path):
    whole = _source(NAME)
    (tmp_path / f"{NAME}.json").write_text(whole)
    before = _recorded(tmp_path)
    version = installed_version()
    arguments = ["record", NAME, "--cpu", "this", "--runtime", version, "--out", str(tmp_path)]
    assert main(arguments) == 0
    after = _recorded(tmp_path)
    renewed = {(version, r.run.cpu) for r in after if not r.run.emulated}
    kept = [r for r in before if (r.run.version, r.run.cpu) not in renewed]
    places = {(r.run.version, r.run.cpu, r.date) for r in after}
    assert places >= {(r.run.version, r.run.cpu, r.date) for r in kept}


def test_what_cannot_be_recorded_is_said(tmp_path, capsys):
    assert main(["record", "no-such-case"]) == 2
    assert main(["record", NAME, "--runtime", "1.99.0", "--cpu", "this"]) == 2
    assert "runtimes add 1.99.0" in capsys.readouterr().err
    for seconds in ("0", "nan", "inf", "-1"):
        assert main(["record", NAME, "--timeout", seconds]) == 2
        assert "must be above 0" in capsys.readouterr().err
    assert main(["record", NAME, "--out", ""]) == 2
    assert "no folder is named" in capsys.readouterr().err
    (tmp_path / f"{NAME}.json").write_bytes(b"\xff")
    assert main(["record", NAME, "--out", str(tmp_path)]) == 2
    assert f"{NAME}.json: is no recording" in capsys.readouterr().err
    (tmp_path / f"{NAME}.json").write_text(_source("quantizelinear-half-even"))
    assert main(["record", NAME, "--out", str(tmp_path)]) == 2
    assert "was recorded of a case with other numbers; remove it" in capsys.readouterr().err
    file = tmp_path / "file"
    file.write_text("")
    assert main(["record", NAME, "--cpu", "this", "--out", str(file)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_run_that_timed_out_is_not_recorded(tmp_path, capsys):
    arguments = ["record", NAME, "--cpu", "this", "--runtime", installed_version()]
    assert main([*arguments, "--out", str(tmp_path), "--timeout", "0.000001"]) == 0
    out, err = capsys.readouterr()
    assert "0 runs of 1 case recorded" in out
    assert "not recorded; --timeout gives it longer" in err
    assert not (tmp_path / f"{NAME}.json").exists()


def _source(name):
    from importlib import resources

    return (resources.files("qlab.gallery") / "recorded" / f"{name}.json").read_text()
