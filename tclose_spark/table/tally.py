"""Counts of rows by key: made by tasks and added up, or made in one process that has all rows of a
table, and samples of them for a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose_spark.table.arrays import NO_HASHES, HashArray, IntArray
from tclose_spark.table.rows import Rows


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


LOW_BITS = np.uint64(2**31 - 1)
ALL = np.uint64(2**31)
"""The bound on low bits that draws every row."""
FREQUENT = 100_000
"""A row is frequent if one in so many rows of the table is like it, and at least two are."""


def share_of(most: int, distinct_rows: int) -> np.uint64:
    """The bound on the low bits of a row's hash that draws about `most` different rows."""
    return np.uint64(min(1.0, most / distinct_rows) * 2**31)


def least_frequent(rows: int) -> int:
    """How many copies a frequent row has at least in a table of so many rows.

    >>> least_frequent(1_000), least_frequent(10_000_000)
    (2, 100)
    """
    return max(2, -(-rows // FREQUENT))


def frequent_in_part(hashes: HashArray, rows: int) -> tuple[HashArray, IntArray, int]:
    """(hashes of a part's rows that may be frequent in the whole table, ascending; the number of
    each; how many rows of the part any other hash has at most). rows: of the whole table.

    These have at least half of a frequent row's share in the part. A frequent row has its whole
    share in some part, so it is found.
    """
    least = max(1, -(-least_frequent(rows) * len(hashes) // (2 * rows)))
    found, n = np.unique(hashes, return_counts=True)
    return found[n >= least], n[n >= least], least - 1


def frequent_in_all(hashes: HashArray, n: IntArray, unseen: int, rows: int) -> HashArray:
    """Those of the hashes of all parts that may still be frequent, ascending: at most 2 * FREQUENT,
    because the unseen copies are fewer than half of those of a frequent row.

    hashes, n, unseen: as `frequent_in_part` found them, one part after another, and the sum.
    """
    tally = Tally.of(hashes.view(np.int64)[None], n)
    return np.sort(tally.keys[0, tally.rows + unseen >= least_frequent(rows)].view(np.uint64))


def draw(rows: Rows, share: np.uint64, frequent: HashArray) -> tuple[Rows, IntArray]:
    """The different rows whose low hash bits are below the bound, and those with a frequent hash;
    the number of each. frequent: ascending.
    """
    drawn = (rows.hash & LOW_BITS) < share
    if len(frequent):
        place = np.minimum(np.searchsorted(frequent, rows.hash), len(frequent) - 1)
        drawn |= frequent[place] == rows.hash
    some = rows.take(np.flatnonzero(drawn))
    return some.distinct(np.ones(len(some), dtype=np.int64))


def representative(
    drawn: Rows,
    n: IntArray,
    share: np.uint64,
    rows: int,
    most: int,
) -> Rows:
    """At most `most` rows that represent a table of so many rows.

    A frequent row stands for its copies. The others that were drawn by the low bits of their hashes
    stand for all that are not frequent. If chance drew frequent rows, a few of them would decide
    what the sample looks like.

    drawn, n: different rows and the number of each, from `draw` with this share.
    """
    is_frequent = n >= least_frequent(rows)
    is_low = ~is_frequent & ((drawn.hash & LOW_BITS) < share)
    low_rows = max(int(n[is_low].sum()), 1)
    weight = max(rows - int(n[is_frequent].sum()), 0) / low_rows
    stands_for = n * np.where(is_frequent, 1.0, np.where(is_low, weight, 0.0))
    before = np.append(0.0, np.cumsum(stands_for))
    if not before[-1]:
        return drawn.take(np.zeros(0, dtype=np.int64))
    taken = np.floor(before * min(most, before[-1]) / before[-1]).astype(np.int64)
    return drawn.take(np.repeat(np.arange(len(n)), np.diff(taken)))


@dataclass(frozen=True)
class LocalRows:
    """Rows in memory.

    distinct_rows: about how many different rows the table has that they are drawn from.
    """

    rows: Rows
    distinct_rows: int

    def sample(self, most: int) -> Rows:
        """About `most` rows that represent the table, in the order of their hashes."""
        rows = len(self.rows)
        if not rows:
            return self.rows
        share = share_of(most, self.distinct_rows)
        frequent = frequent_in_part(self.rows.hash, rows)[0] if share < ALL else NO_HASHES
        return representative(*draw(self.rows, share, frequent), share, rows, most)

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
