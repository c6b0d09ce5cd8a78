"""All rows of a table in one process: samples for a plan, and counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tclose_spark.table.arrays import IntArray
from tclose_spark.table.rows import Rows
from tclose_spark.table.tally import Tally, TooManyKeysError

LOW_BITS = np.uint64(2**31 - 1)


def share_of(most: int, distinct_rows: int) -> np.uint64:
    """The bound on the low bits of a row's hash that draws about `most` different rows."""
    return np.uint64(min(1.0, most / distinct_rows) * 2**31)


def draw(rows: Rows, share: np.uint64) -> tuple[Rows, IntArray]:
    """The different rows whose low hash bits are below the bound, and the number of each."""
    drawn = rows.take(np.flatnonzero((rows.hash & LOW_BITS) < share))
    return drawn.distinct(np.ones(len(drawn), dtype=np.int64))


def repeated(drawn: Rows, n: IntArray, most: int) -> Rows:
    """At most `most` rows: each row with its share of the n equal rows."""
    before = np.append(0, np.cumsum(n))
    return drawn.take(
        np.repeat(np.arange(len(n)), np.diff(before * min(most, before[-1]) // before[-1]))
    )


@dataclass(frozen=True)
class LocalRows:
    """Rows in memory.

    distinct_rows: about how many different rows the table has that they are drawn from.
    """

    rows: Rows
    distinct_rows: int

    def sample(self, most: int) -> Rows:
        """About `most` rows that represent the table, in the order of their hashes."""
        drawn, n = draw(self.rows, share_of(most, self.distinct_rows))
        return repeated(drawn, n, most)

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
