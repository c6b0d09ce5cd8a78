"""How columns group rows: within the values of some, other columns are constant far more often than
by chance.

A table may count people instead of having a row for each: a cell for each combination of its other
columns. In a table of people, two rows agree by chance. In a table of counts, each combination is
there once. Names decide nothing alone: a column named as a count and combinations that avoid each
other are both required.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np

from tclose_spark.table.arrays import IntArray, tuple_codes
from tclose_spark.table.entities.whole_values import MISSING, WholeValues

FEWEST_VALUES = 20  # of a column that groups rows; fewer are places, classes or answers
MOST_ROWS = 60  # of a value on average; a place or a firm has more
MOST_PAIRS = 1 << 22  # pairs of a group and the number of a member
NUMBERED = 0.95  # of the groups with a member, those that have the one before it
FEWEST_PAIRS = 20  # of rows with the same value, from which agreement is measured
MOST_BY_CHANCE = 0.95  # chance of agreement above which a column is nearly constant in the table
CONSTANT = 0.9  # lift from which a column is constant within the values of another
SPELLING = 0.5  # reverse agreement from which a column is another spelling of the grouping column
UNLIKELY = 4.0  # standard deviations above chance
SEED = 2026

Pairs = tuple[IntArray, IntArray]
"""Two rows of each pair."""

FAR_MORE = 5  # times the rows of any other value, from which a value stands for a missing person
LEAST_SHARE = 0.02  # of the rows that such a value has
FEWEST_ROWS = 20  # that such a value has
MOST_PLACEHOLDERS = 5  # such values of a column
LARGEST = 2 * MOST_PLACEHOLDERS  # sizes from which such values are found


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How often two rows agree in a column.

    column: its place.
    by_chance: the share of all pairs of rows that agree.
    within: the share among pairs with the same value of the grouping column.
    pairs: how many of these were compared.
    reverse: of pairs that agree in the column, the share with the same value of the grouping
        column; 0 if the column is not constant.
    """

    column: int
    by_chance: float
    within: float
    pairs: int
    reverse: float = 0.0

    @property
    def lift(self) -> float:
        """1 if the column is constant within values, 0 if rows agree as by chance, negative if they
        agree less.

        >>> round(Agreement(column=0, by_chance=0.5, within=0.95, pairs=100).lift, 2)
        0.9
        """
        return (self.within - self.by_chance) / (1 - self.by_chance)

    @property
    def is_constant(self) -> bool:
        """Whether the column is constant within values, far beyond chance."""
        deviation = np.sqrt(self.by_chance * (1 - self.by_chance) / self.pairs)
        return self.lift >= CONSTANT and bool(self.within - self.by_chance > UNLIKELY * deviation)

    @property
    def is_spelling(self) -> bool:
        """Whether the column has the same groups as the grouping column, nearly."""
        return self.reverse >= SPELLING


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """A column, or a pair of columns, and how other columns agree within its values.

    columns: their places. values, rows: of the values in the sample, without values that stand for
        a missing person.
    level: of the sample. agreements: of the columns that are not constant in the table.
    """

    columns: tuple[int, ...]
    values: int
    rows: int
    level: int
    agreements: tuple[Agreement, ...]

    @property
    def constant(self) -> tuple[int, ...]:
        """The columns that are constant within its values, without its other spellings."""
        return tuple(
            one.column for one in self.agreements if one.is_constant and not one.is_spelling
        )

    @property
    def spellings(self) -> tuple[int, ...]:
        """The columns with the same groups."""
        return tuple(one.column for one in self.agreements if one.is_constant and one.is_spelling)

    @property
    def rows_each(self) -> float:
        """The rows of a value, on average."""
        return self.rows / self.values

    @property
    def values_of_table(self) -> int:
        """How many values the table has; about, if the sample does not have all."""
        return self.values << self.level

    def lift(self, column: int) -> float | None:
        """The lift of a column; None if the column is not compared."""
        return next((one.lift for one in self.agreements if one.column == column), None)


def _numbers_members(groups: IntArray, codes: IntArray) -> bool:
    """Whether codes number the members of groups: nearly every group with a member has the one
    before it, too.

    groups, codes: of each row, or MISSING, shape (rows,).

    >>> _numbers_members(np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 0, 1, 0, 2]))
    True
    >>> _numbers_members(np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 2, 1, 0, 2]))
    False
    """
    known = (groups >= 0) & (codes >= 0)
    has = np.zeros((int(groups.max(initial=0)) + 1, int(codes.max(initial=0)) + 1), dtype=bool)
    has[groups[known], codes[known]] = True
    by_frequency = np.argsort(-has.sum(axis=0), kind="stable")
    return all(
        np.count_nonzero(has[:, before] & has[:, one]) >= NUMBERED * np.count_nonzero(has[:, one])
        for before, one in pairwise(by_frequency)
    )


def placeholder_rows(sizes: IntArray, rows: int | None = None) -> int:
    """The number of rows from which a value stands for a missing person: it has far more rows than
    any other value. One more than the most rows if there is no such value.

    sizes: the rows of each value, shape (values,); the LARGEST of them, or more, are enough if
        `rows` of all values are given.

    >>> placeholder_rows(np.array([3, 4, 5, 900])), placeholder_rows(np.array([3, 40, 50, 90]))
    (900, 91)
    """
    ordered = np.sort(sizes)[::-1].tolist()
    least = max(FEWEST_ROWS, LEAST_SHARE * (sum(ordered) if rows is None else rows))
    found = ordered[0] + 1
    for taken, (size, following) in enumerate(pairwise(ordered[: MOST_PLACEHOLDERS + 1]), start=1):
        if size >= least and size >= FAR_MORE * following and 2 * taken <= len(ordered):
            found = size
    return int(found)


@dataclass(frozen=True, kw_only=True)
class SampledValues:
    """The values of a sample as numbers. sample: of a whole table, reduced.

    columns: by column, 0, 1, ..., or MISSING, shape (sampled rows,). shuffled: the rows in random
        order.
    """

    sample: WholeValues
    columns: tuple[IntArray, ...]
    shuffled: IntArray

    @staticmethod
    def of(sample: WholeValues) -> SampledValues:
        """The values of a sample."""
        rows, columns = sample.hashes.shape
        shuffled = np.random.default_rng(SEED).permutation(rows)
        return SampledValues(
            sample=sample,
            columns=tuple(map(sample.codes, range(columns))),
            shuffled=shuffled,
        )

    @property
    def rows(self) -> int:
        """The number of sampled rows."""
        return len(self.shuffled)

    @cached_property
    def measured(self) -> tuple[bool, ...]:
        """Whether most different values of each column look measured."""
        return tuple(map(self.sample.is_measured, range(len(self.columns))))

    def distinct(self, column: int) -> int:
        """The number of different values of a column, without missing ones."""
        return int(self.columns[column].max(initial=MISSING)) + 1

    def groupings(self) -> Iterator[Grouping]:
        """How each column groups rows, of those that may be keys."""
        for place, codes in enumerate(self.columns):
            if not self.measured[place]:
                whole = np.where(self.sample.whole(place), codes, MISSING)
                found = self.grouping((place,), whole)
                if found is not None:
                    yield found

    def pair_groupings(self, first: int, seconds: Iterable[int]) -> Iterator[Grouping]:
        """The pairs of a column and the number of a member in its values, within which some other
        column is constant, such as a household and the number of its member. The constant column is
        not constant within either of the two.
        """
        is_whole = self.sample.whole(first) if self.sample.level else np.True_
        of_first = np.where(is_whole, self.columns[first], MISSING)
        most = MOST_PAIRS // (int(of_first.max(initial=0)) + 1)
        for second in seconds:
            of_second = self.columns[second]
            width = self.distinct(second)
            if second == first or not 1 < width <= most or self.measured[second]:
                continue
            if not _numbers_members(of_first, of_second):
                continue
            pair = np.where(
                (of_first >= 0) & (of_second >= 0),
                of_first * width + of_second,
                MISSING,
            )
            whose = np.unique(pair, return_inverse=True)[1] - int((pair < 0).any())
            found = self.grouping((first, second), whose)
            found = None if found is None else self.without_constant(found, (of_first, of_second))
            if found is not None and found.constant:
                yield found

    def grouping(self, places: tuple[int, ...], group: IntArray) -> Grouping | None:
        """How columns group rows; None if they have too few values, or too many rows of a value.

        group: of each row, or MISSING, shape (sampled rows,).
        """
        rows = self.shuffled[group[self.shuffled] >= 0]
        sizes = np.bincount(group[rows], minlength=1)
        if not len(rows):
            return None
        rows = rows[sizes[group[rows]] < placeholder_rows(sizes[sizes > 0])]
        values = len(np.unique(group[rows]))
        if (
            values < FEWEST_VALUES
            or len(rows) > MOST_ROWS * values
            or len(rows) - values < FEWEST_PAIRS
        ):
            return None
        pairs = _pairs(rows, group[rows])
        others = [place for place in range(len(self.columns)) if place not in places]
        agreements = [self._agreement(other, group, rows, pairs) for other in others]
        return Grouping(
            columns=places,
            values=values,
            rows=len(rows),
            level=self.sample.level,
            agreements=tuple(one for one in agreements if one is not None),
        )

    def without_constant(self, found: Grouping, parts: Sequence[IntArray]) -> Grouping:
        """A grouping without the agreements of columns that are constant within a part of it.

        parts: the numbers of each part's values, or MISSING, shape (sampled rows,).
        """
        constant = {one.column for one in found.agreements if one.is_constant}
        for part in parts:
            rows = self.shuffled[part[self.shuffled] >= 0]
            pairs = _pairs(rows, part[rows])
            judged = [self._agreement(column, part, rows, pairs) for column in constant]
            constant -= {one.column for one in judged if one is not None and one.is_constant}
        kept = [one for one in found.agreements if one.column in constant or not one.is_constant]
        return replace(found, agreements=tuple(kept))

    def _agreement(
        self,
        other: int,
        group: IntArray,
        rows: IntArray,
        pairs: Pairs,
    ) -> Agreement | None:
        """How rows agree in a column; None if it is nearly constant in the table, or has too few
        pairs of values.
        """
        codes = self.columns[other]
        known = rows[codes[rows] >= 0]
        first, second = pairs
        both = (codes[first] >= 0) & (codes[second] >= 0)
        compared = int(np.count_nonzero(both))
        by_chance = agreement_by_chance(codes[known])
        if by_chance > MOST_BY_CHANCE or compared < FEWEST_PAIRS:
            return None
        within = float(np.mean(codes[first[both]] == codes[second[both]]))
        found = Agreement(column=other, by_chance=by_chance, within=within, pairs=compared)
        if not found.is_constant:
            return found
        one, another = _pairs(known, codes[known])
        same = group[one] == group[another]
        return replace(found, reverse=float(np.mean(same)) if len(same) else 1.0)


def agreement_by_chance(codes: IntArray) -> float:
    """The share of pairs of rows that agree. codes: of each row, from 0.

    >>> agreement_by_chance(np.array([0, 0, 1, 1]))
    0.3333333333333333
    """
    rows = len(codes)
    counts = np.bincount(codes, minlength=1).astype(np.float64)
    return float((counts * (counts - 1)).sum() / (rows * (rows - 1))) if rows > 1 else 1.0


def _pairs(rows: IntArray, group: IntArray) -> Pairs:
    """(one row, another row) of the same group, for each row of a group but one, in the order of
    `rows`.
    """
    order = np.argsort(group, kind="stable")
    same = np.diff(group[order]) == 0
    return rows[order[:-1][same]], rows[order[1:][same]]


MOST_VALUES = 0.2  # values of a dimension, a row
MOST_DIMENSIONS = 16
FEWEST_DIMENSIONS = 3  # one for each person and one for time are a panel
LEAST_EXPECTED = 30  # pairs of rows that agree by chance, below which nothing can be known
DIFFERENT = 0.99  # of the rows, from which they count as different
AVOIDED = 0.1  # of these pairs, at most so many agree


@dataclass(frozen=True, kw_only=True)
class CountedCells:
    """What shows that rows are cells of a table of counts.

    count: the column that counts. dimensions: the columns whose combinations occur once.
    """

    count: str
    dimensions: tuple[str, ...]


def counted_cells(counts: Sequence[str], others: Mapping[str, IntArray]) -> CountedCells | None:
    """What shows that rows are cells of a table of counts; None if they are not.

    counts: the columns of whole numbers that are named as counts.
    others: of the other columns that hold neither fractions nor identifiers, a number from 0 for
        each row's value, shape (rows,).
    """
    if not counts:
        return None
    able = {name: codes for name, codes in others.items() if _is_dimension(codes)}
    dimensions = _needed(dict([*able.items()][:MOST_DIMENSIONS]))
    if len(dimensions) < FEWEST_DIMENSIONS or not avoid_each_other([*dimensions.values()]):
        return None
    return CountedCells(count=counts[0], dimensions=tuple(dimensions))


def avoid_each_other(dimensions: Sequence[IntArray]) -> bool:
    """Whether far fewer pairs of rows agree in all dimensions than by chance, if each value were
    equally frequent.

    dimensions: a number for each row's value, from 0.

    >>> cells = np.arange(400)
    >>> avoid_each_other([cells // 40, cells // 4 % 10, cells % 4])
    True
    >>> draws = np.random.default_rng(1).integers(0, 400, 400)
    >>> avoid_each_other([draws // 40, draws // 4 % 10, draws % 4])
    False
    """
    rows = len(dimensions[0])
    sizes = [len(np.unique(codes)) for codes in dimensions]
    expected = rows * (rows - 1) / (2 * prod(sizes))
    times = np.unique(tuple_codes(dimensions), return_counts=True)[1].astype(np.float64)
    agree = float((times * (times - 1) / 2).sum())
    return expected >= LEAST_EXPECTED and agree <= AVOIDED * expected


def _is_dimension(codes: IntArray) -> bool:
    """Whether a column has few values."""
    return 1 < len(np.unique(codes)) <= MOST_VALUES * len(codes)


def _needed(columns: Mapping[str, IntArray]) -> dict[str, IntArray]:
    """The columns without which rows would agree. Others follow from these, or differ between rows
    that differ anyway: the state of a county, the sex of a worker in a panel.
    """
    needed = dict(columns)
    for name in sorted(columns, key=lambda name: int(columns[name].max())):
        rest = [codes for other, codes in needed.items() if other != name]
        if rest and len(np.unique(tuple_codes(rest))) >= DIFFERENT * len(columns[name]):
            del needed[name]
    return needed
