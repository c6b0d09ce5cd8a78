"""Whether a table counts people instead of having a row for each: a cell for each combination of
its other columns.

In a table of people, two rows agree by chance. In a table of counts, each combination is there
once. Names decide nothing alone: a column named as a count and combinations that avoid each other
are both required.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tclose_spark.table.arrays import IntArray, tuple_codes

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
