"""Batteries: cases that can tell arithmetics apart, one family of operators a file, discovered.

A battery gives directed vectors first (ties, one ulp beside them, both ends of the range), then random ones, all from
a seed. What holds for one seed is measured on many by `qlab.fidelity`.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator

from qlab.case import Case
from qlab.registry import discover


@dataclasses.dataclass(frozen=True)
class Battery:
    """The cases of one operator, data type and graph form.

    Attributes:
        operator: its op_type. dtypes: ``uint8 × int8``. form: ``QOperator``, ``QDQ`` for a group that is fused,
            ``Float group`` for one without codes.
        cases: a seed → cases, the directed first; as many outputs a seed as take about a second.
        levels: the graph optimization levels at which they are run.
    """

    operator: str
    dtypes: str
    form: str
    cases: Callable[[int], Iterator[Case]]
    levels: tuple[str, ...] = ("ORT_DISABLE_ALL",)

    @property
    def name(self) -> str:
        """``QLinearConv uint8 × int8``, ``QDQ Conv uint8 × int8``."""
        form = "" if self.form == "QOperator" else f"{self.form} "
        return f"{form}{self.operator} {self.dtypes}"


class Batteries(tuple[Battery, ...]):
    """Those of one family; a module of this package has one such value."""


@functools.cache
def batteries() -> dict[str, Battery]:
    """Name → battery, in the order of the names."""
    found: list[Batteries] = discover(sys.modules[__name__], Batteries)
    return {b.name: b for b in sorted((b for family in found for b in family), key=_order)}


def _order(battery: Battery) -> tuple[bool, str, str]:
    return battery.form != "QOperator", battery.operator, battery.dtypes
