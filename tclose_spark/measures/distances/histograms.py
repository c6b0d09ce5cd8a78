"""Sparse histograms of a sensitive attribute, one for each equivalence class, in one pair of flat
arrays; and the multiplicity matrix: how many rows have each tuple of sensitive values (Gowda 2023,
4.2.1 and 4.5). Only tuples that occur are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose_spark.table.arrays import IntArray


@dataclass(frozen=True)
class Histograms:
    """`groups` histograms over the codes 0..m-1 of one domain; only the values that occur are kept.

    offsets: shape (groups + 1,); histogram g is the slice offsets[g]:offsets[g + 1] of the other
        two.
    values: shape (entries,); codes, strictly increasing inside a histogram.
    counts: shape (entries,); records with that value, at least 1.
    """

    offsets: IntArray
    values: IntArray
    counts: IntArray

    def __post_init__(self) -> None:
        if np.any(np.diff(self.offsets) < 1):
            raise ValueError("a histogram without records has no distribution")

    @property
    def groups(self) -> int:
        """How many histograms there are."""
        return len(self.offsets) - 1

    @property
    def starts(self) -> IntArray:
        """First entry of each histogram, shape (groups,): what `reduceat` wants."""
        return self.offsets[:-1]

    @property
    def entries_of(self) -> IntArray:
        """Number of entries of each histogram, shape (groups,)."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> IntArray:
        """The histogram of each entry, shape (entries,)."""
        return np.repeat(np.arange(self.groups, dtype=np.int64), self.entries_of)

    @property
    def sizes(self) -> IntArray:
        """Records in each histogram, shape (groups,)."""
        return np.add.reduceat(self.counts, self.starts)

    @property
    def largest(self) -> IntArray:
        """Records with the most frequent value of each histogram, shape (groups,)."""
        return np.maximum.reduceat(self.counts, self.starts)

    def take(self, groups: IntArray) -> Histograms:
        """Some of the histograms, in this order.

        >>> made = Histograms.dense(np.array([[4, 0, 0], [0, 1, 2]])).take(np.array([1]))
        >>> made.values.tolist(), made.counts.tolist()
        ([1, 2], [1, 2])
        """
        lengths = self.entries_of[groups]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(self.starts[groups] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Histograms(offsets, self.values[entries], self.counts[entries])

    def without(self, code: int) -> tuple[Histograms, IntArray]:
        """(the histograms without this value, of those that have others; which these are).

        >>> made, some = Histograms.dense(np.array([[4, 0, 1], [0, 0, 2]])).without(2)
        >>> made.counts.tolist(), some.tolist()
        ([4], [0])
        """
        kept = self.values != code
        left = np.add.reduceat(kept.astype(np.int64), self.starts)
        some = np.flatnonzero(left)
        return Histograms(
            np.append(0, np.cumsum(left[some])),
            self.values[kept],
            self.counts[kept],
        ), some

    def total(self, domain: int) -> IntArray:
        """Records with each value in all histograms together, shape (domain,)."""
        counts = np.zeros(domain, dtype=np.int64)
        np.add.at(counts, self.values, self.counts)
        return counts

    @staticmethod
    def tally(
        owner: IntArray,
        values: IntArray,
        counts: IntArray,
        groups: int,
        domain: int,
    ) -> Histograms:
        """The histograms of weighted observations in any order: record i is `counts[i]` times
        `values[i]` in `owner[i]`.

        Every group 0..groups-1 must own at least one observation.

        >>> owner, values = np.array([1, 0, 1, 1]), np.array([2, 0, 2, 1])
        >>> made = Histograms.tally(owner, values, np.array([1, 4, 1, 1]), groups=2, domain=3)
        >>> made.offsets.tolist(), made.values.tolist(), made.counts.tolist()
        ([0, 1, 3], [0, 1, 2], [4, 1, 2])

        Raises:
            ValueError: if a group has no observation.
        """
        key = owner * np.int64(domain) + values
        order = np.argsort(key)
        key = key[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        offsets = np.searchsorted(key[first], np.arange(groups + 1, dtype=np.int64) * domain)
        return Histograms(
            offsets.astype(np.int64),
            key[first] % domain,
            np.add.reduceat(counts[order], first),
        )

    @staticmethod
    def dense(table: IntArray) -> Histograms:
        """The histograms in the rows of a (groups, m) table of counts.

        >>> made = Histograms.dense(np.array([[4, 0, 0], [0, 1, 2]]))
        >>> made.values.tolist(), made.counts.tolist(), made.sizes.tolist()
        ([0, 1, 2], [4, 1, 2], [4, 3])
        """
        owner, values = np.nonzero(table)
        offsets = np.searchsorted(owner, np.arange(len(table) + 1))
        return Histograms(
            offsets.astype(np.int64),
            values.astype(np.int64),
            table[owner, values].astype(np.int64),
        )


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
