"""What it tells that a class of disjoint regions was not cut further.

A method that cuts regions until nothing more is allowed refuses a cut because a side has fewer than k rows, or is
farther than t. An adversary who knows the method and everybody's quasi-identifiers knows how many rows lie on each side
of every line. Where both sides have k rows, one of them must be farther than t. If no arrangement of the class's values
that gives side A fewer than j rows of a value makes any side too far, then A has j of them at least.

It matters where a value's share is below t, so that a side without it may be close enough: table .1 flu, t = .1, k = 5,
a class of 5 and 25 rows with 3 flu in all. The 25 cannot exceed .2, so at least 2 of the 5 have flu.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from tclose_spark.measures.distances import GroundDistance
from tclose_spark.measures.histograms import Histograms
from tclose_spark.table.arrays import IntArray

MOST_PRESENT = 8  # values of a class of which all arrangements are looked at; of more, a few


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is known of one side of a refused cut.

    rows: of that side. value: code of a sensitive value. at_least: how many of these rows have it, for certain.
    """

    rows: int
    value: int
    at_least: int


def sides_of(codes: IntArray, k: int, most: int, median_only: bool) -> list[int]:
    """The rows below each line between two values of a class where both sides have at least k rows.

    codes: of one quasi-identifier, shape (n,). most: lines that the method looks at; a class with more has none here.
    median_only: whether the method looks at the line nearest to the median alone, the lower one of two.

    >>> sides_of(np.array([1, 1, 2, 3, 3, 3]), k=2, most=16, median_only=False)
    [2, 3]
    """
    below = np.cumsum(np.unique(codes, return_counts=True)[1])[:-1]
    if not len(below) or len(below) > most:
        return []
    if median_only:
        below = below[[int(np.argmin(np.abs(2 * below - len(codes))))]]
    return [int(rows) for rows in below if k <= rows <= len(codes) - k]


def told_by_refusal(
    counts: Sequence[IntArray], rows: int, distances: Sequence[tuple[GroundDistance, Fraction | None]], attribute: int
) -> list[Told] | None:
    """What the refusal of a cut tells of both sides of a class; None where its values are too many to look at.

    counts: of each attribute the class's rows by value, shape (m,), in the order of `distances`, which have the t of
    each. rows: of one side. attribute: the one that is asked of.

    Nothing is told for certain of one attribute where another one may have been the reason.
    """
    distance, t = distances[attribute]
    if t is None:
        return []
    class_ = counts[attribute]
    for other, (of_other, t_of_other) in enumerate(distances):
        if other != attribute and t_of_other is not None:
            corners, complete = _corners(counts[other], rows)
            if _exceeds(corners, counts[other], of_other, t_of_other):
                return []
            if not complete:
                return None
    told, size = [], int(class_.sum())
    for side in (rows, size - rows):
        for value in np.flatnonzero(class_).tolist():
            certain = _at_least(class_, side, value, distance, t)
            if certain is None:
                return None
            if certain * size > int(class_[value]) * side:
                told.append(Told(rows=side, value=value, at_least=certain))
    return told


def _at_least(counts: IntArray, side: int, value: int, distance: GroundDistance, t: Fraction) -> int | None:
    """The rows of a value that a side has at least, where one of the sides is farther than t; None: not known."""
    fewest, most = max(0, side - int(counts.sum() - counts[value])), min(side, int(counts[value]))
    for j in range(fewest, most + 1):
        corners, complete = _corners(counts, side, (value, j))
        if _exceeds(corners, counts, distance, t):
            return j
        if not complete:
            return None
    return fewest  # no arrangement is too far: something else refused the cut


def _exceeds(sides: IntArray, counts: IntArray, distance: GroundDistance, t: Fraction) -> bool:
    """Whether any of these sides, or what is left of the class beside it, is farther than t."""
    for part in (sides, counts - sides):
        scale = distance.scale * int(distance.table.sum()) * int(part[0].sum())
        worst = max(int(numerator) for numerator in distance.numerators(Histograms.dense(part)))
        if worst * t.denominator > t.numerator * scale:
            return True
    return False


def _corners(counts: IntArray, side: int, fixed: tuple[int, int] | None = None) -> tuple[IntArray, bool]:
    """(corners of all arrangements that put `side` of a class's rows on one side, shape (corners, m); whether these are
    all corners).

    A distance is convex, so the farthest arrangement is a corner: all rows of some values, none of others, and what is
    left of one value. fixed: a value, and how many rows of it are on that side.
    """
    free = [int(v) for v in np.flatnonzero(counts) if fixed is None or v != fixed[0]]
    complete = len(free) < MOST_PRESENT
    by_rows = sorted(free, key=lambda v: int(counts[v]))
    orders = permutations_of(free) if complete else [free, free[::-1], by_rows, by_rows[::-1]]
    corners = set()
    for order in orders:
        corner, left = [0] * len(counts), side - (fixed[1] if fixed else 0)
        if fixed:
            corner[fixed[0]] = fixed[1]
        for value in order:
            corner[value] = min(left, int(counts[value]))
            left -= corner[value]
        corners.add(tuple(corner))
    return np.array(sorted(corners), dtype=np.int64), complete


def permutations_of(values: Sequence[int]) -> Iterator[list[int]]:
    """Orders of values in which each set of them comes first, followed by each other one.

    >>> sorted(set(map(tuple, permutations_of([1, 2, 3]))))[:3]
    [(1, 2, 3), (1, 3, 2), (2, 1, 3)]
    """
    for last in values or [-1]:
        others = [value for value in values if value != last]
        for first in product((True, False), repeat=len(others)):
            inside = [value for value, taken in zip(others, first, strict=True) if taken]
            outside = [value for value, taken in zip(others, first, strict=True) if not taken]
            yield [*inside, *([last] if values else []), *outside]
