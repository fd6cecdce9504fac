"""``python -m qlab c``: writes, compiles and runs; refuses in one line."""

import subprocess

import pytest

from qlab.__main__ import main
from qlab.c.program import COMPILE
from qlab.c.running import compiler
from tests.c.compiled import needs_compiler


def test_prints_the_file(capsys):
    assert main(["c", "qlinearadd-off-by-one", "--cpu", "avx2"]) == 0
    source = capsys.readouterr().out
    assert "void qlab_qlinearadd(const int8_t *A, const int8_t *B, int8_t *C)" in source
    assert source.isascii()
    assert max(map(len, source.splitlines())) < 200


@needs_compiler
@pytest.mark.parametrize("case", ["qlinearadd-off-by-one", "qdq-conv-bias-scale"])
def test_the_function_alone_compiles_and_is_checked_with_its_main(case, tmp_path, capsys):
    out = tmp_path / "only.c"
    options = [case, "--scheme", "float32", "--function"]
    assert main(["c", *options, "--out", str(out)]) == 0
    assert ": with its main compiled and run: 0 of " in capsys.readouterr().out
    source = out.read_text()
    assert "main" not in source
    assert len(source.splitlines()) < 300
    words = [*compiler(), *COMPILE.split()[1:], "-c", str(out), "-o", str(tmp_path / "only.o")]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    if case == "qdq-conv-bias-scale":
        assert "/* Of w_dq = DequantizeLinear(w, w_scale, w_zero_point): */" in source


@needs_compiler
@pytest.mark.parametrize(
    "options",
    [
        ["--scheme", "exact"],
        ["--scheme", "float32"],
        ["--scheme", "ort_cpu", "--cpu", "arm64"],
        ["--runtime", "1.31.0"],
    ],
)
def test_writes_compiles_and_runs(options, tmp_path, capsys):
    out = tmp_path / "add.c"
    assert main(["c", "qlinearadd-off-by-one", *options, "--out", str(out)]) == 0
    assert "codes differ from qlab's trace\n" in capsys.readouterr().out
    assert "LIMBS" in out.read_text() or options[1] != "exact"


@needs_compiler
def test_a_group_or_the_operator_in_its_place(tmp_path, capsys):
    out = tmp_path / "conv.c"
    for options, words in (
        (["--level", "ORT_DISABLE_ALL"], "void conv("),
        (["--fused"], "void qlinearconv("),
    ):
        assert main(["c", "qdq-conv-int8-rewritten", *options, "--out", str(out)]) == 0
        assert words in out.read_text()
        assert ": compiled and run: 0 of " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("qlinearmatmul-per-row-refused", "gives no output for this case"),
        ("qlinearmatmul-no-products", "does not predict what onnxruntime"),
    ],
)
def test_ort_cpu_is_written_only_where_it_was_checked(case, words, capsys):
    assert main(["c", case]) == 2
    assert words in capsys.readouterr().err
    assert main(["c", case, "--scheme", "exact"]) in (0, 2)


def test_the_graph_that_ran_is_written(capsys):
    assert main(["c", "qdq-conv-int8-rewritten"]) == 0
    assert "ran this graph and returned these codes" in " ".join(capsys.readouterr().out.split())


def test_without_a_compiler_it_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("qlab.c.running.compiler", list)
    assert main(["c", "qlinearadd-off-by-one", "--out", str(tmp_path / "a.c")]) == 0
    assert "not compiled and run: no C compiler" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--scheme", "half"], "unknown scheme 'half'; there are exact, float64"),
        (["--scheme", "exact", "--cpu", "sse"], "--cpu, --runtime and --level are for ort_cpu"),
        (["--runtime", "1.x"], "1.x"),
        (["--fused"], "is no QDQ group that one operator takes the place of"),
        (["--runtime", ""], "'' is no release of onnxruntime"),
        (["--out", ""], "--out : cannot be written"),
        (["--out", "/nowhere/at/all.c"], "cannot be written"),
    ],
)
def test_wrong_arguments_get_one_line(options, words, capsys):
    assert main(["c", "qlinearadd-off-by-one", *options]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
