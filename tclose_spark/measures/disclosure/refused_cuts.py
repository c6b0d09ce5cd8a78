"""What it reveals that a class of disjoint regions was not cut further.

A method that cuts regions as long as it may refuses a cut if a side has fewer than k rows, or is
farther than t. An adversary who knows the method and all quasi-identifiers knows how many rows are
on each side of every line. If both sides have k rows, one of them must be farther than t. Side A
then has at least j rows of a value, if no arrangement that gives it fewer makes a side too far.

Such a bound matters if a value's share is below t, so that a side without it may be close enough.
Example: table .1 flu, t = .1, k = 5, sides of 5 and 25 rows with 3 flu in all. The 25 cannot exceed
.2, so at least 2 of the 5 have flu.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.distances.ground_distances import GroundDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.table.arrays import IntArray

MOST_PRESENT = 6  # values of a class up to which all arrangements are tried


@dataclass(frozen=True, kw_only=True)
class Disclosure:
    """What is known about one side of a refused cut.

    rows: of that side. value: code of a sensitive value. at_least: how many of these rows certainly
        have it.
    """

    rows: int
    value: int
    at_least: int


def rows_below_cuts(codes: IntArray, k: int, most: int, median_only: bool) -> list[int]:
    """The rows below each line between two values of a class that leaves at least k rows on both
    sides.

    codes: of one quasi-identifier, shape (n,).
    most: a class with more lines returns none.
    median_only: only the line nearest to the median, the lower one of two.

    >>> rows_below_cuts(np.array([1, 1, 2, 3, 3, 3]), k=2, most=16, median_only=False)
    [2, 3]
    """
    below = np.cumsum(np.unique(codes, return_counts=True)[1])[:-1]
    if not len(below) or len(below) > most:
        return []
    if median_only:
        below = below[[int(np.argmin(np.abs(2 * below - len(codes))))]]
    return [int(rows) for rows in below if k <= rows <= len(codes) - k]


def disclosed_by_refusal(
    counts: Sequence[IntArray],
    rows: int,
    distances: Sequence[tuple[GroundDistance, Fraction | None]],
    attribute: int,
) -> list[Disclosure] | None:
    """What the refusal of a cut discloses about both sides of a class; None if it has too many
    values to decide.

    counts: by attribute the class's rows by value, shape (m,), in the order of `distances`, which
        also give each t.
    rows: of one side.
    attribute: the one in question.

    Nothing is certain about one attribute if another one may have been the reason.
    """
    if distances[attribute][1] is None:
        return []
    for other, (distance, t) in enumerate(distances):
        if other != attribute and t is not None:
            cuts = _Cuts(counts[other], rows, distance, t)
            if len(cuts.too_far(cuts.greedy)) or (
                cuts.complete and len(cuts.too_far(cuts.all_orders))
            ):
                return []
            if not cuts.complete:
                return None
    distance, t = distances[attribute]
    assert t is not None
    return _Cuts(counts[attribute], rows, distance, t).disclosed()


class _Cuts:
    """The ways to put `rows` of a class's rows on one side; they differ in the rows of each value.

    A distance is convex, so the farthest arrangement is a corner: all rows of some values, none of
    others, and the rest from one value. An order of values gives a corner: its first values are on
    that side.
    """

    def __init__(self, counts: IntArray, rows: int, distance: GroundDistance, t: Fraction) -> None:
        """counts: of the class, by value, shape (m,)."""
        self._counts = counts
        self._rows = rows
        self._distance = distance
        self._present = np.flatnonzero(counts)
        self._sizes = np.array([rows, int(counts.sum()) - rows])
        unit = distance.scale * int(distance.table.sum()) * t.numerator
        self._most = [unit * int(size) // t.denominator for size in self._sizes]

    @property
    def complete(self) -> bool:
        """Whether there are few enough values to try all corners."""
        return len(self._present) <= MOST_PRESENT

    @property
    def greedy(self) -> IntArray:
        """A few orders of the values, by code and by rows, with each value first and last, shape
        (orders, present).
        """
        by_rows = np.argsort(self._counts[self._present], kind="stable")
        few = few_orders(len(by_rows))
        orders: IntArray = self._present[np.concatenate([few, by_rows[few]])]
        return orders

    @property
    def all_orders(self) -> IntArray:
        """Orders that give all corners, shape (orders, present)."""
        return self._present[orders_of(len(self._present))]

    def too_far(self, orders: IntArray, fixed: tuple[int, int] | None = None) -> IntArray:
        """The corners of these orders with a side farther than t, shape (corners, m).

        fixed: a value that no order has, and its rows on the side.
        """
        corners = np.zeros((len(orders), len(self._counts)), dtype=np.int64)
        available = self._counts[orders]
        before = np.cumsum(available, axis=1) - available
        left = self._rows - (fixed[1] if fixed else 0)
        np.put_along_axis(corners, orders, np.clip(left - before, 0, available), axis=1)
        if fixed:
            corners[:, fixed[0]] = fixed[1]
        numerators = self._distance.numerators(
            Histograms.dense(np.concatenate([corners, self._counts - corners])),
        )
        here = numerators[: len(corners)]
        there = numerators[len(corners) :]
        far: IntArray = corners[(here > self._most[0]) | (there > self._most[1])]
        return far

    def disclosed(self) -> list[Disclosure] | None:
        """See `disclosed_by_refusal`. Nothing is disclosed of a value if an arrangement that is too
        far gives the side no more of it than the class's share. A few orders usually find one.
        """
        open_ = np.zeros((2, len(self._counts)), dtype=bool)
        open_[:, self._present] = True
        open_ &= ~self._shown(self.too_far(self.greedy))
        if not open_.any():
            return []
        if not self.complete:
            return None
        far = self.too_far(self.all_orders)
        if not len(far):
            return []  # no arrangement is too far: something else refused the cut
        open_ &= ~self._shown(far)
        found = (
            (side, value, self._at_least(side, value))
            for side, value in np.argwhere(open_).tolist()
        )
        size = int(self._counts.sum())
        return [
            Disclosure(rows=int(self._sizes[side]), value=value, at_least=certain)
            for side, value, certain in found
            if certain * size > int(self._counts[value] * self._sizes[side])
        ]

    def _shown(self, far: IntArray) -> NDArray[np.bool_]:
        """Values of which some arrangement has no more rows on a side than its share, shape
        (2, m).
        """
        parts = np.stack([far, self._counts - far], axis=1)
        shown: NDArray[np.bool_] = np.any(
            parts * self._counts.sum() <= self._counts * self._sizes[:, None],
            axis=0,
        )
        return shown

    def _at_least(self, side: int, value: int) -> int:
        """The least rows of a value on a side in any arrangement that is too far."""
        others = self._present[self._present != value]
        orders = others[orders_of(len(others))]
        rows = int(self._sizes[side])
        of_value = int(self._counts[value])
        for j in range(max(0, rows - int(self._counts[others].sum())), min(rows, of_value)):
            if len(self.too_far(orders, (value, of_value - j if side else j))):
                return j
        return min(rows, of_value)


@cache
def few_orders(n: int) -> IntArray:
    """0..n-1 upwards and downwards, with each of them first and last, shape (4 n, n).

    >>> few_orders(2).tolist()
    [[0, 1], [0, 1], [1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    """
    up = np.arange(n)
    first = np.array(
        [[value, *one[one != value]] for value in up for one in (up, up[::-1])],
        dtype=np.int64,
    )
    return np.concatenate([first, np.roll(first, -1, axis=1)])


@cache
def orders_of(n: int) -> IntArray:
    """Orders of 0..n-1 in which each set of them comes first, followed by each other one, shape
    (orders, n).

    >>> sorted(set(map(tuple, orders_of(3).tolist())))[:3]
    [(0, 1, 2), (0, 2, 1), (1, 0, 2)]
    """
    orders = []
    for last in range(n):
        others = [value for value in range(n) if value != last]
        for first in product((True, False), repeat=len(others)):
            inside = [value for value, taken in zip(others, first, strict=True) if taken]
            outside = [value for value, taken in zip(others, first, strict=True) if not taken]
            orders.append([*inside, last, *outside])
    return np.array(orders or [[]], dtype=np.int64)
