"""Sketches of a column from the hashes of its values, in little memory: distinct values, and a
sample of values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose_spark.table.arrays import HashArray, IntArray

BITS = 12  # of a hash choose its register: 4,096 of them, a standard error of 1.6 %
REGISTERS = 1 << BITS
BIAS = 0.7213 / (1 + 1.079 / REGISTERS)
RANKS = 64 - BITS + 2
MOST_SAMPLED = 4096


@dataclass(frozen=True)
class DistinctCount:
    """HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007): of the hashes that fall on a
    register, the most zeros that one begins with, plus one. The registers of the parts of a table
    are joined by their maximum.

    seen: which ranks were seen at each register, shape (4096, ranks).
    """

    seen: NDArray[np.bool_]

    @staticmethod
    def empty() -> DistinctCount:
        """Of no hashes."""
        return DistinctCount(np.zeros((REGISTERS, RANKS), dtype=np.bool_))

    def add(self, hashes: HashArray) -> None:
        """Takes in 64-bit hashes, shape (n,)."""
        register = (hashes & np.uint64(REGISTERS - 1)).astype(np.int64)
        rest = (hashes >> np.uint64(BITS)).astype(np.float64)  # 52 bits, exact as a double
        self.seen[register, RANKS - 1 - np.frexp(rest)[1]] = True

    @property
    def registers(self) -> IntArray:
        """The highest rank of each register, 0 where none was seen, shape (4096,)."""
        highest: IntArray = np.where(self.seen, np.arange(RANKS), 0).max(axis=1)
        return highest


def estimate(registers: IntArray) -> int:
    """About how many different hashes were taken in, from the registers of all of them.

    >>> count = DistinctCount.empty()
    >>> count.add(np.arange(1, 101, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    >>> 95 <= estimate(count.registers) <= 105
    True
    """
    raw = BIAS * REGISTERS**2 / float(np.sum(2.0**-registers))
    empty = int(np.count_nonzero(registers == 0))
    if raw <= 2.5 * REGISTERS and empty:
        raw = REGISTERS * np.log(REGISTERS / empty)  # linear counting
    return round(raw)


@dataclass(frozen=True)
class ValueSample:
    """The MOST_SAMPLED lowest of some 64-bit hashes, ascending, and how many rows have each; all,
    if they are fewer.

    It follows from the values alone, in whatever order and however many parts they are: a hash
    among the lowest of all is among those of each part that has it. Where one value of a thousand
    occurs twice, 98 of 100 samples have such a one.
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
            hashes = hashes[low]
            counts = counts[low]
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
        """How many different values there are: of fewer than MOST_SAMPLED exactly, else about, with
        a standard error of 1.6 % (Beyer, Haas, Reinwald, Sismanis and Gemulla 2007, section 4: (k -
        1) / the k-th lowest hash).
        """
        if len(self.hashes) < MOST_SAMPLED:
            return len(self.hashes)
        return round((MOST_SAMPLED - 1) * 2**64 / (int(self.hashes[-1]) + 1))


@dataclass(frozen=True)
class NumberSample:
    """The rows with the MOST_SAMPLED lowest of some 64-bit hashes, ascending, a code of each, and
    how many rows are like it; all, if they are fewer. Like `ValueSample`, it follows from the rows
    alone. Equal hashes have equal codes.
    """

    hashes: HashArray
    codes: IntArray
    counts: IntArray

    @staticmethod
    def empty() -> NumberSample:
        """Of no rows."""
        return NumberSample(np.zeros(0, dtype=np.uint64), *np.zeros((2, 0), dtype=np.int64))

    def add(
        self,
        hashes: HashArray,
        codes: IntArray,
        counts: IntArray | None = None,
    ) -> NumberSample:
        """With more rows: the hash and the code of each, shape (n,), or of `counts` rows each.

        >>> NumberSample.empty().add(np.array([7, 9, 7], dtype=np.uint64), np.array([31, 40, 31])).by_code()
        ((31, 2), (40, 1))
        """
        counts = np.ones(len(hashes), dtype=np.int64) if counts is None else counts
        if len(self.hashes) == MOST_SAMPLED:
            low = hashes <= self.hashes[-1]
            hashes = hashes[low]
            codes = codes[low]
            counts = counts[low]
        together = np.concatenate([self.hashes, hashes])
        lowest, first, place = np.unique(together, return_index=True, return_inverse=True)
        sums = np.zeros(len(lowest), dtype=np.int64)
        np.add.at(sums, place, np.concatenate([self.counts, counts]))
        kept = np.concatenate([self.codes, codes])[first]
        return NumberSample(lowest[:MOST_SAMPLED], kept[:MOST_SAMPLED], sums[:MOST_SAMPLED])

    def by_code(self) -> tuple[tuple[int, int], ...]:
        """The codes of the sample, ascending, each with its rows."""
        codes, place = np.unique(self.codes, return_inverse=True)
        rows = np.zeros(len(codes), dtype=np.int64)
        np.add.at(rows, place, self.counts)
        return tuple(zip(codes.tolist(), rows.tolist(), strict=True))
