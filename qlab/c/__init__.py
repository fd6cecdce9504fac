"""A case as portable C99 that computes the same codes as a scheme's trace, and checks itself: "how do I write it?"."""

from qlab.c.program import Parameter, Program, c_program, c_source
from qlab.c.running import Checked, Written, check, written

__all__ = [
    "Checked",
    "Parameter",
    "Program",
    "Written",
    "c_program",
    "c_source",
    "check",
    "written",
]
