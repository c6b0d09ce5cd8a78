"""How often the values of a column occur, of those whose hashes are lowest: a sample of values, not of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose_spark.table.arrays import HashArray, IntArray

MOST_SAMPLED = 4096


@dataclass(frozen=True)
class ValueSample:
    """The MOST_SAMPLED lowest of some 64-bit hashes, ascending, and how many rows have each; all, if they are fewer.

    It follows from the values alone, in whatever order and however many parts they are: a hash among the lowest of all
    is among those of each part that has it. Where one value of a thousand occurs twice, 98 of 100 samples have
    such a one.
    """

    hashes: HashArray
    counts: IntArray

    @staticmethod
    def empty() -> ValueSample:
        """Of no hashes."""
        return ValueSample(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64))

    def add(self, hashes: HashArray, counts: IntArray | None = None) -> ValueSample:
        """With more rows: the hash of each, shape (n,), or of `counts` rows each.

        >>> ValueSample.empty().add(np.array([7, 9, 7], dtype=np.uint64)).counts.tolist()
        [2, 1]
        """
        counts = np.ones(len(hashes), dtype=np.int64) if counts is None else counts
        if len(self.hashes) == MOST_SAMPLED:
            low = hashes <= self.hashes[-1]
            hashes, counts = hashes[low], counts[low]
        lowest, place = np.unique(np.concatenate([self.hashes, hashes]), return_inverse=True)
        sums = np.zeros(len(lowest), dtype=np.int64)
        np.add.at(sums, place, np.concatenate([self.counts, counts]))
        return ValueSample(lowest[:MOST_SAMPLED], sums[:MOST_SAMPLED])

    @property
    def repeats(self) -> bool:
        """Whether a value of the sample has several rows."""
        return bool(np.any(self.counts > 1))

    @property
    def distinct(self) -> int:
        """How many different values there are: of fewer than MOST_SAMPLED exactly, else about, with a standard error of
        1.6 % (Beyer, Haas, Reinwald, Sismanis and Gemulla 2007, section 4: (k - 1) / the k-th lowest hash).
        """
        if len(self.hashes) < MOST_SAMPLED:
            return len(self.hashes)
        return round((MOST_SAMPLED - 1) * 2**64 / (int(self.hashes[-1]) + 1))
