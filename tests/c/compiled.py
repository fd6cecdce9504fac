"""C files of qlab compiled and run: what their own main says, and their function called from here."""

import ctypes
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from qlab.c import Program, c_source, check
from qlab.c.program import COMPILE
from qlab.c.running import compiler
from qlab.case import Case
from qlab.probes import all_codes
from qlab.qtypes import Array
from qlab.schemes import Scheme

needs_compiler = pytest.mark.skipif(
    not compiler(), reason="needs a C compiler (apt install gcc libc6-dev)"
)


def differing(case: Case, scheme: Scheme, flags: tuple[str, ...] = ()) -> str:
    """What the file's main prints: ``0 of 4121 codes differ``. Raises AssertionError where it is not compiled."""
    checked = check(c_source(case, scheme), flags)
    assert not checked.not_run, f"{checked.not_run}\n{checked.output}"
    return checked.output.strip()


def none_differs(case: Case, scheme: Scheme, flags: tuple[str, ...] = ()) -> int:
    """Asserts that no code differs from the trace; how many were compared."""
    said = differing(case, scheme, flags)
    words = said.split()
    assert words[0] == "0", said
    return int(words[2])


def over_all_codes(case: Case) -> Case:
    """The case over all 65,536 pairs of codes, or all 256 codes."""
    whole = all_codes(case)
    assert whole is not None
    return whole


def call(program: Program, folder: Path, inputs: Mapping[str, Array], output: Array) -> Array:
    """The file's function, from a shared library without main; ``output`` has the type and shape of its result."""
    source, library = folder / "case.c", folder / "case.so"
    source.write_text(program.source, encoding="ascii")
    shared = ["-DQLAB_NO_MAIN", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    subprocess.run([*compiler(), *COMPILE.split()[1:], *shared], check=True)
    function = getattr(ctypes.CDLL(str(library)), program.function)
    result = np.zeros_like(output)
    arrays = [
        result if p.output else np.ascontiguousarray(inputs[p.tensor]) for p in program.parameters
    ]
    function(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
    return result
