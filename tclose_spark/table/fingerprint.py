"""A fingerprint of rows as a multiset, and keyed hashes of rows.

The fingerprint changes if a row is lost, doubled or altered. It uses no secret and detects
accidents only. A keyed hash (`RowHash`) decides ties: it is a function of a row's content and the
key only, computed inside tasks.

BLAKE2b hashes each distinct value of a column under a key of that column. A row's hash is the
exclusive or of the hashes of its values. This is tabulation hashing (Patrascu and Thorup 2012) with
a keyed hash instead of random tables. The key is part of no expression, so no plan, page or log of
Spark has it. Without the key, an adversary cannot replay what the hashes decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numpy as np
import pyarrow as pa

from tclose_spark.table.arrays import HashArray, IntArray
from tclose_spark.table.dictionaries import coded, codes_of

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


# Of BLAKE2b for a missing value: a missing value is no text, and no number.
PERSONALIZATION = b"missing"


@dataclass(frozen=True, repr=False)
class RowHash:
    """keys: one for each column."""

    keys: tuple[bytes, ...]

    @staticmethod
    def of(secret: str, columns: int) -> RowHash:
        """The hash that this secret keys, for rows of this many columns."""
        master = blake2b(secret.encode(errors="surrogateescape")).digest()
        return RowHash(
            tuple(blake2b(f"column {i}".encode(), key=master).digest() for i in range(columns)),
        )

    def of_rows(self, columns: Sequence[pa.Array]) -> HashArray:
        """The hashes of the rows in these columns, shape (n,). NULL is a value of its own.

        Columns may be dictionary-encoded (see `dictionaries`). Each entry of a dictionary is hashed
        once.
        """
        hashes = np.zeros(len(columns[0]), dtype=np.uint64)
        for key, column in zip(self.keys, columns, strict=True):
            distinct = coded(column)
            hashes ^= _hash_values(key, distinct.dictionary)[codes_of(distinct)]
        return hashes


def _hash_values(key: bytes, values: pa.Array) -> HashArray:
    """The keyed hash of each value, shape (values,)."""
    keyed = blake2b(key=key, digest_size=8)
    missing = blake2b(key=key, digest_size=8, person=PERSONALIZATION).digest()
    digests = []
    for value, absent in zip(_as_bytes(values), values.is_null().to_pylist(), strict=True):
        hasher = keyed.copy()
        hasher.update(value)
        digests.append(missing if absent else hasher.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8")


def _as_bytes(values: pa.Array) -> list[bytes]:
    """The bytes to hash: UTF-8 for text; eight bytes of an integer or a double for numbers, days
    and times; the text of any other value. NULL may give anything.
    """
    kind = values.type
    if pa.types.is_floating(kind):
        return _eight_bytes(values.cast(pa.float64()).fill_null(0.0))
    if pa.types.is_timestamp(kind):
        values = values.cast(pa.timestamp("us", kind.tz))  # INT96 of Parquet is read in nanoseconds
    if pa.types.is_time64(kind):
        values = values.cast(pa.time64("us"))  # Spark hands them over in nanoseconds
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.cast(pa.int32())
    if pa.types.is_temporal(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _eight_bytes(values.cast(pa.int64()).fill_null(0))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)):
        values = values.cast(pa.string())
    texts: list[bytes] = values.cast(pa.binary()).fill_null(b"").to_pylist()
    return texts


def _eight_bytes(numbers: pa.Array) -> list[bytes]:
    found: list[bytes] = np.ascontiguousarray(numbers.to_numpy()).view("V8").tolist()
    return found
