"""Conformance: a class takes the same share of its rows from each fragment as the table has there, and what it costs in
size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from tclose_spark.measures.multiplicity import MultiplicityMatrix, tally
from tclose_spark.table.arrays import IntArray


def conforming(
    in_class: Sequence[int] | IntArray, in_table: Sequence[int] | IntArray, class_rows: int, rows: int
) -> NDArray[np.bool_]:
    """Whether a class conforms to each of some fragments, shape (fragments,) (Gowda 2023, Definition 8).

    in_class, in_table: rows of the class and of the table in each fragment. class_rows, rows: of the class and of the
    table in all. Exact.

    >>> conforming([1, 2], [3, 6], 3, 9).tolist(), conforming([2, 1], [3, 6], 3, 9).tolist()
    ([True, True], [False, False])
    """
    pairs = zip(in_class, in_table, strict=True)
    return np.array([int(part) * rows == int(whole) * class_rows for part, whole in pairs], dtype=bool)


def conforms(class_counts: IntArray, matrix: MultiplicityMatrix, fragment_of: IntArray) -> bool:
    """Whether a class conforms to every fragment (Gowda 2023, Definition 8).

    class_counts: shape (cells,); rows of the class in each cell. fragment_of: shape (cells,).

    >>> matrix = MultiplicityMatrix(np.array([[0], [1], [2]]), np.array([2, 2, 4]), (3,))
    >>> conforms(np.array([2, 0, 2]), matrix, np.array([0, 0, 1]))  # half from each fragment, as the table
    True

    Raises:
        ValueError: if the class has no rows.
    """
    class_rows = int(class_counts.sum())
    if not class_rows:
        raise ValueError("a class without rows has no distribution")
    fragments = int(fragment_of.max()) + 1
    in_class, in_table = (tally(fragment_of, counts, fragments) for counts in (class_counts, matrix.counts))
    return bool(conforming(in_class, in_table, class_rows, matrix.rows).all())


def gcd_classes(fragment_sizes: Sequence[int] | IntArray) -> int:
    """The most classes of one size that conform exactly: the greatest common divisor of the fragments' rows (Gowda
    2023, 4.4.2).

    >>> gcd_classes([6, 9, 12])
    3
    """
    return gcd(*(int(size) for size in fragment_sizes))


def gcd_class_size(fragment_sizes: Sequence[int] | IntArray) -> int:
    """The rows of each of these classes: the least size of a class that conforms exactly (Gowda 2023, 4.4.2).

    >>> gcd_class_size([6, 9, 12])
    9
    """
    return sum(int(size) for size in fragment_sizes) // gcd_classes(fragment_sizes)
