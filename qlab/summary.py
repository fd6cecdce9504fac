"""A matrix in few words: releases and settings with the same results put together."""

import dataclasses
import itertools
from collections.abc import Iterable

from qlab.matrix import Cell, Column
from qlab.runtimes.versions import between, key


@dataclasses.dataclass(frozen=True)
class Summary:
    """A matrix in which releases with the same results, and columns with the same results, are one.

    Attributes:
        rows: neighbouring releases, oldest first.
        columns: columns that give the same in every release.
        cells: one for each row and column, of the newest release in the row; None where it was not run.
    """

    rows: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[Column, ...], ...]
    cells: tuple[tuple[Cell | None, ...], ...]

    def row_label(self, row: int) -> str:
        """``1.15.0 – 1.26.0`` where every release between was run; else those that were: ``1.15.0, 1.26.0``."""
        versions = self.rows[row]
        whole = len(versions) > 1 and set(between(versions[0], versions[-1])) <= set(versions)
        return f"{versions[0]} – {versions[-1]}" if whole else ", ".join(versions)

    def column_label(self, column: int) -> str:
        """``avx2, sse: every level``, ``every CPU: BASIC, EXTENDED``; of this CPU alone the levels only."""
        every = [c for group in self.columns for c in group]
        places: dict[tuple[str, ...], list[str]] = {}
        for setting in dict.fromkeys(_setting(c) for c in self.columns[column]):
            levels = tuple(c.level for c in self.columns[column] if _setting(c) == setting)
            places.setdefault(levels, []).append(setting)
        settings = {_setting(c) for c in every}
        words = []
        for levels, among in places.items():
            all_levels = len(levels) > 1 and set(levels) == {c.level for c in every}
            short = (name.removeprefix("ORT_").removeprefix("ENABLE_") for name in levels)
            at = "every level" if all_levels else ", ".join(short)
            where = "every CPU" if len(among) > 1 and set(among) == settings else ", ".join(among)
            words.append(at if settings == {"this CPU"} else f"{where}: {at}")
        return "; ".join(words)


def summary(cells: Iterable[Cell]) -> Summary:
    """Put together what is the same: outputs bit for bit, or the same kind of failure."""
    known = {(c.version, c.column): c for c in cells}
    versions = sorted({version for version, _ in known}, key=key)
    histories: dict[tuple[object, ...], list[Column]] = {}
    for column in dict.fromkeys(column for _, column in known):
        history = tuple(_result(known.get((version, column))) for version in versions)
        histories.setdefault(history, []).append(column)
    columns = tuple(tuple(group) for group in histories.values())
    rows: list[list[str]] = []
    before: tuple[object, ...] | None = None
    for position, version in enumerate(versions):
        results = tuple(history[position] for history in histories)
        if results == before:
            rows[-1].append(version)
        else:
            rows.append([version])
        before = results
    return Summary(
        tuple(tuple(row) for row in rows),
        columns,
        tuple(tuple(known.get((row[-1], group[0])) for group in columns) for row in rows),
    )


def _result(cell: Cell | None) -> tuple[object, ...]:
    if cell is None or cell.run is None:
        return ()
    outputs = (
        (name, value.dtype.name, value.shape, value.tobytes())
        for name, value in sorted(cell.run.outputs.items())
        if cell.run.repeatable
    )
    return (cell.sign, cell.words, *outputs)


def _setting(column: Column) -> str:
    entries = (f"{name}={value}" for name, value in column.entries)
    return " ".join(["this CPU" if column.cpu == "this" else column.cpu, *entries])


def sentences(cells: Iterable[Cell]) -> tuple[str, ...]:
    """One for each group of columns: ``EXTENDED, ALL: 1.15.0 – 1.26.0 ≠ 12 of 12 codes; 1.27.0 – 1.32.0 = equal.``"""
    found = summary(cells)
    said = []
    for column in range(len(found.columns)):
        spans = (
            f"{found.row_label(row)} {cell.sign} {cell.words}"
            for row, along in enumerate(found.cells)
            if (cell := along[column]) is not None
        )
        said.append(f"{found.column_label(column)}: {'; '.join(spans)}.")
    return tuple(said)


def changes(cells: Iterable[Cell], level: str) -> tuple[str, ...]:
    """The releases on both sides of every change at a level, on any CPU."""
    rows = summary(c for c in cells if c.column.level == level).rows
    return tuple(v for a, b in itertools.pairwise(rows) for v in (a[-1], b[0]))
