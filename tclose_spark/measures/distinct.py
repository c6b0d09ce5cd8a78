"""About how many different values there are, from their hashes, in little memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose_spark.table.arrays import HashArray, IntArray

BITS = 12  # of a hash choose its register: 4,096 of them, a standard error of 1.6 %
REGISTERS = 1 << BITS
BIAS = 0.7213 / (1 + 1.079 / REGISTERS)


RANKS = 64 - BITS + 2


@dataclass(frozen=True)
class DistinctCount:
    """HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007): of the hashes that fall on a register, the most zeros
    that one begins with, plus one. The registers of the parts of a table are joined by their maximum.

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
