"""Counts of rows by key: made by tasks and added up, or made in one process that has all rows of a
table. Samples of rows for a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.rows import Rows, mixed_hashes


class TooManyKeysError(ValueError):
    """More different keys than allowed."""


@dataclass(frozen=True)
class Tally:
    """Every key once, in ascending order, with its number of rows.

    keys: a column per key, shape (words, keys). The first differing word decides the order of two
        keys.
    rows: at least 1, shape (keys,).
    """

    keys: IntArray
    rows: IntArray

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def of(keys: IntArray, rows: IntArray | None = None) -> Tally:
        """The tally of keys in any order, shape (words, n), with these numbers of rows, shape (n,),
        or one row each.

        >>> made = Tally.of(np.array([[3, 1, 3], [0, 2, 0]]))
        >>> made.keys.tolist(), made.rows.tolist()
        ([[1, 3], [2, 0]], [1, 2])
        """
        rows = np.ones(keys.shape[1], dtype=np.int64) if rows is None else rows
        if not len(rows):
            return Tally(keys, rows)
        order = np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])
        ordered = keys[:, order]
        starts = np.flatnonzero(np.append(True, np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)))
        return Tally(ordered[:, starts], np.add.reduceat(rows[order], starts))

    @staticmethod
    def together(parts: Sequence[Tally]) -> Tally:
        """The sum of several tallies.

        >>> one = Tally.of(np.array([[3, 1]]))
        >>> Tally.together([one, one]).rows.tolist()
        [2, 2]
        """
        if len(parts) == 1:
            return parts[0]
        return Tally.of(
            np.concatenate([part.keys for part in parts], axis=1),
            np.concatenate([part.rows for part in parts]),
        )

    def take(self, places: IntArray) -> Tally:
        """The keys at these ascending places."""
        return Tally(self.keys[:, places], self.rows[places])

    def part_of(self, parts: int) -> HashArray:
        """A part 0..parts-1 for each key, decided by the key alone and evenly distributed, shape
        (keys,).
        """
        mixed = np.zeros(len(self), dtype=np.uint64)
        for word in self.keys.view(np.uint64):
            mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        return mixed % np.uint64(parts)


class Tallier:
    """Adds tallies up as they arrive, in memory for about twice the number of keys."""

    def __init__(self, most: int) -> None:
        self._most, self._parts, self._held, self._settled = most, list[Tally](), 0, 0

    def add(self, tally: Tally) -> None:
        """Adds one tally.

        Raises:
            TooManyKeysError: if there are more than `most` keys.
        """
        self._parts.append(tally)
        self._held += len(tally)
        if self._held > max(2 * self._settled, self._most // 8):
            self._settle()

    def _settle(self) -> None:
        self._parts = [Tally.together(self._parts)]
        self._held = self._settled = len(self._parts[0])
        if self._settled > self._most:
            raise TooManyKeysError

    def total(self) -> Tally | None:
        """The sum; None if nothing was added.

        Raises:
            TooManyKeysError: see `add`.
        """
        if not self._parts:
            return None
        self._settle()
        return self._parts[0]


def sampled_copies(hashes: HashArray, n: IntArray, rows: int, most: int) -> IntArray:
    """How many copies of each row a sample of about `most` of the table's rows has, shape (different
    rows,).

    These are the row's share of the sample. Chance decides on the part of a copy that remains. The
    chance follows from the hash, so it does not depend on partitions. It follows from `most`, too,
    so a smaller sample of a sample is drawn anew.

    hashes, n: of the different rows, and the number of each. rows: of the table.

    >>> sampled_copies(np.arange(3, dtype=np.uint64), np.array([1, 40, 2]), 43, 43).tolist()
    [1, 40, 2]
    """
    if most >= rows:
        return n
    chances = mixed_hashes(hashes, most) / 2.0**64
    return np.floor(n * (most / rows) + chances).astype(np.int64)


def representative(different: Rows, n: IntArray, rows: int, most: int) -> Rows:
    """About `most` rows that represent a table, in the order of its different rows: see
    `sampled_copies`.
    """
    copies = sampled_copies(different.hash, n, rows, most)
    return different.take(np.repeat(np.arange(len(copies)), copies))


@dataclass(frozen=True)
class LocalRows:
    """Rows in memory."""

    rows: Rows

    def sample(self, most: int) -> Rows:
        """About `most` rows that represent the table, in the order of their hashes."""
        different, n = self.rows.distinct(np.ones(len(self.rows), dtype=np.int64))
        return representative(different, n, len(self.rows), most)

    def counts(self, group_of: Callable[[Rows], IntArray], groups: int) -> IntArray:
        """The number of rows in each of the groups that `group_of` assigns, shape (groups,)."""
        return np.bincount(group_of(self.rows), minlength=groups)

    def frequencies(self, tally_of: Callable[[Rows], Tally], most: int) -> Tally:
        """The number of rows by key.

        Raises:
            TooManyKeysError: if there are more than `most` keys.
        """
        tally = tally_of(self.rows)
        if len(tally) > most:
            raise TooManyKeysError
        return tally
