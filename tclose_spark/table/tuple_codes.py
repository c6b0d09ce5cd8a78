"""Tuples of values as numbers, in the order of the tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True)
class TupleCodes:
    """The tuples of some columns of codes that occur, numbered from 0.

    columns: their places. domains: how many codes each has.
    keys: for the second of these columns and each later one, the pairs that occur of the number of
        the tuple so far and the column's code, as one number (the first times the domain, plus the
        second), ascending.
    """

    columns: tuple[int, ...]
    domains: tuple[int, ...]
    keys: tuple[IntArray, ...]

    @staticmethod
    def of(codes: IntArray, columns: Sequence[int], domains: Sequence[int]) -> TupleCodes:
        """The tuples in rows of codes, shape (tuples, all columns). domains: of these columns.

        >>> codes = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 0], [1, 0, 0]])
        >>> TupleCodes.of(codes, (0, 2), (2, 2)).encode(codes).tolist()
        [1, 2, 0, 2]
        """
        keys: list[IntArray] = []
        number = codes[:, columns[0]]
        for column, domain in zip(columns[1:], domains[1:], strict=True):
            occurring, number = np.unique(number * domain + codes[:, column], return_inverse=True)
            keys.append(occurring)
        return TupleCodes(tuple(columns), tuple(domains), tuple(keys))

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(self.keys[-1]) if self.keys else self.domains[0]

    def encode(self, codes: IntArray) -> IntArray:
        """The number of each tuple, shape (tuples,). codes: shape (tuples, all columns), of tuples
        that occur.
        """
        number = codes[:, self.columns[0]]
        for keys, column, domain in zip(self.keys, self.columns[1:], self.domains[1:], strict=True):
            number = np.searchsorted(keys, number * domain + codes[:, column])
        return number
