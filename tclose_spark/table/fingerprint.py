"""A fingerprint of rows as a multiset. It changes if a row is lost, doubled or altered.

It uses no secret and detects accidents only. A keyed hash decides ties (`table.row_hash`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.row_hash import RowHash

KNOWN = "tclose_spark fingerprint"  # its key, which is public: anyone with the rows can compute it


@dataclass(frozen=True)
class Fingerprint:
    """The fingerprint of some rows: their number, and the sum of their hashes modulo 2^64, as a
    signed integer.

    The fingerprints of the parts of a table add up to its own, in any order.

    >>> one, two = Fingerprint.of([pa.array(["a", "b"])]), Fingerprint.of([pa.array(["b", "c"])])
    >>> one + two == Fingerprint.of([pa.array(["b", "b", "c", "a"])])
    True
    """

    rows: int
    digest: int

    @staticmethod
    def of(columns: Sequence[pa.Array]) -> Fingerprint:
        """The fingerprint of the rows in these columns, which may be dictionary-encoded (see
        `dictionaries`).
        """
        return Fingerprint.of_hashes(content_hash(columns))

    @staticmethod
    def of_hashes(hashes: HashArray, times: IntArray | None = None) -> Fingerprint:
        """The fingerprint of rows with these hashes of `content_hash`. times: how often each
        occurs; once if None.
        """
        if times is not None:
            return Fingerprint(
                int(times.sum()),
                _signed(int((hashes * times.astype(np.uint64)).sum(dtype=np.uint64))),
            )
        return Fingerprint(len(hashes), _signed(int(hashes.sum(dtype=np.uint64))))

    @staticmethod
    def parse(text: str) -> Fingerprint:
        """The fingerprint that `str` wrote.

        >>> str(Fingerprint.parse("1f-00000000000000ff"))
        '1f-00000000000000ff'
        """
        rows, _, digest = text.partition("-")
        return Fingerprint(int(rows, 16), _signed(int(digest, 16)))

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, _signed(self.digest + other.digest))

    def __str__(self) -> str:
        return f"{self.rows:x}-{self.digest % 2**64:016x}"


def content_hash(columns: Sequence[pa.Array]) -> HashArray:
    """A 64-bit hash of each row's content, shape (n,). It uses no secret."""
    return spread(_row_hash(len(columns)).of_rows(columns))


@cache
def _row_hash(columns: int) -> RowHash:
    return RowHash.of(KNOWN, columns)


def spread(hashes: HashArray) -> HashArray:
    """The last step of MurmurHash3 (Appleby 2011). Without it, two rows that swap a value would go
    unnoticed in one case of 2^32.
    """
    hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    hashes = (hashes ^ (hashes >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return hashes ^ (hashes >> np.uint64(33))


def _signed(number: int) -> int:
    """A number modulo 2^64 as a signed 64-bit integer, as columns hold it."""
    return (number + 2**63) % 2**64 - 2**63
