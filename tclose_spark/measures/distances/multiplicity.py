"""The multiplicity matrix: how many rows have each tuple of sensitive values (Gowda 2023, 4.2.1 and
4.5). Only tuples that occur are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose_spark.table.arrays import IntArray

EXACT_FLOAT = 1 << 53


def sum_at(places: IntArray, weights: IntArray, length: int) -> IntArray:
    """Sum of the weights (>= 0) at each place 0..length-1, shape (length,), exact in 64 bits.

    >>> sum_at(np.array([2, 0, 2]), np.array([1, 5, 10]), 4).tolist()
    [5, 0, 11, 0]
    """
    # bincount adds in floats and is several times faster; its sums are exact below 2^53.
    if float(weights.sum(dtype=np.float64)) < EXACT_FLOAT:
        return np.bincount(places, weights, minlength=length).astype(np.int64)
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, places, weights)
    return sums


def rank_tuples(codes: IntArray) -> IntArray:
    """The rank of each row among the distinct rows, from 0, shape (rows,). codes: shape (rows,
    columns).

    >>> rank_tuples(np.array([[1, 0], [0, 2], [1, 0], [0, 1]])).tolist()
    [2, 1, 2, 0]
    """
    order = np.lexsort(codes.T[::-1])
    number = np.empty(len(codes), dtype=np.int64)
    number[order] = np.cumsum(np.append(False, (np.diff(codes[order], axis=0) != 0).any(axis=1)))
    return number


@dataclass(frozen=True)
class MultiplicityMatrix:
    """A sparse matrix with one dimension for each sensitive attribute; its size follows the
    distinct tuples.

    codes: shape (cells, attributes); the tuples. They are distinct unless several values have one
        code.
    counts: shape (cells,); rows with that tuple, at least 1.
    domains: the size of the domain of each attribute.
    """

    codes: IntArray
    counts: IntArray
    domains: tuple[int, ...]

    @property
    def attributes(self) -> int:
        """The dimensions of the matrix."""
        return len(self.domains)

    @property
    def cells(self) -> int:
        """How many distinct tuples there are."""
        return len(self.counts)

    @property
    def rows(self) -> int:
        """|M|, the sum of all counts."""
        return int(self.counts.sum())

    def marginal(self, attribute: int) -> IntArray:
        """The slice sums of an attribute, its histogram, shape (m,) (Gowda 2023, Definition 1 and
        4.5).

        >>> MultiplicityMatrix(np.array([[0, 2], [1, 0]]), np.array([1, 4]), (2, 3)).marginal(1).tolist()
        [4, 0, 1]
        """
        return sum_at(self.codes[:, attribute], self.counts, self.domains[attribute])
