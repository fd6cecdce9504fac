"""The rules of docs/architecture.md, held."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qlab
from qlab.ops import operators
from qlab.schemes import DEFAULT, schemes, variants

ROOT = Path(qlab.__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "qlab").rglob("*.py"))
STREAMLIT = {"app.py", "pages", "qlab/ui"}


def _imports(path: Path) -> set[str]:
    """Top-level packages that a file imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_importing_qlab_loads_neither_streamlit_nor_onnxruntime():
    code = "import sys, qlab, qlab.session, qlab.formats.load, qlab.export.archive; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert not {"streamlit", "onnxruntime"} & set(loaded)


def test_importing_qlab_alone_loads_nothing_heavy():
    code = "import sys, qlab; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert not {"numpy", "onnx", "streamlit", "onnxruntime", "plotly"} & set(loaded)


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_only_ui_imports_streamlit_and_only_the_worker_onnxruntime(path):
    used = _imports(path)
    if "ui" not in path.relative_to(ROOT / "qlab").parts:
        assert "streamlit" not in used
    if path.name != "worker.py":
        assert "onnxruntime" not in used


def test_the_worker_imports_only_the_standard_library_numpy_and_onnxruntime():
    used = _imports(ROOT / "qlab/engines/worker.py")
    assert used - set(sys.stdlib_module_names) <= {"numpy", "onnxruntime"}


@pytest.mark.parametrize("path", sorted((ROOT / "pages").glob("*.py")), ids=_name)
def test_a_page_holds_no_arithmetic(path):
    assert not _imports(path) & {"numpy", "onnx", "onnxruntime", "ml_dtypes"}


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_no_file_is_two(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 420


def test_operators_have_a_source_and_a_test():
    assert len(operators()) >= 20
    for operator in operators().values():
        assert operator.source
        module = operator.steps.__module__.rpartition(".")[2]
        assert (ROOT / f"tests/ops/test_{module}.py").exists(), operator.op_type


def test_schemes_have_a_source_and_are_held_to_the_laws():
    assert tuple(schemes())[: len(DEFAULT)] == DEFAULT
    laws = {"default": "test_laws", "family": "test_family_laws"}
    for name, scheme in schemes().items():
        assert scheme.source and type(scheme).__doc__
        # The two files of laws take their schemes from DEFAULT and from variants(), so none can be left out.
        test = ROOT / f"tests/schemes/{laws['default' if name in DEFAULT else 'family']}.py"
        assert test.exists()
        if name not in DEFAULT:
            assert f'"{name}' in (ROOT / "tests/schemes/test_families.py").read_text(
                encoding="utf-8"
            )
            assert f"`{name}`" in (ROOT / "docs/schemes.md").read_text(encoding="utf-8")


def test_every_variant_is_of_a_scheme_and_the_first_of_each_is_its_default():
    seen: set[str] = set()
    for scheme in variants().values():
        if scheme.name not in seen:
            # ort_cpu's CPU classes are its variants: the default one is avx2.
            assert scheme == schemes()[scheme.name]
        seen.add(scheme.name)
    assert seen == set(schemes())


def test_no_module_has_the_name_of_a_library_that_it_wraps():
    names = {path.stem for path in SOURCES}
    assert not names & {"onnx", "onnxruntime", "numpy", "streamlit", "plotly", "ml_dtypes"}


def test_the_public_names_exist():
    for name in qlab.__all__:
        assert getattr(qlab, name) is not None
        assert not (ROOT / f"qlab/{name}.py").exists() and not (ROOT / "qlab" / name).exists()
    with pytest.raises(AttributeError, match="it has Case"):
        _ = qlab.no_such_name


def test_no_scheme_is_left_out_for_lack_of_a_primitive():
    """One without all members of the protocol would be found by nobody, and nobody would miss it."""
    files = (ROOT / "qlab/schemes").glob("*.py")
    made = {f.stem for f in files if re.search("^SCHEME = ", f.read_text(encoding="utf-8"), re.M)}
    assert made == set(schemes())
