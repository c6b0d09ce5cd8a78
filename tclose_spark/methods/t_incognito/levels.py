"""The levels of a quasi-identifier: ever coarser partitions of its domain, with one label for each
value.

    category with a hierarchy  the columns of its CSV, from level 0 (the values) to `*`
    category without one       values, or `*`; also if labels may be sets, since a set is no level
    number                     values; intervals of one width, which doubles from level to level;
                               the whole range

The narrowest width of a number is the least 1, 2 or 5 times a power of ten at which MOST_INTERVALS
span the range. It is at least 1 for integers and a day for dates. Times have a number of days,
hours, minutes or seconds. With `round_to`, it is such a multiple of that, which also replaces the
values.

Intervals begin at multiples of their width, so wider ones consist of narrower ones. Labels give the
smallest and the largest value of the table in an interval, so no two of them meet (unless
`round_to` moves their ends). A missing value is a leaf of its own, below the last level only.
Levels with labels coarser than `coarsest` are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import takewhile

import numpy as np

from tclose_spark.methods.attributes import ResolvedQuasi
from tclose_spark.table.arrays import Codes, FloatArray, IntArray
from tclose_spark.table.domains import QuasiDomain
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import MISSING, NumericLabels, decode_numbers

MOST_INTERVALS = 20
CLOCK = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000)  # microseconds


@dataclass(frozen=True, kw_only=True)
class Level:
    """One label for each value of a quasi-identifier.

    name: in words, for reports.
    low: the lowest code of each label, ascending, shape (labels,).
    high: the highest one, shape (labels,).
    label: of each value of the table, shape (values,).
    """

    name: str
    low: IntArray
    high: IntArray
    label: Codes


@dataclass(frozen=True)
class Levels:
    """The levels of one quasi-identifier, each coarser than the previous one or equal to it.

    codes: of the table's values, ascending, including MISSING, shape (values,).
    rows: of each value, shape (values,).
    levels: from the finest to the coarsest.
    """

    codes: IntArray
    rows: IntArray
    levels: tuple[Level, ...]

    def __len__(self) -> int:
        return len(self.levels)

    def up(self, level: int, to: int) -> Codes:
        """The label of level `to` above each label of a level that is no coarser, shape (labels of
        `level`,).
        """
        return self.levels[to].label[self._firsts[level]]

    @cached_property
    def _firsts(self) -> list[IntArray]:
        """The place of each label's first occurrence, by level, arrays of shape (labels,)."""
        return [np.flatnonzero(np.diff(level.label, prepend=-1)) for level in self.levels]

    @staticmethod
    def of(quasi: ResolvedQuasi, codes: IntArray, rows: IntArray) -> Levels:
        """The levels of a quasi-identifier with these ascending values and their rows."""
        if quasi.hierarchy is not None:
            levels = _of_hierarchy(quasi.hierarchy, codes)
        elif quasi.domain.kind == "category":
            levels = [_values("value", codes), _whole("*", codes, 0, len(quasi.domain.values) - 1)]
        else:
            levels = _of_number(quasi, codes)
        fine = takewhile(lambda level: not _too_coarse(level, quasi), levels[1:])
        return Levels(codes, rows, (levels[0], *fine))


def _too_coarse(level: Level, quasi: ResolvedQuasi) -> bool:
    """Whether a level has labels coarser than allowed."""
    if quasi.coarsest is None:
        return False
    _, labels = quasi.labeller.cover(level.low, level.high)
    return any(map(quasi.coarsest.broken_by, labels))


def _values(name: str, codes: IntArray) -> Level:
    return Level(name=name, low=codes, high=codes, label=np.arange(len(codes), dtype=np.int32))


def _whole(name: str, codes: IntArray, low: int, high: int) -> Level:
    """One label for everything, including missing values."""
    ends = np.array([low if codes[0] != MISSING else MISSING]), np.array([max(high, codes[-1])])
    return Level(name=name, low=ends[0], high=ends[1], label=np.zeros(len(codes), dtype=np.int32))


def _of_hierarchy(hierarchy: Hierarchy, codes: IntArray) -> list[Level]:
    known = codes[codes != MISSING]
    missing = len(codes) - len(known)
    levels = [_values("value", codes)]
    for height, node in enumerate(hierarchy.nodes[1:-1], start=1):
        nodes, label = np.unique(node[known], return_inverse=True)
        none = np.full(missing, MISSING)
        low = np.concatenate([none, np.searchsorted(node, nodes, "left")])
        high = np.concatenate([none, np.searchsorted(node, nodes, "right") - 1])
        above: Codes = np.concatenate([np.zeros(missing, dtype=np.int64), label + missing]).astype(
            np.int32,
        )
        levels.append(
            Level(name=f"level {height} of {hierarchy.height}", low=low, high=high, label=above),
        )
    return [*levels, _whole("*", codes, 0, len(hierarchy.paths) - 1)]


def _of_number(quasi: ResolvedQuasi, codes: IntArray) -> list[Level]:
    """The levels of a number, without levels that are no coarser than the previous one.

    Multiples of `round_to` are counted once, exactly, as labels are rounded, and divided as
    integers. Doubles divided by widths that are not powers of two of each other would not nest.
    """
    labels = quasi.labeller
    known = codes[codes != MISSING]
    step = labels.round_to if isinstance(labels, NumericLabels) else None
    levels = [] if step is not None else [_values("value", codes)]
    if len(known):
        numbers = known if quasi.domain.kind == "integer" else decode_numbers(known)
        steps = (
            None
            if step is None
            else np.array([Fraction(str(x)) // step for x in numbers.tolist()], dtype=object)
        )
        for width in widths(quasi.domain, step):
            bins = (
                _multiples(numbers, float(width))
                if steps is None
                else steps // int(width / (step or 1))
            )
            levels.append(_intervals(_name(width, quasi.domain), codes, bins))
    if len(codes) > 1:
        levels.append(_whole("the whole range", codes, int(known[0]), int(known[-1])))
    levels = levels or [_values("value", codes)]
    return [
        level for i, level in enumerate(levels) if i == 0 or len(level.low) < len(levels[i - 1].low)
    ]


def _name(width: Fraction, domain: QuasiDomain) -> str:
    length = float(width / domain.scale)
    return f"intervals of {length:g}" + (" days" if domain.calendar else "")


def _multiples(numbers: FloatArray | IntArray, width: float) -> FloatArray:
    """The number of widths below each number, also if a quotient is too small for a double."""
    quotient = numbers / width
    return np.where((quotient == 0) & (numbers < 0), -1.0, np.floor(quotient))


def widths(domain: QuasiDomain, step: Fraction | None = None) -> Iterator[Fraction]:
    """The widths of a number's intervals, doubling while they are shorter than its range; multiples
    of the step, from the step on, where there is one.

    >>> age = QuasiDomain(name="age", kind="integer", missing=0, low=17, high=90)
    >>> [int(width) for width in widths(age)], [str(width) for width in widths(age, Fraction(5, 2))]
    ([5, 10, 20, 40], ['5/2', '5', '10', '20', '40'])
    """
    span = Fraction(domain.high) - Fraction(domain.low)
    unit = step or _unit(domain, span)
    width = _round_number(span / MOST_INTERVALS, unit)
    if step is not None:
        yield step
    while 0 < width < span:
        if width != step:
            yield width
        width *= 2


def _unit(domain: QuasiDomain, span: Fraction) -> Fraction | None:
    """The width whose multiples are used: for integers 1; for times the longest of day, hour,
    minute and second that is not too wide.
    """
    if domain.calendar == "timestamp":
        fine = [unit for unit in CLOCK if unit * MOST_INTERVALS <= span]
        return Fraction(fine[0] if fine else 1)
    return Fraction(1) if domain.kind == "integer" else None


def _round_number(least: Fraction, unit: Fraction | None) -> Fraction:
    """The smallest of 1, 2, 5, 10, 20, ... times a power of ten (or times the unit, as whole
    multiples) that is at least `least`.
    """
    if least <= 0:
        return unit or Fraction(0)
    power = unit or Fraction(1)
    while unit is None and power > least:
        power /= 10
    while True:
        for factor in (1, 2, 5):
            if power * factor >= least:
                return power * factor
        power *= 10


def _intervals(name: str, codes: IntArray, bins: FloatArray) -> Level:
    """The labels of values with their numbers in these ascending bins."""
    missing = int(codes[0] == MISSING)
    new = np.append(np.ones(missing, dtype=bool), np.append(True, bins[1:] != bins[:-1]))
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(codes)) - 1
    label = (np.cumsum(new) - 1).astype(np.int32)
    return Level(name=name, low=codes[starts], high=codes[ends], label=label)


def lattice_size(levels: Sequence[Levels]) -> int:
    """The number of nodes: a level for each quasi-identifier."""
    size = 1
    for of_one in levels:
        size *= len(of_one)
    return size
