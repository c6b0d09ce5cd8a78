"""Rare cells: combinations of quasi-identifiers, and their cells (tuples of values) of fewer rows
than a threshold.

Statistics offices judge files by them, as mu-ARGUS does (Hundepool et al. 2014, mu-ARGUS user's
manual).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from tclose_spark.table.arrays import IntArray

MOST_COMBINATIONS = 10_000
FEW_KEYS = 1024
Integers = NDArray[np.integer]


@dataclass(frozen=True, kw_only=True)
class CellCombination:
    """A set of quasi-identifiers, and its cells: the tuples of values that occur.

    smallest: the rows of the smallest cell. rare_cells, rare_rows: cells below the threshold, and
        their rows.
    """

    columns: tuple[str, ...]
    cells: int
    smallest: int
    rare_cells: int
    rare_rows: int


@dataclass(frozen=True, kw_only=True)
class ColumnRarity:
    """A quasi-identifier, and the rare cells of all combinations that contain it."""

    name: str
    rare_cells: int


@dataclass(frozen=True, kw_only=True)
class UncountedCells:
    """Combinations that were not examined: all those of `size` quasi-identifiers among `among`."""

    size: int
    among: tuple[str, ...]
    combinations: int


@dataclass(frozen=True, kw_only=True)
class RareCells:
    """The cells of all examined combinations.

    rows: of the table. below: the threshold of each size of a combination, shape (largest size,).
    combinations: the worst first: by rows in rare cells, then the fewest quasi-identifiers, then
        rare cells.
    columns: those that take part in most rare cells first.
    rare_rows: rows that are in some rare cell.
    left: the combinations that were left out.
    """

    rows: int
    below: tuple[int, ...]
    combinations: tuple[CellCombination, ...]
    columns: tuple[ColumnRarity, ...]
    rare_rows: int
    left: tuple[UncountedCells, ...]

    @property
    def rare_cells(self) -> int:
        """The rare cells of all examined combinations."""
        return sum(one.rare_cells for one in self.combinations)


def rare_cells(
    columns: Mapping[str, Integers],
    counts: IntArray,
    below: Sequence[int],
    levels: Mapping[str, int] | None = None,
    most: int = MOST_COMBINATIONS,
) -> RareCells:
    """The cells of every combination of up to len(below) quasi-identifiers. All figures are exact.

    columns: codes of tuples by quasi-identifier, each of shape (tuples,). Any integers; a missing
        value is a value of its own. Tuples may repeat.
    counts: the rows of each tuple, at least 1, shape (tuples,).
    below: the threshold of each size.
    levels: identification levels; only columns of different levels are combined, and those of level
        0 with none.
    most: how many combinations to examine at most. Small ones come first, then those of columns
        with many values; all combinations of a size with the same first column are examined, or
        none.
    """
    given = list(columns)
    level = {name: i + 1 for i, name in enumerate(given)} if levels is None else dict(levels)
    coded = {
        name: np.unique(columns[name], return_inverse=True)[1].astype(np.int32)
        for name in given
        if level[name]
    }
    ranked = sorted(coded, key=lambda name: -int(coded[name].max(initial=0)))
    largest, left = _within(ranked, level, len(below), most)
    search = _Search(ranked=ranked, coded=coded, level=level, counts=counts, below=below)
    for first, size in enumerate(largest):
        if size:
            search.extend((), np.zeros(len(counts), dtype=np.int64), [first], size)
    place = {name: i for i, name in enumerate(given)}
    found = [
        replace(one, columns=tuple(sorted(one.columns, key=place.__getitem__)))
        for one in search.found
    ]
    found.sort(
        key=lambda one: (
            -one.rare_rows,
            len(one.columns),
            -one.rare_cells,
            [place[name] for name in one.columns],
        ),
    )
    shares = [
        ColumnRarity(
            name=name,
            rare_cells=sum(one.rare_cells for one in found if name in one.columns),
        )
        for name in given
    ]
    return RareCells(
        rows=int(counts.sum()),
        below=tuple(below),
        combinations=tuple(found),
        columns=tuple(sorted(shares, key=lambda one: -one.rare_cells)),
        rare_rows=int(counts[search.rare].sum()),
        left=tuple(left),
    )


def _within(
    ranked: Sequence[str],
    level: Mapping[str, int],
    size: int,
    most: int,
) -> tuple[list[int], list[UncountedCells]]:
    """(by first column, the largest combinations to examine; the others)."""
    largest = [0] * len(ranked)
    left = list[UncountedCells]()
    spent = 0
    for s in range(1, size + 1):
        for first in range(len(ranked)):
            among = ranked[first:]
            new = (
                0 if left else sum(1 for _ in islice(_starting(among, level, s), most - spent + 1))
            )
            if left or spent + new > most:
                number = _how_many(among, level, s)
                left += (
                    [UncountedCells(size=s, among=tuple(among), combinations=number)]
                    if number
                    else []
                )
                break
            spent += new
            largest[first] = s
    return largest, left


def _starting(
    among: Sequence[str],
    level: Mapping[str, int],
    size: int,
) -> Iterator[tuple[str, ...]]:
    """The combinations with the first of these columns."""
    for rest in combinations(among[1:], size - 1):
        if len({level[name] for name in (among[0], *rest)}) == size:
            yield (among[0], *rest)


def _how_many(among: Sequence[str], level: Mapping[str, int], size: int) -> int:
    """How many combinations of different levels there are."""
    found = [1] + [0] * size
    levels = [level[name] for name in among]
    for one in set(levels):
        found = [
            found[0],
            *(found[s] + levels.count(one) * found[s - 1] for s in range(1, size + 1)),
        ]
    return found[size]


@dataclass(kw_only=True)
class _Search:
    """Counts the cells of combinations; larger ones from the cells of the smaller.

    found: those that were examined. rare: whether a tuple is in a rare cell.
    """

    ranked: Sequence[str]
    coded: Mapping[str, Integers]
    level: Mapping[str, int]
    counts: IntArray
    below: Sequence[int]
    found: list[CellCombination] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rare = np.zeros(len(self.counts), dtype=np.bool_)

    def extend(
        self,
        chosen: tuple[str, ...],
        group: IntArray,
        places: Sequence[int],
        size: int,
    ) -> None:
        """Examines the combinations of `chosen` with each of these columns, and with later ones, up
        to this size.

        group: the cell of each tuple by `chosen`, from 0.
        """
        for place in places:
            name = self.ranked[place]
            if self.level[name] in {self.level[other] for other in chosen}:
                continue
            cell, rows = _cells(group, self.coded[name], self.counts)
            self._record((*chosen, name), cell, rows)
            if len(chosen) + 1 < size:
                numbers = np.cumsum(rows > 0) - 1
                self.extend(
                    (*chosen, name),
                    numbers[cell],
                    range(place + 1, len(self.ranked)),
                    size,
                )

    def _record(self, chosen: tuple[str, ...], cell: IntArray, rows: IntArray) -> None:
        held = rows[rows > 0]
        is_rare = (rows > 0) & (rows < self.below[len(chosen) - 1])
        rare = rows[is_rare]
        if len(rare):
            self.rare |= is_rare[cell]
        self.found.append(
            CellCombination(
                columns=chosen,
                cells=len(held),
                smallest=int(held.min()),
                rare_cells=len(rare),
                rare_rows=int(rare.sum()),
            ),
        )


def _cells(group: IntArray, codes: Integers, counts: IntArray) -> tuple[IntArray, IntArray]:
    """(the cell of each tuple, the rows of each cell; none for a pair that does not occur)."""
    key = group * (int(codes.max(initial=0)) + 1) + codes
    if key.max(initial=0) > FEW_KEYS + 4 * len(key):  # too many to count without sorting
        key = np.unique(key, return_inverse=True)[1]
    rows: IntArray = np.bincount(key, weights=counts).astype(np.int64)
    return key, rows
