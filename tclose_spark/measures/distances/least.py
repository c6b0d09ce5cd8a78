"""How close a class of so many rows can be to the table, if values are equally far apart.

The distance is the share of the table that a class lacks (variational distance, Li et al. 2007,
section 4): EMD = 1 - sum over values v of min(c_v / s, N_v / n). If all n rows have different
values, that is 1 - s / n.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose_spark.table.arrays import IntArray, exact


def least_distance(table: IntArray, size: int) -> Fraction:
    """The least distance of a class of this many rows. Every value takes the rows that it has
    fully, s N_v / n rounded down; the other rows go to the values that lack most of a row.

    table: rows of the table by value, shape (m,).

    >>> least_distance(np.array([3, 1]), 2), least_distance(np.ones(10, dtype=np.int64), 4)
    (Fraction(1, 4), Fraction(3, 5))
    """
    n = int(table.sum())
    ideal = exact(table, 4 * n * size) * size
    floors = ideal // n
    parts = ideal - floors * n
    left = size - int(floors.sum())
    covered = int(floors.sum()) * n + int(np.sort(parts)[::-1][:left].sum())
    return 1 - Fraction(covered, n * size)


def fewest_rows(table: IntArray, t: Fraction) -> int:
    """The rows below which no class can be within t of the table: it lacks at least the values that
    no row of it has.

    >>> fewest_rows(np.ones(10, dtype=np.int64), Fraction(3, 10)), fewest_rows(np.array([9, 1]), Fraction(1, 5))
    (7, 1)
    """
    covered = [int(n) for n in np.cumsum(np.sort(table)[::-1])]
    return next(i for i, rows in enumerate(covered, start=1) if rows >= (1 - t) * covered[-1])
