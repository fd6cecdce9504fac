"""``python -m qlab shrink``: the sentence first, the files, and one line for what is wrong."""

import json

import pytest

from qlab.__main__ import main
from qlab.formats.load import load_case

CASE = "matmulinteger-u8s8-saturates"
AVX2 = ("--actual", "ort_cpu (avx2)")


def shrunk(capsys, *arguments) -> tuple[int, str, str]:
    status = main(["shrink", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_what_differs_comes_first(capsys):
    status, out, _ = shrunk(capsys, CASE, *AVX2)
    assert status == 0
    assert out.splitlines()[0] == (
        "ort_cpu (avx2) against exact: Y[0,0] is 32,767 instead of 32,775: "
        "237·125 + 42·75 = 32,775 saturates to 32,767."
    )
    assert "1 of 3 rows and 1 of 3 columns kept" in out
    assert "Any a_zero_point does it: 1, 128, 254 and 255 were tried." in out
    assert "The nearest case on which both agree: with A[0,0] = 236 instead of 237." in out
    assert f"shrink {CASE} --actual 'ort_cpu (avx2)' --out smallest.json" in out


def test_the_files(capsys, tmp_path):
    out, steps = tmp_path / "smallest.json", tmp_path / "steps"
    status, said, _ = shrunk(capsys, CASE, *AVX2, "--out", str(out), "--steps", str(steps))
    assert status == 0
    assert f"Written: {out}. Next: python -m qlab run {out}; python -m qlab export {out}" in said
    assert load_case(str(out)).inputs["A"].tolist() == [[237, 42]]
    written = sorted(path.name for path in steps.iterdir())
    assert written[0] == "01.json"
    first = load_case(str(steps / "01.json"))
    assert first.title == "MatMulInteger: step 1 of shrinking"
    assert first.inputs["A"].shape == (1, 3)


def test_json(capsys):
    status, out, _ = shrunk(capsys, CASE, *AVX2, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["signature"] == {
        "operator": "MatMulInteger",
        "step": "accumulator",
        "direction": "below",
    }
    assert document["smallest"] == {"nodes": 1, "values": 6, "moving": 4}
    assert document["agreement"]["words"] == "with A[0,0] = 236 instead of 237"
    assert len(document["steps"]) > 3
    assert document["ended"] == ""


def test_nothing_differs(capsys):
    status, out, _ = shrunk(capsys, CASE, "--actual", "float64")
    assert status == 1
    assert out == "nothing to shrink: float64 and exact agree on all 9 codes\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("no-such-case",), "no such file"),
        ((CASE, "--actual", "exakt"), "unknown scheme 'exakt'"),
        ((CASE, *AVX2, "--out", "/proc/no/file.json"), "--out /proc/no/file.json: cannot be written"),
    ],
)  # fmt: skip
def test_one_line_for_what_is_wrong(arguments, words, capsys):
    status, _, error = shrunk(capsys, *arguments)
    assert status == 2
    assert words in error
    assert error.count("\n") == 1
