"""Bins of an ordered domain: a long or continuous domain as few ranges (Weber, 4.1.2).

Each function gives `bin_of`, shape (m,): the bin of each value, nondecreasing from 0, without an
empty number.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from tclose_spark.table.arrays import IntArray, exact

Number = float | Fraction


def equal_width(numbers: Sequence[Number], bins: int) -> IntArray:
    """Ranges of one width between the least and the greatest value; an edge belongs to the bin
    above it.

    numbers: the values, ascending.

    >>> equal_width([0, 1, 4, 5, 9, 10], 2).tolist()
    [0, 0, 0, 1, 1, 1]

    Raises:
        ValueError: if there are no values, they do not ascend, or `bins` is below 1.
    """
    values = _ascending(numbers)
    _require_bins(bins)
    low = values[0]
    width = values[-1] - values[0]
    if not width:
        return np.zeros(len(values), dtype=np.int64)
    return _without_gaps(
        np.array([min((value - low) * bins // width, bins - 1) for value in values], dtype=np.int64)
    )


def equal_mass(counts: IntArray, bins: int) -> IntArray:
    """Ranges with as even a number of rows as the values allow: a value is in the bin in which the
    middle of its rows is.

    counts: rows of each value in order, shape (m,).

    >>> equal_mass(np.array([6, 1, 1, 2, 2]), 2).tolist()
    [0, 1, 1, 1, 1]

    Raises:
        ValueError: if there are no rows, or `bins` is below 1.
    """
    _require_bins(bins)
    rows = int(counts.sum())
    if not rows:
        raise ValueError("bins of equal mass need rows")
    counts = exact(counts, 4 * rows * bins)
    middle = 2 * np.cumsum(counts) - counts
    return _without_gaps(np.minimum(middle * bins // (2 * rows), bins - 1).astype(np.int64))


def by_edges(numbers: Sequence[Number], edges: Sequence[Number]) -> IntArray:
    """The ranges [edge, next edge); what is below the first edge, and from the last one on, are
    bins of their own.

    numbers: the values, ascending; edges: ascending.

    >>> by_edges([17, 18, 40, 65], [18, 65]).tolist()
    [0, 1, 1, 2]

    Raises:
        ValueError: if there are no values, or one of both does not ascend.
    """
    places = _ascending(edges) if len(edges) else []
    return _without_gaps(
        np.array([bisect_right(places, value) for value in _ascending(numbers)], dtype=np.int64)
    )


def _ascending(numbers: Sequence[Number]) -> list[Fraction]:
    """The numbers as exact fractions, so that an edge is an edge."""
    values = [Fraction(number) for number in numbers]
    if not values or any(a > b for a, b in pairwise(values)):
        raise ValueError("values of an ordered domain are at least one, and ascend")
    return values


def _require_bins(bins: int) -> None:
    if bins < 1:
        raise ValueError(f"{bins} bins; expected at least 1")


def _without_gaps(bin_of: IntArray) -> IntArray:
    """The same bins, numbered without gaps."""
    return np.cumsum(np.diff(bin_of, prepend=bin_of[:1]) > 0).astype(np.int64)
