"""Fewer and smaller codes: to their zero point where nothing needs them, else as near to it as they go."""

from collections.abc import Callable

import numpy as np

from qlab.case import Case
from qlab.qtypes import is_integer
from qlab.reductions import Search
from qlab.reductions.minimal import minimal
from qlab.reductions.reals import rounder
from qlab.reductions.tensors import DATA, changes, held, moving, of_kind, rest, with_entries

NEAR = 16  # distances from the zero point that are tried one by one
MOST_ENTRIES = 256  # of a tensor that are made smaller one by one


def fewer_codes(search: Search) -> None:
    """Codes at their zero point, reals at 0, where the difference does not need them."""
    for name in of_kind(search.case, DATA):
        given, positions = search.case, moving(search.case, name)
        if not len(positions):
            continue
        still = rest(given, name)
        if search.offer(with_entries(given, name, positions, still)):
            kept = 0
        else:
            kept = len(
                minimal(
                    [int(p) for p in positions],
                    lambda keep, name=name, given=given, positions=positions, still=still: (  # type: ignore[misc]
                        search.offer(
                            with_entries(given, name, np.setdiff1d(positions, keep), still)
                        )
                    ),
                )
            )
        words = f"{kept} of {len(positions):,} entries of {name} away from {_still(given, name)}"
        search.record(words if kept else f"all of {name} at {_still(given, name)}")


def smaller_codes(search: Search) -> None:
    """Each code that is left, as near to its zero point as it goes; each real as round as it goes."""
    for name in of_kind(search.case, DATA):
        before = held(search.case, name)
        for position in moving(search.case, name)[:MOST_ENTRIES]:
            if is_integer(before.dtype):
                _nearer(search, name, position)
            else:
                _rounder(search, name, position)
        words = "nearer to the zero point" if is_integer(before.dtype) else "rounder"
        search.record(f"{name} is {words}: {changes(before, held(search.case, name))}")


def _nearer(search: Search, name: str, position: int) -> None:
    """The distances 1, 2, 3 … first, then by halves, as if a larger one always did what a smaller one does."""
    case = search.case
    value, still = _code(case, name, position), int(rest(case, name))
    sign = 1 if value > still else -1
    taken: Callable[[int], bool] = lambda d: search.offer(  # noqa: E731
        with_entries(search.case, name, np.asarray([position]), np.asarray(still + sign * d))
    )
    distance = abs(value - still)
    for near in range(1, min(NEAR, distance)):
        if taken(near):
            return
    low, high = min(NEAR, distance), distance
    while low < high:
        middle = (low + high) // 2
        if taken(middle):
            high = middle
        else:
            low = middle + 1


def _rounder(search: Search, name: str, position: int) -> None:
    value = held(search.case, name)
    for number in rounder(value.reshape(-1)[position]):
        if search.offer(
            with_entries(search.case, name, np.asarray([position]), np.asarray(number))
        ):
            return


def _code(case: Case, name: str, position: int) -> int:
    value = held(case, name)
    return int(value.reshape(-1)[position])


def _still(case: Case, name: str) -> str:
    return f"the zero point {int(rest(case, name))}" if _is_code(case, name) else "0"


def _is_code(case: Case, name: str) -> bool:
    return is_integer(held(case, name).dtype)
